/** The elements of a JSON tensor, straight from the text into the tensor's bytes. */
import { LENGTH_BYTES } from '../bytes.js';
import type { Steps } from '../steps.js';
import { type FixedDatatype, typedView } from '../typed-view.js';
import { jsonError } from './json-error.js';
import { JsonKind, JsonValue } from './json-value.js';
import { readDouble } from './read-double.js';
import { JsonScanner } from './scanner.js';
import { unescapeInto, unescapeUntil } from './unescape.js';

/** Deepest nesting of the arrays of a tensor's data. */
const MAX_DEPTH = 100;
const TWO_32 = 0x1_0000_0000;
/** Bytes of text that are read in one step. */
const STEP_BYTES = 64 * 1024;

/** Datatypes whose elements JSON can carry, BYTES aside. */
export type JsonDatatype = Exclude<FixedDatatype, 'FP16' | 'BF16'>;

/**
 * Walks over the elements of an array of any nesting; a value that is not an array is its own only element. The syntax is
 * known to be right, so a comma is as good as a blank. `pos` stands on each element's first byte in turn.
 */
class ElementCursor {
  readonly bytes: Uint8Array;
  pos: number;
  /** Set by `next` at the end of the outermost array. */
  ended = false;
  /** Set by `passString`: the string is known to have no escapes, which is only known of large ones. */
  plain = false;
  readonly #value: JsonValue;
  #depth = 0;
  #until = 0;

  constructor(value: JsonValue) {
    this.bytes = value.bytes;
    this.pos = value.start;
    this.#value = value;
  }

  /** Allows for one step more. */
  go(): void {
    this.#until = this.pos + STEP_BYTES;
  }

  /** Moves to the next element; false at the end of the outermost array (`ended`) and at the end of a step. */
  next(): boolean {
    const { bytes } = this;
    if (!this.#value.isArray) {
      this.ended = this.#depth++ > 0;
      return !this.ended;
    }
    const until = this.#until;
    let { pos } = this;
    for (; pos < until; pos++) {
      const byte = bytes[pos]!;
      if (byte === 0x2c || byte <= 0x20) continue;
      if (byte === 0x5b) {
        if (++this.#depth > MAX_DEPTH) {
          throw jsonError(`JSON nesting depth exceeds maximum allowed limit (${MAX_DEPTH})`);
        }
      } else if (byte === 0x5d) {
        if (--this.#depth === 0) {
          this.ended = true;
          return false;
        }
      } else {
        this.pos = pos;
        return true;
      }
    }
    this.pos = pos;
    return false;
  }

  /** Moves behind the string at the position. */
  passString(): void {
    const { bytes, pos } = this;
    if (bytes[pos] !== 0x22) throw jsonError('attempt to access JSON non-string as string');
    const large = this.#value.largeString(pos);
    let end = pos + 1;
    if (large !== undefined) end = large.end - 1;
    else for (; bytes[end] !== 0x22; end++) if (bytes[end] === 0x5c) end++;
    this.plain = large?.values === 0;
    this.pos = end + 1;
  }
}

/** Stores the elements of an array. Throws for more or fewer of them than `count`, and for one of the wrong type. */
export function* readTensorData(
  array: JsonValue,
  datatype: JsonDatatype,
  count: number,
  target: Uint8Array,
): Steps<void> {
  const elements = new ElementCursor(array);
  const read = elementReader(datatype, target);
  let index = readSome(elements, read, 0, count);
  while (!elements.ended) {
    yield;
    index = readSome(elements, read, index, count);
  }
  if (index < count) throw new TooFewElements();
}

/** One step; the index behind the last element that was read. */
function readSome(elements: ElementCursor, read: ElementReader, from: number, count: number): number {
  let index = from;
  for (elements.go(); elements.next(); index++) {
    if (index >= count) throw jsonError("Shape does not match true shape of 'data' field");
    read(elements, index);
  }
  return index;
}

/** Thrown when the data end before the shape is filled. The caller, who knows the tensor's name, makes the TritonError of it. */
export class TooFewElements extends Error {}

/** The wire form of a BYTES tensor from an array of strings; their number is not compared with the shape. */
export function* readBytesData(array: JsonValue): Steps<Uint8Array> {
  const { bytes } = array;
  const sizing = new ElementCursor(array);
  let size = sizeOfSome(sizing);
  while (!sizing.ended) {
    yield;
    size += sizeOfSome(sizing);
  }
  const data = Buffer.allocUnsafe(size);
  const elements = new ElementCursor(array);
  let out = 0;
  while (!elements.ended) {
    if (out > 0) yield;
    for (elements.go(); elements.next(); ) {
      const start = elements.pos + 1;
      elements.passString();
      const end = elements.pos - 1;
      const begin = out + LENGTH_BYTES;
      if (elements.plain) {
        data.set(bytes.subarray(start, end), begin);
        out = begin + end - start;
      } else if (end - start <= STEP_BYTES) out = unescapeInto(data, begin, bytes, start, end);
      else out = yield* unescapeSteps(data, begin, bytes, start, end);
      data.writeUInt32LE(out - begin, begin - LENGTH_BYTES);
    }
  }
  return data.subarray(0, out);
}

/** Bytes that the strings of one step need at most. */
function sizeOfSome(elements: ElementCursor): number {
  let size = 0;
  for (elements.go(); elements.next(); ) {
    const { pos } = elements;
    elements.passString();
    size += LENGTH_BYTES + elements.pos - pos - 2;
  }
  return size;
}

/** A string of any length; returns the position behind what was written. */
// biome-ignore lint/complexity/useMaxParams: called per string with escapes, an object for it would cost.
function* unescapeSteps(target: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): Steps<number> {
  const cursor = { pos: start, out: at };
  while (cursor.pos < end) {
    unescapeUntil(target, cursor, bytes, Math.min(end, cursor.pos + STEP_BYTES));
    yield;
  }
  return cursor.out;
}

type ElementReader = (elements: ElementCursor, index: number) => void;

function elementReader(datatype: JsonDatatype, target: Uint8Array): ElementReader {
  switch (datatype) {
    case 'BOOL':
      return (elements, index) => {
        target[index] = readBool(elements);
      };
    case 'FP32': {
      const view = typedView('FP32', target);
      return (elements, index) => {
        view[index] = readDouble(elements, true);
      };
    }
    case 'FP64': {
      const view = typedView('FP64', target);
      return (elements, index) => {
        view[index] = readDouble(elements, false);
      };
    }
    case 'INT64':
    case 'UINT64':
      return integer64Reader(datatype === 'INT64', target);
    default:
      return integerReader(datatype, target);
  }
}

function readBool(elements: ElementCursor): number {
  const byte = elements.bytes[elements.pos];
  if (byte === 0x74) {
    elements.pos += 4;
    return 1;
  }
  if (byte !== 0x66) throw jsonError('attempt to access JSON non-boolean as boolean');
  elements.pos += 5;
  return 0;
}

/** Integers of up to 32 bits: only the low bits are kept, which is what storing into the typed array does. */
function integerReader(
  datatype: Exclude<JsonDatatype, 'BOOL' | 'FP32' | 'FP64' | 'INT64' | 'UINT64'>,
  target: Uint8Array,
): ElementReader {
  const signed = datatype.startsWith('INT');
  const view = typedView(datatype, target);
  return (elements, index) => {
    const value = shortInteger(elements, signed);
    view[index] = value ?? Number(BigInt.asIntN(32, longInteger(elements, signed)));
  };
}

function integer64Reader(signed: boolean, target: Uint8Array): ElementReader {
  const words = new DataView(target.buffer, target.byteOffset, target.byteLength);
  return (elements, index) => {
    const value = shortInteger(elements, signed);
    if (value === undefined) words.setBigUint64(index * 8, BigInt.asUintN(64, longInteger(elements, signed)), true);
    else {
      words.setInt32(index * 8, (value % TWO_32) | 0, true);
      words.setInt32(index * 8 + 4, Math.floor(value / TWO_32), true);
    }
  };
}

/** An integer literal of up to 15 digits; undefined (nothing passed) when it is longer. */
function shortInteger(elements: ElementCursor, signed: boolean): number | undefined {
  const { bytes } = elements;
  const negative = bytes[elements.pos] === 0x2d;
  const first = negative ? elements.pos + 1 : elements.pos;
  let pos = first;
  let value = 0;
  for (let digit = bytes[pos]! - 0x30; digit >= 0 && digit <= 9; digit = bytes[++pos]! - 0x30)
    value = value * 10 + digit;
  const after = bytes[pos]!;
  // -0 is the integer 0, so even unsigned types take it.
  if (pos === first || after === 0x2e || (after | 0x20) === 0x65 || (negative && !signed && value !== 0)) {
    throw wrongInteger(signed);
  }
  if (pos - first > 15) return undefined;
  elements.pos = pos;
  return negative ? -value : value;
}

/** An integer literal of any length in the range of 64 bits. */
function longInteger(elements: ElementCursor, signed: boolean): bigint {
  const { bytes, pos } = elements;
  const scanner = new JsonScanner(bytes, pos);
  scanner.number();
  const literal = new JsonValue(JsonKind.INTEGER, bytes, pos, scanner.pos, false);
  elements.pos = scanner.pos;
  return signed ? literal.asInt64() : literal.asUint64();
}

function wrongInteger(signed: boolean): Error {
  const kind = signed ? 'signed-integer' : 'unsigned-integer';
  return jsonError(`attempt to access JSON non-${kind} as ${kind}`);
}
