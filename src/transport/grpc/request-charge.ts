import type { ByteBudget } from '../byte-budget.js';
import type { Release } from './grpc-api.js';

const NOTHING_TO_GIVE: Release = (): void => {};

/** The bytes of one call's requests, as part of what all peers may make the process hold. */
export class RequestCharge {
  readonly #budget: ByteBudget | undefined;
  #held = 0;
  #closed = false;

  /** `budget` of the process; undefined: nothing is counted or refused. */
  constructor(budget: ByteBudget | undefined) {
    this.#budget = budget;
  }

  /** So many bytes have come. False: the process holds too much already, or the call is over and nobody would give them back. */
  take(bytes: number): boolean {
    if (this.#closed) return false;
    if (this.#budget === undefined) return true;
    if (!this.#budget.take(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** So many bytes are not needed any more. After `close` nothing is held, and nothing given back. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.#held);
    if (given === 0) return;
    this.#held -= given;
    this.#budget?.give(given);
  }

  /** So many bytes outlive the call, until the function that is returned gives them back. */
  retain(bytes: number): Release {
    const budget = this.#budget;
    let retained = Math.min(bytes, this.#held);
    if (budget === undefined || retained === 0) return NOTHING_TO_GIVE;
    this.#held -= retained;
    return (back = retained) => {
      const given = Math.min(back, retained);
      retained -= given;
      budget.give(given);
    };
  }

  /** The call is over: nothing is taken any more, so that work on it that still goes on (inflating) ends. */
  close(): void {
    this.#closed = true;
    this.#closed = true;
    this.give(this.#held);
  }
}
