import type { ByteBudget } from '../byte-budget.js';

/** What one connection's request has taken of the budget that all requests share. */
export class HeldMemory {
  readonly #budget: ByteBudget | undefined;
  #held = 0;

  /** `budget` of the process; undefined: nothing is counted or refused. */
  constructor(budget: ByteBudget | undefined) {
    this.#budget = budget;
  }

  /** Takes that many bytes more; false if they are not to be had. */
  hold(bytes: number): boolean {
    const budget = this.#budget;
    if (budget === undefined || bytes <= 0) return true;
    if (!budget.take(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Sees to it that at least that many bytes are held; false if they are not to be had. */
  reserve(bytes: number): boolean {
    return this.hold(bytes - this.#held);
  }

  /** Gives that many bytes back, or what is held if that is less. */
  handOver(bytes: number): void {
    const given = Math.min(bytes, this.#held);
    if (given === 0) return;
    this.#budget?.give(given);
    this.#held -= given;
  }

  /** Gives all back. */
  release(): void {
    this.handOver(this.#held);
  }
}
