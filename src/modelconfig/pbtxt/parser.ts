/**
 * Parser of protobuf's text format for any message described by a schema: protobuf C++'s grammar with default options,
 * its messages and its positions. It stops at the first grammar error.
 */

import type { FieldPath, Position } from '../../contract/finding.js';
import {
  create,
  type EnumSchema,
  type Field,
  type FieldTable,
  type MessageSchema,
  type ScalarType,
  zeroOf,
} from '../../protocol/proto/schema.js';
import { PositionMap } from './position-map.js';
import { unescapeString } from './string-literal.js';
import { Tokenizer } from './tokenizer.js';

/** A bracket that was opened and not closed yet. */
export interface OpenBracket {
  /** The field that it belongs to. */
  readonly field: string;
  readonly bracket: '{' | '<' | '[';
  readonly position: Position;
}

/** An error with its 1-based positions. */
export interface ParseError {
  /** Where protobuf reports it: where its scanner stands, which may be behind the token that is wrong. */
  readonly position: Position;
  readonly message: string;
  /** Where the token that is wrong begins. */
  readonly token: Position;
  /** True when the characters themselves are wrong; errors of the grammar that follow are consequences. */
  readonly lexical: boolean;
  /** The brackets around it, outermost first. */
  readonly open: readonly OpenBracket[];
  /** The message whose fields are read there, and the names of the messages around it, outermost first. */
  readonly around: readonly MessageSchema[];
  /** The field whose map entry is read there. */
  readonly map?: { readonly name: string; readonly field: Field } | undefined;
}

type Message = Record<string, unknown>;

/** Thrown at the first grammar error, never leaves this file. */
class Stop extends Error {}

/** Largest values of the integer types. */
const LIMITS = {
  int32: 2n ** 31n - 1n,
  int64: 2n ** 63n - 1n,
  uint32: 2n ** 32n - 1n,
  uint64: 2n ** 64n - 1n,
} as const;

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  t: true,
  false: false,
  False: false,
  f: false,
};

/** Parses a text into `schema`. What was read before the first error is in `message`. */
export function parseText<F extends FieldTable>(
  bytes: Uint8Array,
  schema: MessageSchema<F>,
): { message: Message; positions: PositionMap; errors: ParseError[] } {
  const errors: ParseError[] = [];
  const parser = new Parser(bytes, errors);
  const message = create(schema) as Message;
  try {
    parser.parseFile(schema as MessageSchema, message);
  } catch (reason) {
    if (!(reason instanceof Stop)) throw reason;
  }
  return { message, positions: parser.positions, errors };
}

class Parser {
  readonly positions = new PositionMap();
  readonly #tokens: Tokenizer;
  readonly #errors: ParseError[];
  readonly #open: OpenBracket[] = [];
  readonly #around: MessageSchema[] = [];
  #map: ParseError['map'];

  constructor(bytes: Uint8Array, errors: ParseError[]) {
    this.#errors = errors;
    this.#tokens = new Tokenizer(bytes, (position, message) =>
      errors.push({ position, message, token: position, lexical: true, open: [], around: [] }),
    );
  }

  parseFile(schema: MessageSchema, message: Message): void {
    this.#around.push(schema);
    while (this.#tokens.current.type !== 'end') this.#field(schema, message, []);
  }

  #field(schema: MessageSchema, message: Message, path: FieldPath): void {
    if (this.#take('[')) this.#extension(schema);
    const start = this.#tokens.position;
    const name = this.#identifier();
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (field === undefined) this.#fail(`Message type "${schema.name}" has no field named "${name}".`, start);
    this.#checkSingle(schema, message, name, field as Field, start);
    this.#value(schema, message, name, field as Field, [...path, name], start);
    this.#separator();
  }

  /** `[a.b.c]`: no message of ours has extensions. */
  #extension(schema: MessageSchema): never {
    let name = this.#identifier();
    while (this.#take('.')) name += `.${this.#identifier()}`;
    this.#consume(']');
    this.#fail(`Extension "${name}" is not defined or is not an extension of "${schema.name}".`);
  }

  #checkSingle(schema: MessageSchema, message: Message, name: string, field: Field, start: Position): void {
    if (field.cardinality !== 'singular') return;
    if (isSet(message[name], field)) {
      this.#fail(`Non-repeated field "${name}" is specified multiple times.`, start);
    }
    if (field.oneof === undefined) return;
    for (const [other, candidate] of Object.entries(schema.fields)) {
      if (candidate.oneof === field.oneof && message[other] !== undefined) {
        this.#fail(
          `Field "${name}" is specified along with field "${other}", another member of oneof "${field.oneof}".`,
          start,
        );
      }
    }
  }

  #value(schema: MessageSchema, message: Message, name: string, field: Field, path: FieldPath, start: Position): void {
    const isMessage = field.cardinality === 'map' || typeof field.type === 'function';
    if (isMessage) this.#take(':');
    else this.#consume(':');
    this.positions.set(path, isMessage || field.cardinality === 'repeated' ? start : this.#tokens.position);
    const bracket = this.#tokens.position;
    if (field.cardinality !== 'singular' && this.#take('[')) {
      if (this.#take(']')) return;
      this.#open.push({ field: name, bracket: '[', position: bracket });
      for (;;) {
        this.#element(schema, message, name, field, path, this.#tokens.position);
        if (this.#take(']')) break;
        this.#consume(',');
      }
      this.#open.pop();
      return;
    }
    this.#element(schema, message, name, field, path, isMessage ? start : this.#tokens.position);
  }

  /** One value of a field: sets it, appends it to the list, or enters it into the map. */
  #element(
    schema: MessageSchema,
    message: Message,
    name: string,
    field: Field,
    path: FieldPath,
    start: Position,
  ): void {
    if (field.cardinality === 'map') {
      this.#mapEntry(schema, message[name] as Map<unknown, unknown>, name, field, path, start);
    } else if (field.cardinality === 'repeated') {
      const list = message[name] as unknown[];
      const elementPath = [...path, list.length];
      this.positions.set(elementPath, start);
      list.push(this.#single(name, field, elementPath));
    } else {
      message[name] = this.#single(name, field, path);
    }
  }

  #single(name: string, field: Field, path: FieldPath): unknown {
    return typeof field.type === 'function'
      ? this.#subMessage(name, field.type(), path)
      : this.#scalar(name, field.type);
  }

  #subMessage(name: string, schema: MessageSchema, path: FieldPath): Message {
    const closer = this.#begin(name);
    const message = create(schema) as Message;
    const map = this.#map;
    this.#map = undefined;
    this.#around.push(schema);
    while (!this.#tokens.isSymbol('}') && !this.#tokens.isSymbol('>')) this.#field(schema, message, path);
    this.#end(closer);
    this.#around.pop();
    this.#map = map;
    return message;
  }

  /** The bracket that begins a message; returns the one that ends it. */
  #begin(field: string): '>' | '}' {
    const { position } = this.#tokens;
    const angle = this.#take('<');
    if (!angle) this.#consume('{');
    this.#open.push({ field, bracket: angle ? '<' : '{', position });
    return angle ? '>' : '}';
  }

  #end(closer: '>' | '}'): void {
    this.#consume(closer);
    this.#open.pop();
  }

  /** `{ key: ... value: ... }`: absent parts have their defaults, the last entry of a key wins. */
  #mapEntry(
    schema: MessageSchema,
    map: Map<unknown, unknown>,
    name: string,
    field: Field,
    path: FieldPath,
    start: Position,
  ): void {
    const entryName = `${schema.name}.${camelCase(name)}Entry`;
    const closer = this.#begin(name);
    const outerMap = this.#map;
    this.#map = { name, field };
    let key: unknown;
    let value: unknown;
    let valueStart = start;
    // The key may follow the value, so positions inside the value are noted under the finished path afterwards.
    const outer = this.positions;
    const inner = new PositionMap();
    while (!this.#tokens.isSymbol('}') && !this.#tokens.isSymbol('>')) {
      if (this.#take('[')) this.#extension({ kind: 'message', name: entryName, fields: {} });
      const partStart = this.#tokens.position;
      const part = this.#identifier();
      if (part !== 'key' && part !== 'value') {
        this.#fail(`Message type "${entryName}" has no field named "${part}".`, partStart);
      }
      if ((part === 'key' ? key : value) !== undefined) {
        this.#fail(`Non-repeated field "${part}" is specified multiple times.`, partStart);
      }
      if (part === 'key') {
        this.#consume(':');
        key = this.#scalar('key', field.key as ScalarType);
      } else {
        if (typeof field.type === 'function') this.#take(':');
        else this.#consume(':');
        valueStart = this.#tokens.position;
        (this as { positions: PositionMap }).positions = inner;
        value = this.#single('value', field, []);
        (this as { positions: PositionMap }).positions = outer;
      }
      this.#separator();
    }
    this.#end(closer);
    this.#map = outerMap;
    key ??= zeroOf(field.key as ScalarType);
    map.delete(key);
    map.set(key, value ?? zeroOf(field.type));
    const entryPath = [...path, key as string | bigint];
    outer.set(entryPath, typeof field.type === 'function' ? start : valueStart);
    outer.addAll(entryPath, inner);
  }

  #scalar(name: string, type: ScalarType | EnumSchema): unknown {
    if (typeof type === 'object') return this.#enum(name, type);
    switch (type) {
      case 'bool':
        return this.#bool(name);
      case 'int32':
        return Number(this.#signed(LIMITS.int32));
      case 'int64':
        return this.#signed(LIMITS.int64);
      case 'uint32':
        return Number(this.#unsigned(LIMITS.uint32));
      case 'uint64':
        return this.#unsigned(LIMITS.uint64);
      case 'float':
        return Math.fround(this.#double());
      case 'double':
        return this.#double();
      case 'string':
        return this.#string().toString('utf8');
      case 'bytes':
        return Uint8Array.from(this.#string());
    }
  }

  #bool(name: string): boolean {
    if (this.#tokens.current.type === 'integer') return this.#unsigned(1n) === 1n;
    const start = this.#tokens.position;
    const word = this.#identifier();
    const value = Object.hasOwn(BOOLEANS, word) ? BOOLEANS[word] : undefined;
    if (value === undefined) this.#fail(`Invalid value for boolean field "${name}". Value: "${word}".`, start);
    return value as boolean;
  }

  #enum(name: string, type: EnumSchema): number {
    if (this.#tokens.current.type === 'identifier') {
      const start = this.#tokens.position;
      const word = this.#identifier();
      const value = Object.hasOwn(type.values, word) ? type.values[word] : undefined;
      if (value === undefined) this.#fail(`Unknown enumeration value of "${word}" for field "${name}".`, start);
      return value as number;
    }
    if (this.#tokens.isSymbol('-') || this.#tokens.current.type === 'integer') {
      return Number(this.#signed(LIMITS.int32));
    }
    return this.#fail(`Expected integer or identifier, got: ${this.#tokens.text}`);
  }

  #signed(limit: bigint): bigint {
    return this.#take('-') ? -this.#unsigned(limit + 1n) : this.#unsigned(limit);
  }

  #unsigned(limit: bigint): bigint {
    const { type } = this.#tokens.current;
    const text = this.#tokens.text;
    if (type !== 'integer') this.#fail(`Expected integer, got: ${text}`);
    const value = parseInteger(text);
    if (value === undefined || value > limit) this.#fail(`Integer out of range (${text})`);
    this.#tokens.next();
    return value as bigint;
  }

  #double(): number {
    const sign = this.#take('-') ? -1 : 1;
    const { type } = this.#tokens.current;
    const text = this.#tokens.text;
    let value: number | undefined;
    if (type === 'integer') {
      if (/^0[0-7xX]/.test(text)) this.#fail(`Expect a decimal number, got: ${text}`);
      value = Number(text);
    } else if (type === 'float') {
      value = Number.parseFloat(text);
    } else if (type === 'identifier') {
      const word = text.toLowerCase();
      if (word === 'inf' || word === 'infinity') value = Number.POSITIVE_INFINITY;
      else if (word === 'nan') value = Number.NaN;
      else this.#fail(`Expected double, got: ${word}`);
    } else {
      this.#fail(`Expected double, got: ${text}`);
    }
    this.#tokens.next();
    return sign * (value as number);
  }

  #string(): Buffer {
    if (this.#tokens.current.type !== 'string') this.#fail(`Expected string, got: ${this.#tokens.text}`);
    const bytes: number[] = [];
    while (this.#tokens.current.type === 'string') {
      unescapeString(this.#tokens.bytes, bytes);
      this.#tokens.next();
    }
    return Buffer.from(bytes);
  }

  #identifier(): string {
    const text = this.#tokens.text;
    if (this.#tokens.current.type !== 'identifier') this.#fail(`Expected identifier, got: ${text}`);
    this.#tokens.next();
    return text;
  }

  /** Fields may be followed by one `;` or `,`. */
  #separator(): void {
    if (!this.#take(';')) this.#take(',');
  }

  #take(symbol: string): boolean {
    if (!this.#tokens.isSymbol(symbol)) return false;
    this.#tokens.next();
    return true;
  }

  #consume(symbol: string): void {
    if (!this.#take(symbol)) this.#fail(`Expected "${symbol}", found "${this.#tokens.text}".`);
  }

  /** `token`: where the wrong token begins; by default the one that comes next. */
  #fail(message: string, token = this.#tokens.position): never {
    this.#errors.push({
      position: this.#tokens.position,
      message,
      token,
      lexical: false,
      open: [...this.#open],
      around: [...this.#around],
      map: this.#map,
    });
    throw new Stop();
  }
}

/** True when a singular field has a value that counts as given: presence, or for plain scalars not the zero value. */
function isSet(value: unknown, field: Field): boolean {
  if (field.optional) return value !== undefined;
  if (value instanceof Uint8Array) return value.length > 0;
  return value !== '' && value !== 0n && value !== false && !Object.is(value, 0);
}

/** Decimal, 0x hexadecimal or 0 octal digits; undefined for digits that the base does not have. */
function parseInteger(text: string): bigint | undefined {
  if (/^0[xX]/.test(text)) return text.length === 2 ? 0n : BigInt(text);
  if (/^0[0-9]/.test(text)) return /^[0-7]+$/.test(text) ? BigInt(`0o${text.slice(1)}`) : undefined;
  return BigInt(text);
}

/** `cc_model_filenames` -> `CcModelFilenames`: the stem of a map entry's type name. */
function camelCase(name: string): string {
  return name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
