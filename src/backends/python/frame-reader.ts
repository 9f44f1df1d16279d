/** Reads the fields of one frame in their order. */
export class FrameReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  u8(): number {
    return this.#buffer[this.#at++]!;
  }

  u16(): number {
    const value = this.#buffer.readUInt16LE(this.#at);
    this.#at += 2;
    return value;
  }

  u32(): number {
    const value = this.#buffer.readUInt32LE(this.#at);
    this.#at += 4;
    return value;
  }

  /** A u64 that is known to be exact as a number: sizes, offsets, dimensions. */
  u64(): number {
    const value = this.#buffer.readUInt32LE(this.#at) + this.#buffer.readUInt32LE(this.#at + 4) * 0x1_0000_0000;
    this.#at += 8;
    return value;
  }

  bigI64(): bigint {
    const value = this.#buffer.readBigInt64LE(this.#at);
    this.#at += 8;
    return value;
  }

  bigU64(): bigint {
    const value = this.#buffer.readBigUInt64LE(this.#at);
    this.#at += 8;
    return value;
  }

  text(): string {
    const size = this.u32();
    const value = this.#buffer.toString('utf8', this.#at, this.#at + size);
    this.#at += size;
    return value;
  }

  /** The next bytes, as a view on the frame. */
  bytes(size: number): Uint8Array {
    const value = this.#buffer.subarray(this.#at, this.#at + size);
    this.#at += size;
    return value;
  }
}

/** Cuts a stream of bytes into frames. Frames that lie in one chunk are views on it; others are put together once. */
export class FrameSplitter {
  readonly #onFrame: (frame: Buffer) => void;
  #head = Buffer.alloc(4);
  #headLength = 0;
  #frame: Buffer | undefined;
  #filled = 0;

  constructor(onFrame: (frame: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** Takes the next chunk of the stream. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#frame !== undefined) {
        const count = chunk.copy(this.#frame, this.#filled, at);
        at += count;
        this.#filled += count;
        if (this.#filled === this.#frame.length) this.#complete(this.#frame);
        continue;
      }
      if (this.#headLength === 0 && chunk.length - at >= 4) {
        const size = chunk.readUInt32LE(at);
        at += 4;
        if (chunk.length - at >= size) {
          this.#onFrame(chunk.subarray(at, at + size));
          at += size;
        } else {
          this.#begin(size);
        }
        continue;
      }
      const count = chunk.copy(this.#head, this.#headLength, at, at + 4 - this.#headLength);
      at += count;
      this.#headLength += count;
      if (this.#headLength === 4) this.#begin(this.#head.readUInt32LE(0));
    }
  }

  #begin(size: number): void {
    this.#headLength = 0;
    this.#frame = Buffer.allocUnsafeSlow(size);
    this.#filled = 0;
    if (size === 0) this.#complete(this.#frame);
  }

  #complete(frame: Buffer): void {
    this.#frame = undefined;
    this.#onFrame(frame);
  }
}
