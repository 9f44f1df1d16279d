import { TritonError } from '../../base/error.js';
import { decodeUtf8, equalsAscii } from '../proto/string-cache.js';
import { jsonError, SyntaxReason } from './json-error.js';
import { JsonScanner, numberOf } from './scanner.js';
import { unescapeString } from './unescape.js';

/** What a value is. INTEGER: a literal without fraction and exponent; REAL: every other number. */
export const JsonKind = { NULL: 0, FALSE: 1, TRUE: 2, INTEGER: 3, REAL: 4, STRING: 5, ARRAY: 6, OBJECT: 7 } as const;

/** One of the kinds. */
export type JsonKind = (typeof JsonKind)[keyof typeof JsonKind];

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Most members and elements of one document that become values of their own. Tensor data never do: their elements stay
 * text until they are stored. So this bounds names, parameters and lists; 190 bytes of heap for each are 19 MB.
 */
export const MAX_VALUES = 100_000;

/** Most digits of an integer literal within the range of a double. */
const MAX_INTEGER_DIGITS = 400;

/** Containers nested deeper than this are taken apart when they are asked for, so that depth costs no stack. */
const EAGER_LEVELS = 6;

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/**
 * A value inside JSON text whose syntax was checked: a range of bytes that is read when asked. Lists whose first element
 * is not an object stay a range of bytes, so the numbers of a large tensor are never turned into values of their own; integers
 * keep all their digits; names keep their order and may repeat.
 *
 * Accessors throw INTERNAL errors in the words of Triton's JSON layer (triton_json.h).
 */
export class JsonValue {
  readonly kind: JsonKind;
  readonly bytes: Uint8Array;
  /** Range of the text in `bytes`: quotes and brackets included. */
  readonly start: number;
  readonly end: number;
  /** A string with escapes. */
  readonly escaped: boolean;
  /** What a container holds; absent: not taken apart yet. */
  #items: Items | undefined;
  readonly #document: JsonDocument;

  // biome-ignore lint/complexity/useMaxParams: called per value of a document, an object for it would cost.
  constructor(
    kind: JsonKind,
    bytes: Uint8Array,
    start: number,
    end: number,
    escaped: boolean,
    items?: Items,
    document: JsonDocument = ALONE,
  ) {
    this.kind = kind;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.escaped = escaped;
    this.#items = items;
    this.#document = document;
  }

  get isNull(): boolean {
    return this.kind === JsonKind.NULL;
  }

  get isObject(): boolean {
    return this.kind === JsonKind.OBJECT;
  }

  get isArray(): boolean {
    return this.kind === JsonKind.ARRAY;
  }

  get isString(): boolean {
    return this.kind === JsonKind.STRING;
  }

  get isNumber(): boolean {
    return this.kind === JsonKind.INTEGER || this.kind === JsonKind.REAL;
  }

  get isBool(): boolean {
    return this.kind === JsonKind.TRUE || this.kind === JsonKind.FALSE;
  }

  /** The first member of that (ASCII) name; undefined when there is none or this is not an object. */
  member(name: string): JsonValue | undefined {
    if (this.kind !== JsonKind.OBJECT) return undefined;
    const { names, values } = this.#taken();
    for (let i = 0; i < values.length; i++) {
      const end = names[2 * i + 1]!;
      // A negative end marks a name with escapes.
      if (end < 0 ? this.#name(i).asString() === name : equalsAscii(this.bytes, names[2 * i]! + 1, end - 1, name)) {
        return values[i];
      }
    }
    return undefined;
  }

  /** The first member of that name; throws when there is none. */
  required(name: string): JsonValue {
    return this.member(name) ?? missing(name);
  }

  /** Members in their order, repeated names included. Throws when this is not an object. */
  members(): (readonly [name: JsonValue, value: JsonValue])[] {
    if (this.kind !== JsonKind.OBJECT) throw jsonError('attempt to get members for non-object');
    return this.#taken().values.map((value, i) => [this.#name(i), value]);
  }

  /** The elements. */
  asArray(): readonly JsonValue[] {
    if (this.kind !== JsonKind.ARRAY) throw jsonError('attempt to access JSON non-array as array');
    return this.#taken().values;
  }

  /** Number of elements of an array, without making values of them. */
  get length(): number {
    if (this.kind !== JsonKind.ARRAY) throw jsonError('attempt to access JSON non-array as array');
    const known = this.#items?.values.length ?? this.#document.large?.get(this.start)?.values;
    if (known !== undefined) return known;
    let count = 0;
    const scanner = new JsonScanner(this.bytes, this.start + 1, this.end);
    if (scanner.peek() === CLOSE_BRACKET) return 0;
    for (; scanner.bytes[scanner.pos] !== CLOSE_BRACKET; count++) {
      scanner.value();
      if (scanner.peek() === COMMA) scanner.pos++;
    }
    return count;
  }

  /**
   * The elements of an array of integers of the uint64 range as numbers; beyond 2^53 the nearest ones. An array with more
   * than `most` elements ends the reading with one element more than that.
   */
  asUints(most: number): number[] {
    if (this.kind !== JsonKind.ARRAY) return this.asArray().map((value) => value.asUint());
    const { bytes } = this;
    const numbers: number[] = [];
    for (let pos = this.start + 1; ; ) {
      const byte = bytes[pos]!;
      if (byte === CLOSE_BRACKET || numbers.length > most) return numbers;
      if (byte === COMMA || byte <= 0x20) {
        pos++;
        continue;
      }
      const first = pos;
      let value = 0;
      for (let digit = byte - 0x30; digit >= 0 && digit <= 9; digit = bytes[++pos]! - 0x30) value = value * 10 + digit;
      const after = bytes[pos]!;
      const plain = after === COMMA || after === CLOSE_BRACKET || after <= 0x20;
      // Whatever is not a short integer goes the long way, which also finds the words for what is wrong.
      if (!plain || pos === first || pos - first > 15) {
        if (this.length > most) return new Array<number>(most + 1).fill(0);
        return this.asArray().map((element) => element.asUint());
      }
      numbers.push(value);
    }
  }

  /** This, if it is an object. */
  asObject(): this {
    if (this.kind !== JsonKind.OBJECT) throw jsonError('attempt to access JSON non-object as object');
    return this;
  }

  /** The text; bytes that are not UTF-8 become replacement characters. */
  asString(): string {
    this.#mustBeString();
    if (!this.escaped) return decodeUtf8(this.bytes, this.start + 1, this.end - 1);
    const text = unescapeString(this.bytes, this.start + 1, this.end - 1);
    return decodeUtf8(text, 0, text.length);
  }

  /** The string's bytes as sent, escapes resolved; a view where there are none. */
  asStringBytes(): Uint8Array {
    this.#mustBeString();
    return this.escaped
      ? unescapeString(this.bytes, this.start + 1, this.end - 1)
      : this.bytes.subarray(this.start + 1, this.end - 1);
  }

  asBool(): boolean {
    if (this.kind === JsonKind.TRUE) return true;
    if (this.kind === JsonKind.FALSE) return false;
    throw jsonError('attempt to access JSON non-boolean as boolean');
  }

  /** An integer of the int64 range. */
  asInt64(): bigint {
    const value = this.integer();
    if (value === undefined || value < INT64_MIN || value > INT64_MAX) {
      throw jsonError('attempt to access JSON non-signed-integer as signed-integer');
    }
    return value;
  }

  /** An integer of the uint64 range. */
  asUint64(): bigint {
    const value = this.integer();
    if (value === undefined || value < 0n || value > UINT64_MAX) throw notUnsigned();
    return value;
  }

  /** An integer of the uint64 range as a number; beyond 2^53 the nearest one. */
  asUint(): number {
    const { bytes, end } = this;
    if (this.kind !== JsonKind.INTEGER) throw notUnsigned();
    // Up to 15 digits without a sign: exact without bigint.
    if (end - this.start > 15 || bytes[this.start] === 0x2d) return Number(this.asUint64());
    let value = 0;
    for (let i = this.start; i < end; i++) value = value * 10 + bytes[i]! - 0x30;
    return value;
  }

  /** The value as it stands in the document. */
  get text(): string {
    return decodeUtf8(this.bytes, this.start, this.end);
  }

  /** Any number. */
  asDouble(): number {
    if (!this.isNumber) throw jsonError('attempt to access JSON non-number as double');
    // Triton holds -0 as the integer 0.
    return this.kind === JsonKind.INTEGER
      ? numberOf(this.bytes, this.start, this.end) + 0
      : numberOf(this.bytes, this.start, this.end);
  }

  /** The exact value of an integer literal, which a valid one has up to 309 digits of; undefined for anything else. */
  integer(): bigint | undefined {
    if (this.kind !== JsonKind.INTEGER) return undefined;
    // Reading a bigint is not linear in its digits; more of them than this were refused as too big already.
    if (this.end - this.start > MAX_INTEGER_DIGITS) throw jsonError('attempt to access JSON non-number as double');
    return BigInt(decodeUtf8(this.bytes, this.start, this.end));
  }

  /** Of a string inside this value that starts at an offset: what is known of it if it is large. */
  largeString(start: number): { readonly end: number; readonly values: number } | undefined {
    return this.#document.large?.get(start);
  }

  #mustBeString(): void {
    if (this.kind !== JsonKind.STRING) throw jsonError('attempt to access JSON non-string as string');
  }

  /** The name of a member as a value. */
  #name(index: number): JsonValue {
    const { names } = this.#taken();
    const end = names[2 * index + 1]!;
    return new JsonValue(
      JsonKind.STRING,
      this.bytes,
      names[2 * index]!,
      Math.abs(end),
      end < 0,
      undefined,
      this.#document,
    );
  }

  #taken(): Items {
    this.#items ??= readItems(new JsonScanner(this.bytes, this.start, this.end), EAGER_LEVELS - 1, this.#document);
    return this.#items;
  }
}

/** Elements of an array, or members of an object. */
interface Items {
  /** Start and end of each name, quotes included; the end is negative where the name contains escapes. */
  readonly names: number[];
  readonly values: JsonValue[];
}

/** What all values of one document share. */
export interface JsonDocument {
  /** Values that may still be made of it. */
  left: number;
  /** By their start: large values of a document that was checked in steps, so that nobody passes over them again. */
  readonly large: ReadonlyMap<number, LargeValue> | undefined;
}

/** For values that are in no document. */
const ALONE: JsonDocument = { left: MAX_VALUES, large: undefined };

/** A value that is not passed over again. */
export interface LargeValue {
  readonly end: number;
  /** Values in a container; for a string 1 if it has escapes, else 0. */
  readonly values: number;
}

function missing(name: string): never {
  throw jsonError(`attempt to access non-existing object member '${name}'`);
}

function notUnsigned(): Error {
  return jsonError('attempt to access JSON non-unsigned-integer as unsigned-integer');
}

/** The refusal of a document with too many values. */
export function tooManyValues(): TritonError {
  return new TritonError(
    'INVALID_ARG',
    `the JSON document has more than ${MAX_VALUES} members and elements outside of tensor data`,
  );
}

/** Reads the value at the scanner's position (blanks already passed); `level`: containers around it. */
export function readValue(scanner: JsonScanner, level: number, document: JsonDocument): JsonValue {
  const { bytes } = scanner;
  const start = scanner.pos;
  const first = start < scanner.end ? bytes[start]! : 0;
  let kind: JsonKind;
  let escaped = false;
  let items: Items | undefined;
  switch (first) {
    case OPEN_BRACE:
      kind = JsonKind.OBJECT;
      if (level < EAGER_LEVELS) items = readItems(scanner, level, document);
      else passContainer(scanner, document);
      break;
    case OPEN_BRACKET:
      kind = JsonKind.ARRAY;
      if (level < EAGER_LEVELS && startsWithObject(scanner)) items = readItems(scanner, level, document);
      else passContainer(scanner, document);
      break;
    case QUOTE: {
      kind = JsonKind.STRING;
      const large = document.large?.get(start);
      if (large === undefined) {
        scanner.string();
        escaped = scanner.escaped;
      } else {
        scanner.pos = large.end;
        escaped = large.values > 0;
      }
      break;
    }
    case 0x74:
      kind = JsonKind.TRUE;
      scanner.literal('true');
      break;
    case 0x66:
      kind = JsonKind.FALSE;
      scanner.literal('false');
      break;
    case 0x6e:
      kind = JsonKind.NULL;
      scanner.literal('null');
      break;
    default:
      kind = scanner.number() ? JsonKind.INTEGER : JsonKind.REAL;
  }
  return new JsonValue(kind, bytes, start, scanner.pos, escaped, items, document);
}

/** Passes over the container at the scanner's position. */
function passContainer(scanner: JsonScanner, { large }: JsonDocument): void {
  const known = large?.get(scanner.pos);
  if (known === undefined) scanner.value();
  else scanner.pos = known.end;
}

/** Looks behind an opening bracket: is the first element an object? */
function startsWithObject(scanner: JsonScanner): boolean {
  const start = scanner.pos;
  scanner.pos++;
  const object = scanner.peek() === OPEN_BRACE;
  scanner.pos = start;
  return object;
}

/** Reads the items of the container at the scanner's position. */
function readItems(scanner: JsonScanner, level: number, document: JsonDocument): Items {
  const names: number[] = [];
  const values: JsonValue[] = [];
  const items = { names, values };
  const { bytes } = scanner;
  const object = bytes[scanner.pos] === OPEN_BRACE;
  const close = object ? CLOSE_BRACE : CLOSE_BRACKET;
  scanner.pos++;
  if (scanner.peek() === close) {
    scanner.pos++;
    return items;
  }
  for (;;) {
    if (object) {
      const start = scanner.pos;
      if (start >= scanner.end || bytes[start] !== QUOTE) scanner.fail(SyntaxReason.NAME);
      scanner.string();
      names.push(start, scanner.escaped ? -scanner.pos : scanner.pos);
      scanner.colon();
      scanner.peek();
    }
    if (--document.left < 0) throw tooManyValues();
    values.push(readValue(scanner, level + 1, document));
    const byte = scanner.peek();
    if (byte !== COMMA && byte !== close) {
      scanner.fail(object ? SyntaxReason.COMMA_OR_BRACE : SyntaxReason.COMMA_OR_BRACKET);
    }
    scanner.pos++;
    if (byte === close) return items;
    scanner.peek();
  }
}
