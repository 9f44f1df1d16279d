import { ModelConfig } from '../../protocol/proto/model-config.js';
import {
  type EnumSchema,
  type Field,
  type FieldTable,
  type MessageSchema,
  zeroOf,
} from '../../protocol/proto/schema.js';
import { escapeString } from './string-literal.js';

type Message = Readonly<Record<string, unknown>>;

/** Fields of a message in ascending order of their numbers, by message. */
const ORDERED = new WeakMap<FieldTable, readonly (readonly [name: string, field: Field])[]>();

/** A configuration as the text of a config.pbtxt, in protobuf's own form. */
export function writePbtxt(config: ModelConfig): string {
  return writeText(config, ModelConfig);
}

/**
 * A message in protobuf's text format: fields by ascending number, two blanks of indent, one value per line, what is
 * unset or zero left out. Map entries come by ascending key.
 */
export function writeText<F extends FieldTable>(message: object, schema: MessageSchema<F>): string {
  const lines: string[] = [];
  writeFields(message as Message, schema as MessageSchema, '', lines);
  return lines.map((line) => `${line}\n`).join('');
}

function writeFields(message: Message, schema: MessageSchema, indent: string, lines: string[]): void {
  for (const [name, field] of byNumber(schema.fields)) {
    const value = message[name];
    if (field.cardinality === 'repeated') {
      for (const item of value as unknown[]) writeValue(name, item, field.type, indent, lines);
    } else if (field.cardinality === 'map') {
      writeMap(name, value as ReadonlyMap<string | bigint | number | boolean, unknown>, field, indent, lines);
    } else if (field.optional ? value !== undefined : !isZero(value, field)) {
      writeValue(name, value, field.type, indent, lines);
    }
  }
}

function writeMap(
  name: string,
  map: ReadonlyMap<string | bigint | number | boolean, unknown>,
  field: Field,
  indent: string,
  lines: string[],
): void {
  const entries = [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (const [key, value] of entries) {
    lines.push(`${indent}${name} {`);
    writeValue('key', key, field.key as Field['type'], `${indent}  `, lines);
    writeValue('value', value, field.type, `${indent}  `, lines);
    lines.push(`${indent}}`);
  }
}

function writeValue(name: string, value: unknown, type: Field['type'], indent: string, lines: string[]): void {
  if (typeof type === 'function') {
    lines.push(`${indent}${name} {`);
    writeFields(value as Message, type(), `${indent}  `, lines);
    lines.push(`${indent}}`);
  } else {
    lines.push(`${indent}${name}: ${scalarText(value, type)}`);
  }
}

function scalarText(value: unknown, type: Exclude<Field['type'], () => unknown>): string {
  if (typeof type === 'object') return enumName(type, value as number);
  if (typeof value === 'string' || value instanceof Uint8Array) return escapeString(value);
  if (typeof value === 'number' && (type === 'float' || type === 'double')) return floatText(value, type);
  return String(value);
}

function enumName(type: EnumSchema, value: number): string {
  return Object.keys(type.values).find((name) => type.values[name] === value) ?? String(value);
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
