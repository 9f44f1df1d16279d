import { TritonError } from '../../base/error.js';
import { decodeUtf8Strict } from './string-cache.js';

/** Wire types of protobuf. */
export const WireType = { VARINT: 0, FIXED64: 1, DELIMITED: 2, GROUP_START: 3, GROUP_END: 4, FIXED32: 5 } as const;

/** How deep unknown groups may nest; protobuf's own default. */
const MAX_GROUP_DEPTH = 100;

/** Most elements of the lists and maps of a request that is decoded by the tables. */
const MAX_ELEMENTS = 100_000;

const TWO_32 = 0x1_0000_0000;
const scratch = new DataView(new ArrayBuffer(8));

/**
 * Reads protobuf's binary form from a block of bytes. Every method moves `pos`; whatever does not fit into the block, is
 * overlong or is not UTF-8 in a string throws INTERNAL `Unable to parse request`.
 */
export class ProtoReader {
  readonly bytes: Uint8Array;
  pos: number;
  end: number;
  /** Low and high 32 bits of the last varint64 or fixed64, as signed integers. */
  lo = 0;
  hi = 0;
  readonly #what: string;

  /** Elements of lists and maps that were built. */
  #elements = 0;

  /** `what` is the noun of the error message: `request` or `response`. */
  constructor(bytes: Uint8Array, what = 'request') {
    this.bytes = bytes;
    this.pos = 0;
    this.end = bytes.length;
    this.#what = what;
  }

  fail(): never {
    throw new TritonError('INTERNAL', `Unable to parse ${this.#what}`);
  }

  /** Counts an element of a list or a map. A request with more than any has is refused before they are built. */
  countElement(): void {
    if (++this.#elements > MAX_ELEMENTS && this.#what === 'request') this.fail();
  }

  /** A varint's low 32 bits, unsigned. */
  uint32(): number {
    const byte = this.pos < this.end ? this.bytes[this.pos]! : 0x80;
    if (byte < 0x80) {
      this.pos++;
      return byte;
    }
    this.varint64();
    return this.lo >>> 0;
  }

  /** A varint of up to 10 bytes into `lo` and `hi`. */
  varint64(): void {
    const { bytes } = this;
    const limit = Math.min(this.end, this.pos + 10);
    let lo = 0;
    let hi = 0;
    let shift = 0;
    for (let pos = this.pos; pos < limit; pos++, shift += 7) {
      const byte = bytes[pos]!;
      const bits = byte & 0x7f;
      if (shift < 28) lo |= bits << shift;
      else if (shift === 28) {
        lo |= bits << 28;
        hi = bits >>> 4;
      } else hi |= bits << (shift - 32);
      if (byte < 0x80) {
        this.pos = pos + 1;
        this.lo = lo;
        this.hi = hi;
        return;
      }
    }
    this.fail();
  }

  /** An int64 varint as a number; beyond 2^53 the nearest one. */
  int64Number(): number {
    const byte = this.pos < this.end ? this.bytes[this.pos]! : 0x80;
    if (byte < 0x80) {
      this.pos++;
      return byte;
    }
    this.varint64();
    return this.hi * TWO_32 + (this.lo >>> 0);
  }

  int64(): bigint {
    this.varint64();
    return bigintOf(this.lo, this.hi);
  }

  uint64(): bigint {
    this.varint64();
    return bigintOf(this.lo, this.hi >>> 0);
  }

  bool(): boolean {
    this.varint64();
    return (this.lo | this.hi) !== 0;
  }

  float(): number {
    const start = this.#take(4);
    for (let i = 0; i < 4; i++) scratch.setUint8(i, this.bytes[start + i]!);
    return scratch.getFloat32(0, true);
  }

  double(): number {
    const start = this.#take(8);
    for (let i = 0; i < 8; i++) scratch.setUint8(i, this.bytes[start + i]!);
    return scratch.getFloat64(0, true);
  }

  /** The length of a delimited field; checked against what is left. `pos` then stands on its first byte. */
  length(): number {
    let length = this.pos < this.end ? this.bytes[this.pos]! : 0x80;
    if (length < 0x80) this.pos++;
    else {
      this.varint64();
      length = this.hi === 0 ? this.lo >>> 0 : Number.MAX_SAFE_INTEGER;
    }
    if (length > this.end - this.pos) this.fail();
    return length;
  }

  string(): string {
    const length = this.length();
    const start = this.pos;
    this.pos = start + length;
    return decodeUtf8Strict(this.bytes, start, this.pos) ?? this.fail();
  }

  /** A view on the input: never a copy. */
  view(): Uint8Array {
    const length = this.length();
    const start = this.pos;
    this.pos = start + length;
    return this.bytes.subarray(start, this.pos);
  }

  /** The next field's tag; a field number of 0 is malformed. */
  tag(): number {
    let tag = this.pos < this.end ? this.bytes[this.pos]! : 0x80;
    if (tag < 0x80) this.pos++;
    else {
      this.varint64();
      if (this.hi !== 0) this.fail();
      tag = this.lo >>> 0;
    }
    if (tag >>> 3 === 0) this.fail();
    return tag;
  }

  /** Passes over the value of a field that nobody knows. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case WireType.VARINT:
        this.varint64();
        return;
      case WireType.FIXED64:
        this.#take(8);
        return;
      case WireType.DELIMITED:
        this.#take(this.length());
        return;
      case WireType.FIXED32:
        this.#take(4);
        return;
      case WireType.GROUP_START:
        this.#skipGroup(tag >>> 3, depth);
        return;
      default:
        this.fail();
    }
  }

  #skipGroup(number: number, depth: number): void {
    if (depth >= MAX_GROUP_DEPTH) this.fail();
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) === WireType.GROUP_END) {
        if (tag >>> 3 !== number) this.fail();
        return;
      }
      this.skip(tag, depth + 1);
    }
  }

  #take(count: number): number {
    const start = this.pos;
    if (count > this.end - start) this.fail();
    this.pos = start + count;
    return start;
  }
}

function bigintOf(lo: number, hi: number): bigint {
  const value = hi * TWO_32 + (lo >>> 0);
  return Number.isSafeInteger(value) ? BigInt(value) : (BigInt(hi) << 32n) | BigInt(lo >>> 0);
}
