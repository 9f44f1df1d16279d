/**
 * JSON as the original's input data files are read: numbers keep how they were written (an integer is not a float),
 * `NaN`, `Inf` and `Infinity` are numbers, errors are a code and an offset (RapidJSON's numbering).
 */

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
    return /[a-z]$/i.test(this.text) ? namedNumber(this.text) : Number(this.text);
  }

  /** As an integer of any size; only for integers. */
  get integer(): bigint {
    return BigInt(this.text);
  }
}

/** A parsed value. The last of several members of the same name wins in lookups, as does its position. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | JsonObject;

/** Members in the order of the text. */
export type JsonObject = ReadonlyMap<string, JsonValue>;

/** A syntax error. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
  /** 1 empty, 2 more than one root, 3 invalid value, 4 missing member name, 5 missing colon, 6 object not closed, ... */
  readonly code: number;
  /** Byte in the document. */
  readonly offset: number;

  constructor(code: number, offset: number) {
    super(`JSON error ${code} at offset ${offset}`);
    this.code = code;
    this.offset = offset;
  }
}

/** True for objects. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

/** True for arrays. */
export function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Parses a whole document; throws JsonSyntaxError. */
export function parseJsonDocument(bytes: Uint8Array): JsonValue {
  // Offsets are bytes: each byte is one character here, strings are decoded when they are taken out.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const end = text.length;
  let at = 0;
  skipBlanks();
  if (at >= end) throw new JsonSyntaxError(1, at);
  const value = parseValue();
  skipBlanks();
  if (at < end) throw new JsonSyntaxError(2, at);
  return value;

  function skipBlanks(): void {
    while (at < end && ' \t\n\r'.includes(text[at] as string)) at += 1;
  }

  function parseValue(): JsonValue {
    switch (text[at]) {
      case '{':
        return parseObject();
      case '[':
        return parseArray();
      case '"':
        return parseString();
      case 't':
        return parseWord('true', true);
      case 'f':
        return parseWord('false', false);
      case 'n':
        return parseWord('null', null);
      default:
        return parseNumber();
    }
  }

  function parseWord<T>(word: string, value: T): T {
    for (let i = 0; i < word.length; i++) {
      if (text[at + i] !== word[i]) throw new JsonSyntaxError(3, at + i);
    }
    at += word.length;
    return value;
  }

  function parseObject(): JsonObject {
    const members = new Map<string, JsonValue>();
    at += 1;
    skipBlanks();
    if (text[at] === '}') {
      at += 1;
      return members;
    }
    for (;;) {
      if (text[at] !== '"') throw new JsonSyntaxError(4, at);
      const name = parseString();
      skipBlanks();
      if (text[at] !== ':') throw new JsonSyntaxError(5, at);
      at += 1;
      skipBlanks();
      members.set(name, parseValue());
      skipBlanks();
      if (text[at] === '}') break;
      if (text[at] !== ',') throw new JsonSyntaxError(6, at);
      at += 1;
      skipBlanks();
    }
    at += 1;
    return members;
  }

  function parseArray(): JsonValue[] {
    const items: JsonValue[] = [];
    at += 1;
    skipBlanks();
    if (text[at] === ']') {
      at += 1;
      return items;
    }
    for (;;) {
      items.push(parseValue());
      skipBlanks();
      if (text[at] === ']') break;
      if (text[at] !== ',') throw new JsonSyntaxError(7, at);
      at += 1;
      skipBlanks();
    }
    at += 1;
    return items;
  }

  function parseString(): string {
    const start = at + 1;
    for (at = start; text[at] !== '"'; at++) {
      if (at >= end) throw new JsonSyntaxError(11, at);
      if (text[at] === '\\') at = checkEscape(at);
      else if ((text[at] as string) < ' ') throw new JsonSyntaxError(12, at);
    }
    const raw = text.slice(start, at);
    at += 1;
    if (!raw.includes('\\')) return Buffer.from(raw, 'latin1').toString('utf8');
    return JSON.parse(Buffer.from(`"${raw}"`, 'latin1').toString('utf8')) as string;
  }

  function checkEscape(position: number): number {
    const letter = text[position + 1];
    if (letter === 'u') {
      for (let i = 2; i < 6; i++) {
        if (!/^[0-9a-fA-F]$/.test(text[position + i] ?? '')) throw new JsonSyntaxError(8, position);
      }
      return position + 5;
    }
    if (letter === undefined || !'"\\/bfnrt'.includes(letter)) throw new JsonSyntaxError(10, position);
    return position + 1;
  }

  function parseNumber(): JsonNumber {
    const named = /-?(?:NaN|Infinity|Inf)/y;
    named.lastIndex = at;
    const word = named.exec(text);
    if (word !== null) {
      at += word[0].length;
      return new JsonNumber(word[0], false);
    }
    const pattern = /-?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d*)?/y;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) throw new JsonSyntaxError(3, text[at] === '-' ? at + 1 : at);
    const [literal, , fraction, exponent] = match;
    if (fraction === '.') throw new JsonSyntaxError(14, at + literal.indexOf('.') + 1);
    if (exponent !== undefined && !/\d$/.test(exponent)) throw new JsonSyntaxError(15, at + literal.length);
    if (!Number.isFinite(Number(literal))) throw new JsonSyntaxError(13, at);
    at += literal.length;
    return new JsonNumber(literal, fraction === undefined && exponent === undefined);
  }
}

function namedNumber(text: string): number {
  if (text.endsWith('NaN')) return Number.NaN;
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
