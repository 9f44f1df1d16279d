import type { FieldPath } from '../../contract/finding.js';
import { ModelConfig } from '../../protocol/proto/model-config.js';
import { enumName, type Field, type FieldTable, type MessageSchema, zeroOf } from '../../protocol/proto/schema.js';
import { escapeString } from './string-literal.js';

type Message = Readonly<Record<string, unknown>>;

/** Fields of a message in ascending order of their numbers, by message. */
const ORDERED = new WeakMap<FieldTable, readonly (readonly [name: string, field: Field])[]>();

/** A remark on a field, or on a list as a whole; undefined for none. */
export type Remark = (path: FieldPath) => string | undefined;

/**
 * A configuration as the text of a config.pbtxt, in protobuf's own form. Remarks stand as comments behind the first line
 * of what they are about.
 */
export function writePbtxt(config: ModelConfig, remark?: Remark): string {
  return writeText(config, ModelConfig, remark);
}

/**
 * A message in protobuf's text format: fields by ascending number, two blanks of indent, one value per line, what is
 * unset or zero left out. Map entries come by ascending key.
 */
function writeText<F extends FieldTable>(message: object, schema: MessageSchema<F>, remark?: Remark): string {
  const lines: string[] = [];
  const add: AddLine = (path, line) => {
    const text = path === undefined ? undefined : remark?.(path);
    lines.push(text === undefined ? line : `${line}  # ${text}`);
  };
  writeFields(message as Message, schema as MessageSchema, '', [], add);
  return lines.map((line) => `${line}\n`).join('');
}

/** Adds a line; `path` = the value that begins on it. */
type AddLine = (path: FieldPath | undefined, line: string) => void;

function writeFields(message: Message, schema: MessageSchema, indent: string, path: FieldPath, add: AddLine): void {
  for (const [name, field] of byNumber(schema.fields)) {
    const value = message[name];
    const here = [...path, name];
    if (field.cardinality === 'repeated') {
      for (const [i, item] of (value as unknown[]).entries())
        writeValue(name, item, field.type, indent, [...here, i], add);
    } else if (field.cardinality === 'map') {
      writeMap(name, value as ReadonlyMap<string | bigint | number | boolean, unknown>, field, indent, here, add);
    } else if (field.optional ? value !== undefined : !isZero(value, field)) {
      writeValue(name, value, field.type, indent, here, add);
    }
  }
}

function writeMap(
  name: string,
  map: ReadonlyMap<string | bigint | number | boolean, unknown>,
  field: Field,
  indent: string,
  path: FieldPath,
  add: AddLine,
): void {
  const entries = [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (const [key, value] of entries) {
    const here = [...path, String(key)];
    add(here, `${indent}${name} {`);
    writeValue('key', key, field.key as Field['type'], `${indent}  `, [...here, 'key'], add);
    writeValue('value', value, field.type, `${indent}  `, [...here, 'value'], add);
    add(undefined, `${indent}}`);
  }
}

function writeValue(
  name: string,
  value: unknown,
  type: Field['type'],
  indent: string,
  path: FieldPath,
  add: AddLine,
): void {
  if (typeof type === 'function') {
    add(path, `${indent}${name} {`);
    writeFields(value as Message, type(), `${indent}  `, path, add);
    add(undefined, `${indent}}`);
  } else {
    add(path, `${indent}${name}: ${scalarText(value, type)}`);
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
