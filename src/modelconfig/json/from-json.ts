/** Reading a message from protobuf's JSON form: camelCase or proto names, integers as numbers or strings. */
import { invalidArg } from '../../base/error.js';
import {
  create,
  type EnumSchema,
  type Field,
  type FieldTable,
  type MessageOf,
  type MessageSchema,
  type ScalarType,
} from '../../protocol/proto/schema.js';
import { JsonNumber, type JsonValue, parseJsonValue } from './json-value.js';

const RANGES: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

type Message = Record<string, unknown>;

/** Reads a message. Throws INVALID_ARG with the message of protobuf's reader for the first fault. */
export function messageFromJson<F extends FieldTable>(
  text: string,
  schema: MessageSchema<F>,
): MessageOf<MessageSchema<F>> {
  const value = parseJsonValue(text);
  if (!(value instanceof Map)) throw invalidArg(': Root element must be a message.');
  return readMessage(value, schema as MessageSchema, '') as MessageOf<MessageSchema<F>>;
}

function readMessage(members: ReadonlyMap<string, JsonValue>, schema: MessageSchema, path: string): Message {
  const message = create(schema) as Message;
  for (const [key, value] of members) {
    const name = Object.hasOwn(schema.fields, key) ? key : snakeCase(key);
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (field === undefined) throw badName(path, key, 'Cannot find field.');
    if (value === null) continue;
    checkOneof(schema, message, name, path);
    message[name] = readField(value, field as Field, path, key);
  }
  return message;
}

function checkOneof(schema: MessageSchema, message: Message, name: string, path: string): void {
  const oneof = schema.fields[name]?.oneof;
  if (oneof === undefined) return;
  const taken = Object.entries(schema.fields).some(
    ([other, candidate]) => other !== name && candidate.oneof === oneof && message[other] !== undefined,
  );
  if (taken) {
    throw badValue(path, 'oneof', `oneof field '${oneof}' is already set. Cannot set '${name}'`);
  }
}

/** Where a value stands. */
interface Location {
  /** Path of the message that has it; '' for the outermost. */
  readonly path: string;
  /** Its member's name there, as the JSON has it. */
  readonly key: string;
  /** Path of the value itself. */
  readonly own: string;
}

function readField(value: JsonValue, field: Field, path: string, key: string): unknown {
  const own = path === '' ? key : `${path}.${key}`;
  if (field.cardinality === 'map') {
    if (!(value instanceof Map)) throw badName(path, key, 'Expected a map.');
    return new Map(
      [...value].map(([text, item]) => {
        const mapKey = readScalar(text, field.key as ScalarType, own);
        return [mapKey, readSingle(item, field, { path, key, own: `${own}["${text}"]` })];
      }),
    );
  }
  if (field.cardinality === 'repeated') {
    // A bare value stands for a list of one, as protobuf's reader allows.
    const items = Array.isArray(value) ? value : [value];
    return items.map((item, i) => readSingle(item, field, { path, key, own: `${own}[${i}]` }));
  }
  if (Array.isArray(value)) throw badName(path, key, 'Proto field is not repeating, cannot start list.');
  return readSingle(value, field, { path, key, own });
}

function readSingle(value: JsonValue, field: Field, { path, key, own }: Location): unknown {
  if (typeof field.type === 'function') {
    if (value instanceof Map) return readMessage(value, field.type(), own);
    throw badValue(own, `type.googleapis.com/${field.type().name}`, show(value));
  }
  if (value instanceof Map) throw badName(path, key, 'Proto field is not a message, cannot start object.');
  if (typeof field.type === 'object') return readEnum(value, field.type, own);
  return readScalar(value, field.type, own);
}

function readEnum(value: JsonValue, type: EnumSchema, path: string): number {
  if (typeof value === 'string' && Object.hasOwn(type.values, value)) return type.values[value] as number;
  const number = integerOf(value);
  const [least, most] = RANGES['int32'] as readonly [bigint, bigint];
  if (number === undefined || number < least || number > most) {
    throw badValue(path, `type.googleapis.com/${type.name}`, show(value));
  }
  return Number(number);
}

function readScalar(value: JsonValue, type: ScalarType, path: string): unknown {
  const bad = () => badValue(path, `TYPE_${type.toUpperCase()}`, show(value));
  switch (type) {
    case 'string':
      if (typeof value === 'string') return value;
      throw bad();
    case 'bytes':
      if (typeof value === 'string') return new Uint8Array(Buffer.from(value, 'base64'));
      throw bad();
    case 'bool':
      if (typeof value === 'boolean') return value;
      if (value === 'true' || value === 'false') return value === 'true';
      throw bad();
    case 'float':
    case 'double': {
      const number = doubleOf(value);
      if (number === undefined) throw bad();
      return type === 'float' ? Math.fround(number) : number;
    }
    default: {
      const number = integerOf(value);
      const [least, most] = RANGES[type] as readonly [bigint, bigint];
      if (number === undefined || number < least || number > most) throw bad();
      return type === 'int64' || type === 'uint64' ? number : Number(number);
    }
  }
}

/** An integer given as a number or as a string; 8.0 and 1e3 are integers. */
function integerOf(value: JsonValue): bigint | undefined {
  const text = value instanceof JsonNumber ? value.text : typeof value === 'string' ? value : '';
  if (/^-?[0-9]+$/.test(text)) return BigInt(text);
  if (!/^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? BigInt(number) : undefined;
}

function doubleOf(value: JsonValue): number | undefined {
  if (value instanceof JsonNumber) return Number(value.text);
  if (value === 'NaN') return Number.NaN;
  if (value === 'Infinity') return Number.POSITIVE_INFINITY;
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY;
  if (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value))) return Number(value);
  return undefined;
}

function show(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.text;
  if (value instanceof Map) return '{...}';
  return Array.isArray(value) ? '[...]' : JSON.stringify(value);
}

function badName(path: string, name: string, message: string): Error {
  return invalidArg(`${path === '' ? '' : `(${path}) `}${name}: ${message}`);
}

function badValue(path: string, type: string, value: string): Error {
  return invalidArg(`${path === '' ? '' : `(${path})`}: invalid value ${value} for type ${type}`);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
