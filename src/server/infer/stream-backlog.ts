import { TritonError } from '../../base/error.js';

/**
 * What waits for a client that reads its stream slower than the model responds. Triton keeps all of it, whatever it
 * grows to; here a stream ends when more than `--stream-max-backlog` bytes wait.
 */
export class StreamBacklog {
  readonly #limit: number;
  #waiting = 0;

  /** `limit` in bytes; 0 = no limit. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Nothing waits: the caller of `add` has to see to it that `clear` is called. */
  get empty(): boolean {
    return this.#waiting === 0;
  }

  /** Counts what was written while the peer did not keep up. The error when that is too much now, else undefined. */
  add(bytes: number): TritonError | undefined {
    this.#waiting += bytes;
    if (this.#limit === 0 || this.#waiting <= this.#limit) return undefined;
    return new TritonError(
      'UNAVAILABLE',
      `the client reads too slowly: ${this.#waiting} bytes of responses wait for it, more than the ${this.#limit} of --stream-max-backlog`,
    );
  }

  /** The peer has caught up. */
  clear(): void {
    this.#waiting = 0;
  }
}
