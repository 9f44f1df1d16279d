import type { ByteBudget } from './byte-budget.js';

/** What keeping one piece of data costs besides its bytes: the objects around it, in bytes. */
export const PIECE_OVERHEAD = 256;
/** Less than this is not counted: it lies in buffers that every connection has, and idle ones shall cost no effort. */
const UNCOUNTED = 16 * 1024;

/**
 * The memory that waits for one peer to read what it asked for, as part of what all peers of the process may let wait.
 * Its connection says after every change how much that is, asks before it lets a response wait, and closes it at its end.
 */
export class SendAccount {
  readonly #budget: ByteBudget | undefined;
  #counted = 0;
  #closed = false;

  /** `budget` of the process; undefined: nothing is counted or refused. */
  constructor(budget: ByteBudget | undefined) {
    this.#budget = budget;
  }

  /** Whether that many more bytes may wait. */
  admits(bytes: number): boolean {
    const budget = this.#budget;
    return budget === undefined || budget.used + bytes <= budget.limit;
  }

  /** So many bytes wait now, with PIECE_OVERHEAD for each piece. What was not admitted may remain uncounted. */
  set(bytes: number): void {
    const budget = this.#budget;
    if (budget === undefined || this.#closed) return;
    const now = bytes < UNCOUNTED ? 0 : bytes;
    if (now > this.#counted) {
      if (budget.take(now - this.#counted)) this.#counted = now;
    } else if (now < this.#counted) {
      budget.give(this.#counted - now);
      this.#counted = now;
    }
  }

  /** The connection is over: everything is given back, and nothing counted any more. */
  close(): void {
    this.set(0);
    this.#closed = true;
  }
}
