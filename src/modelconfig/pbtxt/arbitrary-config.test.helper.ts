/** Random configurations for property tests. */
import fc from 'fast-check';
import { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Field, FieldType, MessageSchema, ScalarType } from '../../protocol/proto/schema.js';

const SCALARS: Readonly<Record<ScalarType, () => fc.Arbitrary<unknown>>> = {
  bool: () => fc.boolean(),
  int32: () => fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  int64: () => fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint32: () => fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  uint64: () => fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  float: () => fc.float(),
  double: () => fc.double(),
  string: () => fc.string({ unit: 'grapheme', maxLength: 8 }),
  bytes: () => fc.uint8Array({ maxLength: 8 }),
};

function single(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  if (typeof type === 'function') return messages(type(), depth + 1);
  if (typeof type === 'object') return fc.integer({ min: 0, max: 20 });
  return SCALARS[type]();
}

function member(field: Field, depth: number): fc.Arbitrary<unknown> {
  const maxLength = depth > 2 ? 1 : 2;
  if (field.cardinality === 'repeated') return fc.array(single(field.type, depth), { maxLength });
  if (field.cardinality === 'map') {
    const entries = fc.array(fc.tuple(single(field.key as FieldType, depth), single(field.type, depth)), { maxLength });
    return entries.map((list) => new Map(list));
  }
  return field.optional ? fc.option(single(field.type, depth), { nil: undefined }) : single(field.type, depth);
}

function messages(schema: MessageSchema, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(schema.fields);
  return fc
    .record(Object.fromEntries(fields.map(([name, field]) => [name, member(field, depth)])), { noNullPrototype: true })
    .map((record) => dropSecondChoices(record, schema));
}

/** Keeps the first member of each oneof. */
function dropSecondChoices(record: Record<string, unknown>, schema: MessageSchema): Record<string, unknown> {
  const taken = new Set<string>();
  for (const [name, { oneof }] of Object.entries(schema.fields)) {
    if (oneof === undefined || record[name] === undefined) continue;
    if (taken.has(oneof)) record[name] = undefined;
    taken.add(oneof);
  }
  return record;
}

/** Any configuration, sensible or not. */
export const arbitraryConfig = messages(ModelConfig as unknown as MessageSchema, 0) as fc.Arbitrary<ModelConfig>;
