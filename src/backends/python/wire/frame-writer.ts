import { ALIGNMENT } from './wire.js';

/** Builds one frame: a u32 with the number of bytes that follow, then fields, the first of which is the kind. */
export class FrameWriter {
  /** Regions of shared memory that were written for the frame: whoever drops it gives them back. */
  readonly regions: number[] = [];
  #buffer: Buffer;
  #at = 4;

  /** `expected`: bytes that the frame will probably need; it grows when they do not suffice. */
  constructor(kind: number, expected = 512) {
    this.#buffer = Buffer.allocUnsafe(expected + 8);
    this.u8(kind);
  }

  u8(value: number): void {
    this.#ensure(1);
    this.#buffer[this.#at++] = value;
  }

  u16(value: number): void {
    this.#ensure(2);
    this.#at = this.#buffer.writeUInt16LE(value, this.#at);
  }

  u32(value: number): void {
    this.#ensure(4);
    this.#at = this.#buffer.writeUInt32LE(value, this.#at);
  }

  /** A u64 from a number that is exact. */
  u64(value: number): void {
    this.#ensure(8);
    this.#buffer.writeUInt32LE(value % 0x1_0000_0000, this.#at);
    this.#at = this.#buffer.writeUInt32LE(Math.floor(value / 0x1_0000_0000), this.#at + 4);
  }

  bigU64(value: bigint): void {
    this.#ensure(8);
    this.#at = this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, value), this.#at);
  }

  /** A list of u64 behind its length. */
  u64s(values: readonly number[]): void {
    this.u32(values.length);
    for (const value of values) this.u64(value);
  }

  text(value: string): void {
    this.#ensure(4 + value.length * 3);
    const size = this.#buffer.write(value, this.#at + 4);
    this.#buffer.writeUInt32LE(size, this.#at);
    this.#at += 4 + size;
  }

  /** Bytes at the next multiple of the alignment, counted from behind the length field. */
  aligned(data: Uint8Array): void {
    const padding = (ALIGNMENT - ((this.#at - 4) % ALIGNMENT)) % ALIGNMENT;
    this.#ensure(padding + data.byteLength);
    this.#buffer.fill(0, this.#at, this.#at + padding);
    this.#buffer.set(data, this.#at + padding);
    this.#at += padding + data.byteLength;
  }

  /** The complete frame. The writer must not be used afterwards. */
  finish(): Buffer {
    this.#buffer.writeUInt32LE(this.#at - 4, 0);
    return this.#buffer.subarray(0, this.#at);
  }

  #ensure(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
