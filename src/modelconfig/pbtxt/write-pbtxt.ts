import type { FieldPath } from '../../contract/finding.js';
import { ModelConfig } from '../../protocol/proto/model-config.js';
import { enumName, type Field, type FieldTable, type MessageSchema, zeroOf } from '../../protocol/proto/schema.js';
import { escapeString } from './string-literal.js';

type Message = Readonly<Record<string, unknown>>;
type MapValue = ReadonlyMap<string | bigint | number | boolean, unknown>;

/** Fields of a message in ascending order of their numbers, by message. */
const ORDERED = new WeakMap<FieldTable, readonly (readonly [name: string, field: Field])[]>();

/** A remark on a field, or on a list as a whole; undefined for none. */
export type Remark = (path: FieldPath) => string | undefined;

/**
 * A configuration as the text of a config.pbtxt, in protobuf's own form. Remarks stand as comments behind the first line
 * of what they are about.
 */
export function writePbtxt(config: ModelConfig, remark?: Remark): string {
  const writer = new TextWriter(remark);
  writer.fields(config as Message, ModelConfig as MessageSchema, []);
  return writer.text;
}

/**
 * Writes messages in protobuf's text format: fields by ascending number, two blanks of indent, one value per line, what is
 * unset or zero left out. Map entries come by ascending key.
 */
class TextWriter {
  readonly #lines: string[] = [];
  readonly #remark: Remark | undefined;
  #indent = '';

  constructor(remark?: Remark) {
    this.#remark = remark;
  }

  /** All that was written. */
  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }

  fields(message: Message, schema: MessageSchema, path: FieldPath): void {
    for (const [name, field] of byNumber(schema.fields)) {
      const value = message[name];
      const here = [...path, name];
      if (field.cardinality === 'repeated') {
        for (const [i, item] of (value as unknown[]).entries()) this.#value(name, item, field.type, [...here, i]);
      } else if (field.cardinality === 'map') {
        this.#map(name, value as MapValue, field, here);
      } else if (field.optional ? value !== undefined : !isZero(value, field)) {
        this.#value(name, value, field.type, here);
      }
    }
  }

  #map(name: string, map: MapValue, field: Field, path: FieldPath): void {
    const entries = [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [key, value] of entries) {
      const here = [...path, String(key)];
      this.#nest(name, here, () => {
        this.#value('key', key, field.key as Field['type'], [...here, 'key']);
        this.#value('value', value, field.type, [...here, 'value']);
      });
    }
  }

  #value(name: string, value: unknown, type: Field['type'], path: FieldPath): void {
    if (typeof type === 'function') this.#nest(name, path, () => this.fields(value as Message, type(), path));
    else this.#line(`${name}: ${scalarText(value, type)}`, path);
  }

  #nest(name: string, path: FieldPath, writeContent: () => void): void {
    const outside = this.#indent;
    this.#line(`${name} {`, path);
    this.#indent += '  ';
    writeContent();
    this.#indent = outside;
    this.#line('}');
  }

  /** `path`: the value that begins on the line. */
  #line(content: string, path?: FieldPath): void {
    const remark = path === undefined ? undefined : this.#remark?.(path);
    this.#lines.push(`${this.#indent}${content}${remark === undefined ? '' : `  # ${remark}`}`);
  }
}

function scalarText(value: unknown, type: Exclude<Field['type'], () => unknown>): string {
  if (typeof type === 'object') return enumName(type, value as number) ?? String(value);
  if (typeof value === 'string' || value instanceof Uint8Array) return escapeString(value);
  if (typeof value === 'number' && (type === 'float' || type === 'double')) return floatText(value, type);
  return String(value);
}

/** The shortest decimal text that reads back as the same float or double. */
export function floatText(value: number, type: 'float' | 'double'): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0';
  if (type === 'double') return String(value);
  for (let digits = 6; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}

function isZero(value: unknown, field: Field): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return Object.is(value, zeroOf(field.type));
}

function byNumber(fields: FieldTable): readonly (readonly [string, Field])[] {
  let ordered = ORDERED.get(fields);
  if (ordered === undefined) {
    ordered = Object.entries(fields).sort(([, a], [, b]) => a.number - b.number);
    ORDERED.set(fields, ordered);
  }
  return ordered;
}
