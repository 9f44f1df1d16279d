/**
 * An amount of memory that many holders share: whoever wants to keep bytes takes them first and gives them back when it
 * lets go of them. It counts; it never waits. One budget bounds what all peers of a process together can make it hold.
 */
export class ByteBudget {
  /** Bytes that may be held at a time. */
  readonly limit: number;
  #used = 0;

  /** `limit` in bytes; Infinity = counted, never refused. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes that are held now. */
  get used(): number {
    return this.#used;
  }

  /** Takes `bytes` (0 or more). False: they would exceed the limit, and nothing was taken. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }

  /** Gives back what was taken. Giving back more than is held is a fault of the program and throws. */
  give(bytes: number): void {
    if (bytes > this.#used)
      throw new RangeError(`${bytes} bytes are given back to a budget of which ${this.#used} are used`);
    this.#used -= bytes;
  }
}
