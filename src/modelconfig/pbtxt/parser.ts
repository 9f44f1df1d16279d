/**
 * Parser of protobuf's text format for any message described by a schema: protobuf C++'s grammar with default options,
 * its messages and its positions. It stops at the first grammar error.
 */

import type { FieldPath, Position } from '../../contract/finding.js';
import {
  create,
  type Field,
  type FieldTable,
  type MessageSchema,
  type ScalarType,
  zeroOf,
} from '../../protocol/proto/schema.js';
import { PositionMap } from './position-map.js';
import { ScalarReader } from './scalar-reader.js';
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

/** A field that is being read, and the message that gets it. */
interface Target {
  readonly schema: MessageSchema;
  readonly message: Message;
  readonly name: string;
  readonly field: Field;
}

/** Thrown at the first grammar error, never leaves this file. */
class Stop extends Error {}

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
  readonly #reader: ScalarReader;
  readonly #errors: ParseError[];
  readonly #open: OpenBracket[] = [];
  readonly #around: MessageSchema[] = [];
  #map: ParseError['map'];

  constructor(bytes: Uint8Array, errors: ParseError[]) {
    this.#errors = errors;
    this.#tokens = new Tokenizer(bytes, (position, message) =>
      errors.push({ position, message, token: position, lexical: true, open: [], around: [] }),
    );
    this.#reader = new ScalarReader(this.#tokens, (message, token) => this.#fail(message, token));
  }

  parseFile(schema: MessageSchema, message: Message): void {
    this.#around.push(schema);
    while (this.#tokens.current.type !== 'end') this.#field(schema, message, []);
  }

  #field(schema: MessageSchema, message: Message, path: FieldPath): void {
    if (this.#reader.take('[')) this.#extension(schema);
    const start = this.#tokens.position;
    const name = this.#reader.identifier();
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (field === undefined) this.#fail(`Message type "${schema.name}" has no field named "${name}".`, start);
    const target = { schema, message, name, field: field as Field };
    this.#checkSingle(target, start);
    this.#value(target, [...path, name], start);
    this.#separator();
  }

  /** `[a.b.c]`: no message of ours has extensions. */
  #extension(schema: MessageSchema): never {
    let name = this.#reader.identifier();
    while (this.#reader.take('.')) name += `.${this.#reader.identifier()}`;
    this.#reader.consume(']');
    this.#fail(`Extension "${name}" is not defined or is not an extension of "${schema.name}".`);
  }

  #checkSingle({ schema, message, name, field }: Target, start: Position): void {
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

  #value(target: Target, path: FieldPath, start: Position): void {
    const { name, field } = target;
    const isMessage = field.cardinality === 'map' || typeof field.type === 'function';
    if (isMessage) this.#reader.take(':');
    else this.#reader.consume(':');
    this.positions.set(path, isMessage || field.cardinality === 'repeated' ? start : this.#tokens.position);
    const bracket = this.#tokens.position;
    if (field.cardinality !== 'singular' && this.#reader.take('[')) {
      if (this.#reader.take(']')) return;
      this.#open.push({ field: name, bracket: '[', position: bracket });
      for (;;) {
        this.#element(target, path, this.#tokens.position);
        if (this.#reader.take(']')) break;
        this.#reader.consume(',');
      }
      this.#open.pop();
      return;
    }
    this.#element(target, path, isMessage ? start : this.#tokens.position);
  }

  /** One value of a field: sets it, appends it to the list, or enters it into the map. */
  #element(target: Target, path: FieldPath, start: Position): void {
    const { message, name, field } = target;
    if (field.cardinality === 'map') {
      this.#mapEntry(target, path, start);
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
      : this.#reader.scalar(name, field.type);
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
    const angle = this.#reader.take('<');
    if (!angle) this.#reader.consume('{');
    this.#open.push({ field, bracket: angle ? '<' : '{', position });
    return angle ? '>' : '}';
  }

  #end(closer: '>' | '}'): void {
    this.#reader.consume(closer);
    this.#open.pop();
  }

  /** `{ key: ... value: ... }`: absent parts have their defaults, the last entry of a key wins. */
  #mapEntry({ schema, message, name, field }: Target, path: FieldPath, start: Position): void {
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
      if (this.#reader.take('[')) this.#extension({ kind: 'message', name: entryName, fields: {} });
      const partStart = this.#tokens.position;
      const part = this.#reader.identifier();
      if (part !== 'key' && part !== 'value') {
        this.#fail(`Message type "${entryName}" has no field named "${part}".`, partStart);
      }
      if ((part === 'key' ? key : value) !== undefined) {
        this.#fail(`Non-repeated field "${part}" is specified multiple times.`, partStart);
      }
      if (part === 'key') {
        this.#reader.consume(':');
        key = this.#reader.scalar('key', field.key as ScalarType);
      } else {
        if (typeof field.type === 'function') this.#reader.take(':');
        else this.#reader.consume(':');
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
    const map = message[name] as Map<unknown, unknown>;
    map.delete(key);
    map.set(key, value ?? zeroOf(field.type));
    const entryPath = [...path, key as string | bigint];
    outer.set(entryPath, typeof field.type === 'function' ? start : valueStart);
    outer.addAll(entryPath, inner);
  }

  /** Fields may be followed by one `;` or `,`. */
  #separator(): void {
    if (!this.#reader.take(';')) this.#reader.take(',');
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

/** `cc_model_filenames` -> `CcModelFilenames`: the stem of a map entry's type name. */
function camelCase(name: string): string {
  return name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
