/** Smallest buffer that is reserved for a body. */
const FIRST_SIZE = 16 * 1024;

/** How much more is reserved when a buffer is full: towards a declared size, and without one. */
const GROWTH_DECLARED = 16;
const GROWTH_UNKNOWN = 2;

/**
 * Collects the parts of a body into one contiguous buffer. What is declared is reserved at once up to a bound, and from
 * there on in proportion to what has come: a usual body is copied exactly once, a large one little more, and a peer that
 * only announces much cannot make us reserve it.
 */
export class BodyBuffer {
  #buffer: Buffer;
  #length = 0;
  readonly #growth: number;

  /**
   * @param declared size in bytes, 0 if unknown.
   * @param maxReserved bytes that may be reserved on its word.
   * @param growth how many times what has come is reserved from there on.
   */
  constructor(declared: number, maxReserved: number, growth = GROWTH_DECLARED) {
    this.#growth = growth;
    const size = declared === 0 ? FIRST_SIZE : Math.min(declared, maxReserved);
    // Not from Buffer's pool: the memory is ours alone, starts aligned, and pages not written to are never touched.
    this.#buffer = Buffer.allocUnsafeSlow(size);
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes that are reserved: at least those that have come. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** Bytes that will be reserved once `count` more have come. `total` is the declared size, 0 if unknown. */
  capacityFor(count: number, total: number): number {
    const needed = this.#length + count;
    return needed > this.#buffer.length ? this.#sizeFor(needed, total) : this.#buffer.length;
  }

  /** Copies `source[start, end)` to the end of the body. `total` is the declared size, 0 if unknown. */
  append(source: Uint8Array, start: number, end: number, total: number): void {
    const needed = this.#length + end - start;
    if (needed > this.#buffer.length) this.#grow(needed, total);
    if (start === 0 && end === source.length) this.#buffer.set(source, this.#length);
    else this.#buffer.set(source.subarray(start, end), this.#length);
    this.#length = needed;
  }

  /** Memory for what comes next of a body of `total` bytes, to be written to from outside and counted by `filled`. */
  room(total: number): Uint8Array {
    if (this.#length === this.#buffer.length) this.#grow(this.#length + 1, total);
    return this.#buffer.subarray(this.#length);
  }

  /** So many bytes were written into the room. */
  filled(count: number): void {
    this.#length += count;
  }

  /** The body: a view if the buffer is nearly full, else a copy of the right size. */
  take(): Uint8Array {
    if (this.#length === this.#buffer.length) return this.#buffer;
    const view = this.#buffer.subarray(0, this.#length);
    if (this.#length * 2 >= this.#buffer.length) return view;
    const copy = Buffer.allocUnsafeSlow(this.#length);
    copy.set(view);
    return copy;
  }

  #sizeFor(needed: number, total: number): number {
    return total > 0
      ? Math.max(needed, Math.min(total, this.#buffer.length * this.#growth))
      : Math.max(needed, this.#buffer.length * GROWTH_UNKNOWN);
  }

  #grow(needed: number, total: number): void {
    const larger = Buffer.allocUnsafeSlow(this.#sizeFor(needed, total));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
