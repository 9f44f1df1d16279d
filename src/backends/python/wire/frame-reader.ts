/** Bytes of a model's process that are not what they should be. Whoever reads them ends that process. */
export class FrameFault extends Error {}

/** Reads the fields of one frame in their order. Throws FrameFault for a field that goes beyond its end. */
export class FrameReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  u8(): number {
    return this.#buffer[this.#pass(1)]!;
  }

  u16(): number {
    return this.#buffer.readUInt16LE(this.#pass(2));
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#pass(4));
  }

  /** A u64 that is exact as a number: sizes, offsets, dimensions. FrameFault for a larger one. */
  u64(): number {
    const at = this.#pass(8);
    const value = this.#buffer.readUInt32LE(at) + this.#buffer.readUInt32LE(at + 4) * 0x1_0000_0000;
    if (value > Number.MAX_SAFE_INTEGER) throw new FrameFault(`the number at position ${at} is larger than any size`);
    return value;
  }

  bigI64(): bigint {
    return this.#buffer.readBigInt64LE(this.#pass(8));
  }

  bigU64(): bigint {
    return this.#buffer.readBigUInt64LE(this.#pass(8));
  }

  f64(): number {
    return this.#buffer.readDoubleLE(this.#pass(8));
  }

  text(): string {
    const size = this.u32();
    const at = this.#pass(size);
    return this.#buffer.toString('utf8', at, at + size);
  }

  /** The next bytes, as a view on the frame. */
  bytes(size: number): Uint8Array {
    const at = this.#pass(size);
    return this.#buffer.subarray(at, at + size);
  }

  /** A list of u64 behind its length. */
  u64s(): number[] {
    const count = this.u32();
    const values: number[] = [];
    if (count * 8 > this.#buffer.length - this.#at) this.#pass(count * 8);
    for (let i = 0; i < count; i++) values.push(this.u64());
    return values;
  }

  /** Throws FrameFault when the frame has more than was read. */
  end(): void {
    const left = this.#buffer.length - this.#at;
    if (left > 0) throw new FrameFault(`${left} bytes are left at the end of a frame of ${this.#buffer.length} bytes`);
  }

  /** Passes over a field of the given size; returns where it starts. */
  #pass(size: number): number {
    const at = this.#at;
    const end = at + size;
    if (end > this.#buffer.length) {
      throw new FrameFault(
        `a field of ${size} bytes at position ${at} goes beyond the end of a frame of ${this.#buffer.length} bytes`,
      );
    }
    this.#at = end;
    return at;
  }
}

/** A frame that comes in pieces has this much memory at first, in bytes; it grows with what arrives. */
const FIRST_PIECE = 1 << 20;

/** Cuts a stream of bytes into frames. Frames that lie in one chunk are views on it; others are put together once. */
export class FrameSplitter {
  readonly #onFrame: (frame: Buffer) => void;
  readonly #limit: number;
  readonly #checkKind: (kind: number) => void;
  readonly #head = Buffer.alloc(4);
  #headLength = 0;
  #frame: Buffer | undefined;
  #size = 0;
  #filled = 0;

  /**
   * `limit`: bytes of the longest frame. `checkKind` throws for a kind that does not exist: a stream that is out of step
   * shows at once, and not when the length that it seems to have has arrived.
   */
  constructor(limit: number, checkKind: (kind: number) => void, onFrame: (frame: Buffer) => void) {
    this.#limit = limit;
    this.#checkKind = checkKind;
    this.#onFrame = onFrame;
  }

  /** Takes the next chunk of the stream. Throws FrameFault for a frame beyond the limit, and whatever a frame's handler throws. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#frame !== undefined) {
        at += this.#fill(this.#frame, chunk, at);
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
    if (size > this.#limit) {
      throw new FrameFault(`it announces a frame of ${size} bytes; the limit is ${this.#limit} (max-frame-bytes)`);
    }
    this.#headLength = 0;
    this.#size = size;
    this.#filled = 0;
    this.#frame = Buffer.allocUnsafeSlow(Math.min(size, FIRST_PIECE));
    if (size === 0) this.#complete(this.#frame);
  }

  /** Takes what the frame lacks; returns how many bytes that were. */
  #fill(frame: Buffer, chunk: Buffer, at: number): number {
    if (this.#filled === 0) this.#checkKind(chunk[at]!);
    let target = frame;
    if (this.#filled === frame.length) {
      target = Buffer.allocUnsafeSlow(Math.min(this.#size, frame.length * 2));
      frame.copy(target);
      this.#frame = target;
    }
    const count = chunk.copy(target, this.#filled, at);
    this.#filled += count;
    if (this.#filled === this.#size) this.#complete(target);
    return count;
  }

  #complete(frame: Buffer): void {
    this.#frame = undefined;
    this.#onFrame(frame);
  }
}
