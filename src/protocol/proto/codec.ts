/**
 * The generic binary codec: any message of the tables to bytes and back. Each schema is compiled once into closures.
 * Unknown fields are passed over, lists of numbers are read packed and unpacked and written packed, a repeated singular
 * message is merged, the last member of a oneof wins.
 */
import { ProtoReader, WireType } from './reader.js';
import { SCALARS, type ValueCodec } from './scalar-codecs.js';
import {
  create,
  type EnumSchema,
  type Field,
  type FieldTable,
  type FieldType,
  type MessageOf,
  type MessageSchema,
  zeroOf,
} from './schema.js';
import { ProtoWriter } from './writer.js';

type Message = Record<string, unknown>;

interface FieldCodec {
  read(reader: ProtoReader, wire: number, message: Message): boolean;
  write(writer: ProtoWriter, message: Message): void;
}

interface MessageCodec {
  readInto(reader: ProtoReader, end: number, message: Message): void;
  write(writer: ProtoWriter, message: Message): void;
}

const compiled = new WeakMap<MessageSchema<FieldTable>, MessageCodec>();

/** Encodes a message. */
export function toBinary<F extends FieldTable>(
  schema: MessageSchema<F>,
  message: MessageOf<MessageSchema<F>>,
): Uint8Array {
  const writer = new ProtoWriter();
  codecOf(schema).write(writer, message as Message);
  return writer.cut();
}

/**
 * Decodes a message; bytes members are views on `bytes`. Malformed input throws INTERNAL `Unable to parse <what>`.
 */
export function fromBinary<F extends FieldTable>(
  schema: MessageSchema<F>,
  bytes: Uint8Array,
  what: 'request' | 'response' = 'request',
): MessageOf<MessageSchema<F>> {
  const message = create(schema);
  codecOf(schema).readInto(new ProtoReader(bytes, what), bytes.length, message as Message);
  return message;
}

function codecOf(schema: MessageSchema<FieldTable>): MessageCodec {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const codec = compileMessage(schema);
  compiled.set(schema, codec);
  return codec;
}

function compileMessage(schema: MessageSchema<FieldTable>): MessageCodec {
  const byNumber = new Map<number, FieldCodec>();
  for (const [name, field] of Object.entries(schema.fields)) {
    byNumber.set(field.number, compileField(name, field, schema));
  }
  const inOrder = [...byNumber.entries()].sort(([a], [b]) => a - b).map(([, codec]) => codec);
  return {
    readInto(reader, end, message) {
      const outer = reader.end;
      reader.end = end;
      while (reader.pos < end) {
        const tag = reader.tag();
        const field = byNumber.get(tag >>> 3);
        if (field === undefined || !field.read(reader, tag & 7, message)) reader.skip(tag);
      }
      reader.end = outer;
    },
    write(writer, message) {
      for (const field of inOrder) field.write(writer, message);
    },
  };
}

function compileField(name: string, field: Field, schema: MessageSchema<FieldTable>): FieldCodec {
  switch (field.cardinality) {
    case 'singular':
      return singularField(name, field, schema);
    case 'repeated':
      return repeatedField(name, field);
    case 'map':
      return mapField(name, field);
  }
}

function singularField(name: string, field: Field, schema: MessageSchema<FieldTable>): FieldCodec {
  const codec = valueCodec(field.type);
  const tag = (field.number << 3) | codec.wire;
  const rivals = Object.entries(schema.fields)
    .filter(([other, { oneof }]) => oneof !== undefined && oneof === field.oneof && other !== name)
    .map(([other]) => other);
  return {
    read(reader, wire, message) {
      if (wire !== codec.wire) return false;
      message[name] = codec.read(reader, message[name]);
      for (const rival of rivals) message[rival] = undefined;
      return true;
    },
    write(writer, message) {
      const value = message[name];
      if (field.optional ? value === undefined : codec.isDefault(value)) return;
      writer.uint32(tag);
      codec.write(writer, value);
    },
  };
}

function repeatedField(name: string, field: Field): FieldCodec {
  const codec = valueCodec(field.type);
  const tag = (field.number << 3) | (codec.packable ? WireType.DELIMITED : codec.wire);
  return {
    read(reader, wire, message) {
      const list = message[name] as unknown[];
      if (wire === codec.wire) {
        reader.countElement();
        list.push(codec.read(reader));
      } else if (codec.packable && wire === WireType.DELIMITED) {
        const outer = reader.end;
        const end = reader.length() + reader.pos;
        reader.end = end;
        while (reader.pos < end) {
          reader.countElement();
          list.push(codec.read(reader));
        }
        reader.end = outer;
      } else return false;
      return true;
    },
    write(writer, message) {
      const list = message[name] as readonly unknown[];
      if (list.length === 0) return;
      if (!codec.packable) {
        for (const value of list) {
          writer.uint32(tag);
          codec.write(writer, value);
        }
        return;
      }
      writer.uint32(tag);
      const start = writer.fork();
      for (const value of list) codec.write(writer, value);
      writer.join(start);
    },
  };
}

function mapField(name: string, field: Field): FieldCodec {
  const key = valueCodec(field.key ?? 'string');
  const value = valueCodec(field.type);
  const tag = (field.number << 3) | WireType.DELIMITED;
  const keyTag = (1 << 3) | key.wire;
  const valueTag = (2 << 3) | value.wire;
  return {
    read(reader, wire, message) {
      if (wire !== WireType.DELIMITED) return false;
      const outer = reader.end;
      const end = reader.length() + reader.pos;
      reader.end = end;
      reader.countElement();
      let k = zeroOf(field.key ?? 'string');
      let v = zeroOf(field.type);
      while (reader.pos < end) {
        const entryTag = reader.tag();
        if (entryTag === keyTag) k = key.read(reader);
        else if (entryTag === valueTag) v = value.read(reader, v);
        else reader.skip(entryTag);
      }
      reader.end = outer;
      (message[name] as Map<unknown, unknown>).set(k, v);
      return true;
    },
    write(writer, message) {
      for (const [k, v] of message[name] as ReadonlyMap<unknown, unknown>) {
        writer.uint32(tag);
        const start = writer.fork();
        writer.uint32(keyTag);
        key.write(writer, k);
        writer.uint32(valueTag);
        value.write(writer, v);
        writer.join(start);
      }
    },
  };
}

function valueCodec(type: FieldType): ValueCodec {
  if (typeof type === 'function') return messageCodec(type);
  if (typeof type === 'object') return enumCodec(type);
  return SCALARS[type];
}

function messageCodec(schema: () => MessageSchema<FieldTable>): ValueCodec {
  // Compiled at first use: messages may contain themselves.
  let codec: MessageCodec | undefined;
  return {
    wire: WireType.DELIMITED,
    packable: false,
    read(reader, into) {
      codec ??= codecOf(schema());
      const message = (into ?? create(schema())) as Message;
      const length = reader.length();
      codec.readInto(reader, reader.pos + length, message);
      return message;
    },
    write(writer, value) {
      codec ??= codecOf(schema());
      const start = writer.fork();
      codec.write(writer, value as Message);
      writer.join(start);
    },
    isDefault: (value) => value === undefined,
  };
}

function enumCodec(_type: EnumSchema): ValueCodec {
  return SCALARS.int32;
}
