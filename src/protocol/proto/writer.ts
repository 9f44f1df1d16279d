const scratch = new DataView(new ArrayBuffer(8));
const TWO_32 = 0x1_0000_0000;

/**
 * Writes protobuf's binary form into one growing block. Lengths of nested messages are written after them: one byte is
 * left free in front, and only a message of 128 bytes or more is moved to make room for a longer length.
 */
export class ProtoWriter {
  #buffer: Buffer;
  #pos = 0;
  /** Where the bytes begin that `cut` has not handed out yet. */
  #start = 0;

  constructor(capacity = 256) {
    this.#buffer = Buffer.allocUnsafe(capacity);
  }

  /** Number of bytes written since the last cut. */
  get length(): number {
    return this.#pos - this.#start;
  }

  /** What was written since the last cut, as a view that stays valid: written bytes are never touched again. */
  cut(): Uint8Array {
    const part = this.#buffer.subarray(this.#start, this.#pos);
    this.#start = this.#pos;
    return part;
  }

  byte(value: number): void {
    if (this.#pos === this.#buffer.length) this.#grow(1);
    this.#buffer[this.#pos++] = value;
  }

  uint32(value: number): void {
    if (this.#buffer.length - this.#pos < 5) this.#grow(5);
    let rest = value >>> 0;
    while (rest >= 0x80) {
      this.#buffer[this.#pos++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#pos++] = rest;
  }

  /** An int32 as a varint: negative values take ten bytes. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.#varint(value, -1);
  }

  /** An int64 that is a safe integer. */
  int64Number(value: number): void {
    if (value >= 0 && value < TWO_32) this.uint32(value);
    else this.#varint((value % TWO_32) | 0, Math.floor(value / TWO_32));
  }

  /** An int64 or uint64, modulo 2^64. */
  varint64(value: bigint): void {
    if (value >= 0n && value < 0x1_0000_0000n) this.uint32(Number(value));
    else this.#varint(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
  }

  float(value: number): void {
    scratch.setFloat32(0, value, true);
    this.#scratch(4);
  }

  double(value: number): void {
    scratch.setFloat64(0, value, true);
    this.#scratch(8);
  }

  /** A string with its length in front. */
  string(value: string): void {
    const { length } = value;
    if (length < 32 && this.#ascii(value)) return;
    const size = Buffer.byteLength(value);
    this.uint32(size);
    if (this.#buffer.length - this.#pos < size) this.#grow(size);
    this.#pos += this.#buffer.write(value, this.#pos, size, 'utf8');
  }

  /** Bytes with their length in front. */
  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.raw(value);
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    if (this.#buffer.length - this.#pos < value.length) this.#grow(value.length);
    this.#buffer.set(value, this.#pos);
    this.#pos += value.length;
  }

  /** Starts a nested message; hand the result to `join`. */
  fork(): number {
    this.byte(0);
    return this.#pos;
  }

  /** Ends the nested message that began at `start`: fills its length in. */
  join(start: number): void {
    const size = this.#pos - start;
    if (size < 0x80) {
      this.#buffer[start - 1] = size;
      return;
    }
    let extra = 0;
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) extra++;
    if (this.#buffer.length - this.#pos < extra) this.#grow(extra);
    this.#buffer.copyWithin(start + extra, start, this.#pos);
    this.#pos = start - 1;
    this.uint32(size);
    this.#pos += size;
  }

  /** Short ASCII text without a native call; false (nothing written) when a character is not ASCII. */
  #ascii(value: string): boolean {
    const { length } = value;
    if (this.#buffer.length - this.#pos < length + 1) this.#grow(length + 1);
    const buffer = this.#buffer;
    const start = this.#pos;
    buffer[start] = length;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) return false;
      buffer[start + 1 + i] = code;
    }
    this.#pos = start + 1 + length;
    return true;
  }

  #varint(low: number, high: number): void {
    if (this.#buffer.length - this.#pos < 10) this.#grow(10);
    let lo = low >>> 0;
    let hi = high >>> 0;
    while (hi > 0 || lo >= 0x80) {
      this.#buffer[this.#pos++] = (lo & 0x7f) | 0x80;
      lo = ((lo >>> 7) | (hi << 25)) >>> 0;
      hi >>>= 7;
    }
    this.#buffer[this.#pos++] = lo;
  }

  #scratch(size: number): void {
    if (this.#buffer.length - this.#pos < size) this.#grow(size);
    for (let i = 0; i < size; i++) this.#buffer[this.#pos++] = scratch.getUint8(i);
  }

  #grow(needed: number): void {
    const used = this.#pos - this.#start;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, used + needed));
    this.#buffer.copy(larger, 0, this.#start, this.#pos);
    this.#buffer = larger;
    this.#pos = used;
    this.#start = 0;
  }
}
