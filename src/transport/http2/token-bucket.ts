/** Allows bursts up to a size and a rate beyond: what a peer may make us do without being useful. */
export class TokenBucket {
  readonly #size: number;
  readonly #perMs: number;
  #tokens: number;
  #filledAt = performance.now();

  constructor(size: number, perSecond: number) {
    this.#size = size;
    this.#perMs = perSecond / 1000;
    this.#tokens = size;
  }

  /** Takes a token; false if there is none. The clock is only asked when the bucket runs empty. */
  take(): boolean {
    if (this.#tokens < 1) this.#refill();
    this.#tokens--;
    return this.#tokens >= 0;
  }

  /** Gives tokens for something useful. */
  give(count: number): void {
    this.#tokens = Math.min(this.#size, this.#tokens + count);
  }

  #refill(): void {
    const now = performance.now();
    const earned = (now - this.#filledAt) * this.#perMs;
    this.#filledAt = now;
    this.#tokens = Math.min(this.#size, Math.max(this.#tokens, 0) + earned);
  }
}
