/**
 * Descriptors: message tables as protobuf's own description of message types (google/protobuf/descriptor.proto), which
 * reflection hands to tools that know no .proto file.
 */
import {
  create,
  type EnumSchema,
  type FieldTable,
  type FieldType,
  type MessageOf,
  type MessageSchema,
  message,
  oneof,
  repeatedScalar,
  repeatedSub,
  type ScalarType,
  scalar,
  sub,
} from './schema.js';

const FieldDescriptor = message('google.protobuf.FieldDescriptorProto', {
  name: scalar(1, 'string'),
  number: scalar(3, 'int32'),
  label: scalar(4, 'int32'),
  type: scalar(5, 'int32'),
  type_name: scalar(6, 'string'),
  // proto2: index 0 must be on the wire, which membership of a oneof brings about.
  oneof_index: oneof('presence', scalar(9, 'int32')),
});
const OneofDescriptor = message('google.protobuf.OneofDescriptorProto', { name: scalar(1, 'string') });
const EnumValueDescriptor = message('google.protobuf.EnumValueDescriptorProto', {
  name: scalar(1, 'string'),
  number: oneof('presence', scalar(2, 'int32')),
});
const EnumDescriptor = message('google.protobuf.EnumDescriptorProto', {
  name: scalar(1, 'string'),
  value: repeatedSub(2, () => EnumValueDescriptor),
});
const MessageOptions = message('google.protobuf.MessageOptions', { map_entry: scalar(7, 'bool') });

interface Descriptor {
  name: string;
  field: MessageOf<typeof FieldDescriptor>[];
  nested_type: Descriptor[];
  enum_type: MessageOf<typeof EnumDescriptor>[];
  oneof_decl: MessageOf<typeof OneofDescriptor>[];
  options: MessageOf<typeof MessageOptions> | undefined;
}
const DescriptorTable: MessageSchema = message('google.protobuf.DescriptorProto', {
  name: scalar(1, 'string'),
  field: repeatedSub(2, () => FieldDescriptor),
  nested_type: repeatedSub(3, () => DescriptorTable),
  enum_type: repeatedSub(4, () => EnumDescriptor),
  options: sub(7, () => MessageOptions),
  oneof_decl: repeatedSub(8, () => OneofDescriptor),
});

const MethodDescriptor = message('google.protobuf.MethodDescriptorProto', {
  name: scalar(1, 'string'),
  input_type: scalar(2, 'string'),
  output_type: scalar(3, 'string'),
  client_streaming: scalar(5, 'bool'),
  server_streaming: scalar(6, 'bool'),
});
const ServiceDescriptor = message('google.protobuf.ServiceDescriptorProto', {
  name: scalar(1, 'string'),
  method: repeatedSub(2, () => MethodDescriptor),
});

/** `google.protobuf.FileDescriptorProto`, as far as the tables need it. */
export const FileDescriptor = message('google.protobuf.FileDescriptorProto', {
  name: scalar(1, 'string'),
  package: scalar(2, 'string'),
  dependency: repeatedScalar(3, 'string'),
  message_type: repeatedSub(4, () => DescriptorTable as MessageSchema<Record<string, never>>),
  enum_type: repeatedSub(5, () => EnumDescriptor),
  service: repeatedSub(6, () => ServiceDescriptor),
  syntax: scalar(12, 'string'),
});
export type FileDescriptor = MessageOf<typeof FileDescriptor>;

/** A call of a service. */
export interface RpcSchema {
  readonly request: MessageSchema<FieldTable>;
  readonly response: MessageSchema<FieldTable>;
  /** Both sides send any number of messages. */
  readonly streams: boolean;
}

/** What one file declares. */
export interface FileContents {
  readonly name: string;
  readonly package: string;
  readonly dependencies: readonly string[];
  readonly types: readonly (MessageSchema<FieldTable> | EnumSchema)[];
  /** Calls by name, by service (without the package). */
  readonly services: Readonly<Record<string, Readonly<Record<string, RpcSchema>>>>;
}

/** Every message and enum that some messages are made of, themselves included. */
export function reachableTypes(
  roots: readonly (MessageSchema<FieldTable> | EnumSchema)[],
): Map<string, MessageSchema<FieldTable> | EnumSchema> {
  const found = new Map<string, MessageSchema<FieldTable> | EnumSchema>();
  const waiting = [...roots];
  for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
    if (found.has(type.name)) continue;
    found.set(type.name, type);
    if (type.kind === 'enum') continue;
    for (const field of Object.values(type.fields)) {
      if (typeof field.type === 'function') waiting.push(field.type());
      else if (typeof field.type === 'object') waiting.push(field.type);
    }
  }
  return found;
}

/** Describes a file. A type whose full name continues that of a message is nested in it. */
export function describeFile(contents: FileContents): FileDescriptor {
  const file = create(FileDescriptor);
  file.name = contents.name;
  file.package = contents.package;
  file.dependency = [...contents.dependencies];
  file.syntax = 'proto3';
  const described = new Map<string, Descriptor>();
  const types = [...contents.types].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const type of types) if (type.kind === 'message') described.set(type.name, describeMessage(type));
  for (const type of types) {
    const parent = described.get(type.name.slice(0, type.name.lastIndexOf('.')));
    const descriptor = described.get(type.name);
    if (type.kind === 'enum') (parent ?? file).enum_type.push(describeEnum(type));
    else if (parent !== undefined) parent.nested_type.push(descriptor as Descriptor);
    else (file.message_type as unknown as Descriptor[]).push(descriptor as Descriptor);
  }
  file.service = Object.entries(contents.services).map(([name, calls]) => ({
    name,
    method: Object.entries(calls).map(([call, { request, response, streams }]) => ({
      name: call,
      input_type: `.${request.name}`,
      output_type: `.${response.name}`,
      client_streaming: streams,
      server_streaming: streams,
    })),
  }));
  return file;
}

const Label = { OPTIONAL: 1, REPEATED: 3 } as const;
const MESSAGE_TYPE = 11;
const ENUM_TYPE = 14;
/** Numbers of `FieldDescriptorProto.Type`. */
const SCALAR_TYPES: Readonly<Record<ScalarType, number>> = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
};

function describeMessage(schema: MessageSchema<FieldTable>): Descriptor {
  const descriptor = emptyDescriptor(lastPart(schema.name));
  const groups: string[] = [];
  for (const [name, field] of Object.entries(schema.fields)) {
    const described = describeField(name, field.number, field.type);
    if (field.cardinality === 'map') {
      const entry = mapEntry(name, field.key as ScalarType, field.type);
      descriptor.nested_type.push(entry);
      described.type = MESSAGE_TYPE;
      described.type_name = `.${schema.name}.${entry.name}`;
    }
    if (field.cardinality !== 'singular') described.label = Label.REPEATED;
    if (field.oneof !== undefined) {
      if (!groups.includes(field.oneof)) groups.push(field.oneof);
      described.oneof_index = groups.indexOf(field.oneof);
    }
    descriptor.field.push(described);
  }
  descriptor.oneof_decl = groups.map((name) => ({ name }));
  return descriptor;
}

function describeField(name: string, number: number, type: FieldType): MessageOf<typeof FieldDescriptor> {
  const field = create(FieldDescriptor);
  field.name = name;
  field.number = number;
  field.label = Label.OPTIONAL;
  if (typeof type === 'string') field.type = SCALAR_TYPES[type];
  else {
    field.type = typeof type === 'function' ? MESSAGE_TYPE : ENUM_TYPE;
    field.type_name = `.${typeof type === 'function' ? type().name : type.name}`;
  }
  return field;
}

/** Maps are lists of messages of a nested type, whose name protobuf prescribes. */
function mapEntry(field: string, key: ScalarType, value: FieldType): Descriptor {
  const camel = field.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const entry = emptyDescriptor(`${camel}Entry`);
  entry.field = [describeField('key', 1, key), describeField('value', 2, value)];
  entry.options = { map_entry: true };
  return entry;
}

function describeEnum(schema: EnumSchema): MessageOf<typeof EnumDescriptor> {
  return {
    name: lastPart(schema.name),
    value: Object.entries(schema.values).map(([name, number]) => ({ name, number })),
  };
}

function emptyDescriptor(name: string): Descriptor {
  return { name, field: [], nested_type: [], enum_type: [], oneof_decl: [], options: undefined };
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
