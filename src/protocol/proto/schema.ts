/**
 * Protobuf messages described as tables: one description serves the binary codec, the text format, the JSON form and
 * the TypeScript types. Members are declared in the order in which JSON shows them; numbers are those of the wire.
 *
 * A message is a plain object: scalars, lists and maps are always present (with proto3's defaults), singular messages
 * and members of a oneof are `undefined` when unset. 64-bit integers are bigint, enums are numbers (open enums: any
 * int32 may occur), maps are `Map`s, bytes are `Uint8Array`s.
 */

/** Scalar types of protobuf that occur in the protocol. */
export type ScalarType = 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'float' | 'double' | 'string' | 'bytes';

interface ScalarValues {
  bool: boolean;
  int32: number;
  int64: bigint;
  uint32: number;
  uint64: bigint;
  float: number;
  double: number;
  string: string;
  bytes: Uint8Array;
}

/** An enum: its full name and its values by name. `V` carries the names: a misspelt one does not compile. */
export interface EnumSchema<V extends EnumValues = EnumValues> {
  readonly kind: 'enum';
  readonly name: string;
  readonly values: V;
}

type EnumValues = Readonly<Record<string, number>>;

/** The names of an enum's values: `EnumName<typeof DataType>`. */
export type EnumName<S> = S extends EnumSchema<infer V> ? keyof V & string : never;

/** How a field's single value is encoded. */
export type FieldType = ScalarType | EnumSchema | (() => MessageSchema<FieldTable>);

/** One field of a message. `T` is the TypeScript type of the member. */
export interface Field<T = unknown> {
  readonly number: number;
  readonly type: FieldType;
  readonly cardinality: 'singular' | 'repeated' | 'map';
  /** Key type of a map. */
  readonly key?: ScalarType;
  /** Name of the oneof that the field belongs to. */
  readonly oneof?: string;
  /** Marks presence tracking: messages and members of a oneof may be undefined. */
  readonly optional: boolean;
  /** Carries the type only; never set. */
  readonly _type?: T;
}

/** Fields by name, in declaration order. */
export type FieldTable = Readonly<Record<string, Field>>;

/** A message: its full protobuf name and its fields. */
export interface MessageSchema<F extends FieldTable = FieldTable> {
  readonly kind: 'message';
  readonly name: string;
  readonly fields: F;
}

type FieldValue<F> = F extends Field<infer T> ? T : never;

/** The object type of a message schema: `type ModelInput = MessageOf<typeof ModelInput>`. */
export type MessageOf<S> = S extends MessageSchema<infer F> ? { -readonly [K in keyof F]: FieldValue<F[K]> } : never;

/** Declares a message. */
export function message<const F extends FieldTable>(name: string, fields: F): MessageSchema<F> {
  return { kind: 'message', name, fields };
}

/** Declares an enum. */
export function enumeration<const V extends EnumValues>(name: string, values: V): EnumSchema<V> {
  return { kind: 'enum', name, values };
}

/** Name of an enum's value; undefined for a number that the enum does not have. */
export function enumName<V extends EnumValues>(type: EnumSchema<V>, value: number): (keyof V & string) | undefined {
  return Object.keys(type.values).find((name) => type.values[name] === value);
}

/** A scalar or enum field. */
export function scalar<S extends ScalarType>(number: number, type: S): Field<ScalarValues[S]> {
  return { number, type, cardinality: 'singular', optional: false };
}

/** An enum field. */
export function enumField(number: number, type: EnumSchema): Field<number> {
  return { number, type, cardinality: 'singular', optional: false };
}

/** A list of scalars (packed on the wire where protobuf packs). */
export function repeatedScalar<S extends ScalarType>(number: number, type: S): Field<ScalarValues[S][]> {
  return { number, type, cardinality: 'repeated', optional: false };
}

/** A singular message field. */
export function sub<F extends FieldTable>(
  number: number,
  type: () => MessageSchema<F>,
): Field<MessageOf<MessageSchema<F>> | undefined> {
  return { number, type: type as unknown as FieldType, cardinality: 'singular', optional: true };
}

/** A list of messages. */
export function repeatedSub<F extends FieldTable>(
  number: number,
  type: () => MessageSchema<F>,
): Field<MessageOf<MessageSchema<F>>[]> {
  return { number, type: type as unknown as FieldType, cardinality: 'repeated', optional: false };
}

/** A map from a scalar to scalars. */
export function mapOf<K extends ScalarType, V extends ScalarType>(
  number: number,
  key: K,
  value: V,
): Field<Map<ScalarValues[K], ScalarValues[V]>> {
  return { number, type: value, cardinality: 'map', key, optional: false };
}

/** A map from a scalar to messages. */
export function mapOfSub<K extends ScalarType, F extends FieldTable>(
  number: number,
  key: K,
  value: () => MessageSchema<F>,
): Field<Map<ScalarValues[K], MessageOf<MessageSchema<F>>>> {
  return { number, type: value as unknown as FieldType, cardinality: 'map', key, optional: false };
}

/** Puts a field into a oneof: at most one member of the group is set, the others are undefined. */
export function oneof<T>(group: string, field: Field<T>): Field<T | undefined> {
  return { ...field, oneof: group, optional: true } as Field<T | undefined>;
}

/** A new message with every member at its default. */
export function create<F extends FieldTable>(schema: MessageSchema<F>): MessageOf<MessageSchema<F>> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) result[name] = defaultOf(field);
  return result as MessageOf<MessageSchema<F>>;
}

/** The value of an unset field. */
function defaultOf(field: Field): unknown {
  if (field.cardinality === 'repeated') return [];
  if (field.cardinality === 'map') return new Map();
  if (field.optional) return undefined;
  return zeroOf(field.type);
}

/** The zero value of a type, as elements of maps and lists have it. */
export function zeroOf(type: FieldType): unknown {
  if (typeof type === 'function') return create(type());
  if (typeof type === 'object') return 0;
  switch (type) {
    case 'bool':
      return false;
    case 'string':
      return '';
    case 'bytes':
      return new Uint8Array(0);
    case 'int64':
    case 'uint64':
      return 0n;
    default:
      return 0;
  }
}
