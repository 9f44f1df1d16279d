/**
 * JSON as perf_analyzer reads its files, in RapidJSON's dialect: numbers keep how they were written (an integer is not a
 * float), `NaN`, `Inf` and `Infinity` are numbers, errors are a code and an offset.
 */
import { JsonSyntaxError, SyntaxReason } from '../../protocol/json/json-error.js';
import { doubleOf, JsonScanner } from '../../protocol/json/scanner.js';
import { unescapeString } from '../../protocol/json/unescape.js';

/** A number: its value and whether it was written as an integer. */
export class JsonNumber {
  /** The literal. */
  readonly text: string;
  /** True when neither decimal point nor exponent were written. */
  readonly isInteger: boolean;

  constructor(text: string, isInteger: boolean) {
    this.text = text;
    this.isInteger = isInteger;
  }

  /** As a double. */
  get double(): number {
    return doubleOf(this.text);
  }

  /** As an integer of any size; only for integers. */
  get integer(): bigint {
    return BigInt(this.text);
  }
}

/** A parsed value. The last of several members of the same name wins in lookups, as does its position. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | JsonObject;

/** Members in the order of the document. */
export type JsonObject = ReadonlyMap<string, JsonValue>;

/** True for objects. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

/** True for arrays. */
export function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** RapidJSON's numbers of what is wrong (`ParseErrorCode`). The limit of depth is not RapidJSON's: 16 ends a parse. */
const CODES: Readonly<Record<SyntaxReason, number>> = {
  [SyntaxReason.EMPTY]: 1,
  [SyntaxReason.ROOT_FOLLOWED]: 2,
  [SyntaxReason.VALUE]: 3,
  [SyntaxReason.NAME]: 4,
  [SyntaxReason.COLON]: 5,
  [SyntaxReason.COMMA_OR_BRACE]: 6,
  [SyntaxReason.COMMA_OR_BRACKET]: 7,
  [SyntaxReason.HEX]: 8,
  [SyntaxReason.SURROGATE]: 9,
  [SyntaxReason.ESCAPE]: 10,
  [SyntaxReason.QUOTE]: 11,
  [SyntaxReason.TOO_BIG]: 13,
  [SyntaxReason.FRACTION]: 14,
  [SyntaxReason.EXPONENT]: 15,
  [SyntaxReason.DEPTH]: 16,
};
/** The code for a control character inside a string, for which other versions of RapidJSON have the code of an escape. */
const CONTROL_CHARACTER = 12;

const BACKSLASH = 0x5c;

/** What is wrong with a document, or undefined where it was something else that failed. */
export function syntaxFault(reason: unknown, bytes: Uint8Array): { code: number; offset: number } | undefined {
  if (!(reason instanceof JsonSyntaxError)) return undefined;
  const { offset } = reason;
  const isControl = reason.reason === SyntaxReason.ESCAPE && bytes[offset] !== BACKSLASH;
  return { code: isControl ? CONTROL_CHARACTER : CODES[reason.reason], offset };
}

/** Parses a whole document; throws JsonSyntaxError. */
export function parseJsonDocument(bytes: Uint8Array): JsonValue {
  const scanner = new JsonScanner(bytes);
  if (scanner.peek() === 0) scanner.fail(SyntaxReason.EMPTY);
  // First the syntax as a whole, which bounds the depth; then the values.
  scanner.value();
  if (scanner.peek() !== 0) scanner.fail(SyntaxReason.ROOT_FOLLOWED);
  return readValue(new JsonScanner(bytes));
}

/** Reads the value at the scanner, whose syntax is known to be right. */
function readValue(scanner: JsonScanner): JsonValue {
  const first = scanner.peek();
  const start = scanner.pos;
  switch (String.fromCharCode(first)) {
    case '{':
      return readObject(scanner);
    case '[':
      return readArray(scanner);
    case '"':
      return readString(scanner);
    case 't':
    case 'f':
    case 'n':
      scanner.scalar(first);
      return first === 0x6e ? null : first === 0x74;
    default: {
      const isInteger = scanner.number();
      return new JsonNumber(latin1(scanner.bytes, start, scanner.pos), isInteger);
    }
  }
}

function readObject(scanner: JsonScanner): JsonObject {
  const members = new Map<string, JsonValue>();
  while (hasNext(scanner, '}')) {
    scanner.peek();
    const name = readString(scanner);
    scanner.colon();
    members.set(name, readValue(scanner));
  }
  return members;
}

function readArray(scanner: JsonScanner): JsonValue[] {
  const items: JsonValue[] = [];
  while (hasNext(scanner, ']')) items.push(readValue(scanner));
  return items;
}

/** Passes the opening bracket, comma or closing bracket at the scanner; false where nothing follows in the container. */
function hasNext(scanner: JsonScanner, close: '}' | ']'): boolean {
  const closes = close.charCodeAt(0);
  const opened = scanner.peek() !== closes;
  scanner.pos++;
  if (!opened || scanner.peek() !== closes) return opened;
  scanner.pos++;
  return false;
}

function readString(scanner: JsonScanner): string {
  const start = scanner.pos + 1;
  scanner.string();
  const end = scanner.pos - 1;
  if (!scanner.escaped) return Buffer.from(scanner.bytes.subarray(start, end)).toString('utf8');
  return Buffer.from(unescapeString(scanner.bytes, start, end)).toString('utf8');
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
