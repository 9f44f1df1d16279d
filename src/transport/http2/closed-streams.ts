/** Streams remembered after we ended them. */
const MAX_RESET = 1024;
/** Ranges of skipped numbers remembered. */
const MAX_SKIPPED = 64;

/** How a stream that is over, or never was, came to its end: what a late frame on it means depends on that. */
export class ClosedStreams {
  readonly #reset = new Set<number>();
  readonly #skipped: (readonly [number, number])[] = [];

  /** We ended the stream while the peer might still be sending. */
  addReset(id: number): void {
    this.#reset.add(id);
    if (this.#reset.size > MAX_RESET) for (const oldest of this.#reset) return void this.#reset.delete(oldest);
  }

  /** The peer went from one number to another and left out those between. */
  addSkipped(from: number, to: number): void {
    if (this.#skipped.length < MAX_SKIPPED) this.#skipped.push([from, to]);
  }

  /** Whether frames may still come that were sent before the peer knew. */
  wasReset(id: number): boolean {
    return this.#reset.has(id);
  }

  /** Whether the number was passed over and can never be used any more. */
  wasSkipped(id: number): boolean {
    return this.#skipped.some(([from, to]) => id >= from && id <= to);
  }
}
