/**
 * The bytes that have come and are not read yet. They are a view on what the socket gave as long as that is used up
 * before more comes; only an unfinished head or further requests are copied together.
 *
 * The socket makes a new buffer for every read and never writes to it again. So views on it (bodies) may be kept.
 */
export class Input {
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;

  get size(): number {
    return this.end - this.start;
  }

  add(chunk: Buffer): void {
    const size = this.end - this.start;
    if (size === 0) {
      this.bytes = chunk;
      this.start = 0;
      this.end = chunk.length;
      return;
    }
    if (!this.#owned || this.end + chunk.length > this.bytes.length) {
      // Doubling keeps the copying proportional to the bytes, however small the pieces they come in.
      const grown = Buffer.allocUnsafeSlow(Math.max(1024, (size + chunk.length) * 2));
      this.bytes.copy(grown, 0, this.start, this.end);
      this.bytes = grown;
      this.start = 0;
      this.end = size;
      this.#owned = true;
    }
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /** Lets go of a buffer that is used up. */
  release(): void {
    if (this.start < this.end) return;
    this.bytes = EMPTY;
    this.start = 0;
    this.end = 0;
    this.#owned = false;
  }

  /** Whether `bytes` is our own copy, with room behind `end`. */
  #owned = false;
}

const EMPTY = Buffer.alloc(0);
