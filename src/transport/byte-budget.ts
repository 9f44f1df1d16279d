/** Why a request is refused before its size is known, whatever protocol it comes through. */
export const NO_REQUEST_MEMORY =
  'the requests that the server holds leave no room for this one: together they may have as many bytes as ' +
  '--request-memory-limit allows. Try again later, send a smaller request, or raise the limit';

/**
 * An amount of memory that many holders share: whoever wants to keep bytes takes them first and gives them back when it
 * lets go of them. It counts; it never waits. One budget bounds what all peers of a process together can make it hold.
 */
export class ByteBudget {
  /** Bytes that may be held at a time. */
  readonly limit: number;
  #used = 0;
  #refused = 0;

  /** `limit` in bytes; Infinity = counted, never refused. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes that are held now. */
  get used(): number {
    return this.#used;
  }

  /** How many times `take` returned false. */
  get refused(): number {
    return this.#refused;
  }

  /** Takes `bytes` (0 or more). False: they would exceed the limit, and nothing was taken. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) {
      this.#refused++;
      return false;
    }
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
