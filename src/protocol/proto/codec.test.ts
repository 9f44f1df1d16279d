import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fromBinary, toBinary } from './codec.js';
import { ModelConfig } from './model-config.js';
import {
  create,
  type FieldTable,
  type FieldType,
  type MessageOf,
  type MessageSchema,
  mapOf,
  mapOfSub,
  message,
  oneof,
  repeatedScalar,
  repeatedSub,
  scalar,
  sub,
} from './schema.js';
import * as service from './service/service.js';

const Inner = message('test.Inner', { n: scalar(1, 'int32'), list: repeatedScalar(2, 'string') });
const All = message('test.All', {
  b: scalar(1, 'bool'),
  i32: scalar(2, 'int32'),
  i64: scalar(3, 'int64'),
  u32: scalar(4, 'uint32'),
  u64: scalar(5, 'uint64'),
  f: scalar(6, 'float'),
  d: scalar(7, 'double'),
  s: scalar(8, 'string'),
  y: scalar(9, 'bytes'),
  packed: repeatedScalar(10, 'int64'),
  floats: repeatedScalar(11, 'float'),
  strings: repeatedScalar(12, 'string'),
  inner: sub(13, () => Inner),
  inners: repeatedSub(14, () => Inner),
  counts: mapOf(15, 'string', 'uint64'),
  byNumber: mapOfSub(16, 'int32', () => Inner),
  left: oneof('side', scalar(17, 'bool')),
  right: oneof(
    'side',
    sub(18, () => Inner),
  ),
});
type All = MessageOf<typeof All>;

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const fromHex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Bytes written by hand after protobuf's encoding rules. */
const VECTORS: readonly (readonly [what: string, changes: Partial<All>, bytes: string])[] = [
  ['nothing', {}, ''],
  ['true', { b: true }, '08 01'],
  ['150', { i32: 150 }, '10 9601'],
  ['a negative int32 in ten bytes', { i32: -2 }, '10 feffffffffffffffff01'],
  ['the least int64', { i64: -(2n ** 63n) }, '18 80808080808080808001'],
  ['the greatest uint32', { u32: 0xffffffff }, '20 ffffffff0f'],
  ['the greatest uint64', { u64: 2n ** 64n - 1n }, '28 ffffffffffffffffff01'],
  ['2^32', { u64: 2n ** 32n }, '28 8080808010'],
  ['a float', { f: 1.5 }, '35 0000c03f'],
  ['minus zero, which is not the default', { d: -0 }, '39 0000000000000080'],
  ['text', { s: 'testing' }, '42 07 74657374696e67'],
  ['text beyond ASCII', { s: 'é' }, '42 02 c3a9'],
  ['bytes', { y: Uint8Array.of(0, 255) }, '4a 02 00ff'],
  ['a packed list', { packed: [3n, 270n, 86942n] }, '52 06 03 8e02 9ea705'],
  ['a list of text', { strings: ['a', ''] }, '62 01 61 62 00'],
  ['an empty message', { inner: { n: 0, list: [] } }, '6a 00'],
  ['a nested message', { inner: { n: 1, list: ['x'] } }, '6a 05 08 01 12 01 78'],
  ['a map', { counts: new Map([['k', 2n]]) }, '7a 05 0a 01 6b 10 02'],
  ['a map to messages', { byNumber: new Map([[-1, { n: 0, list: [] }]]) }, '8201 0d 08 ffffffffffffffffff01 12 00'],
  ['a false member of a oneof', { left: false }, '8801 00'],
];

describe('toBinary and fromBinary', () => {
  for (const [what, changes, bytes] of VECTORS) {
    test(`write and read ${what}`, () => {
      const value = { ...create(All), ...changes };
      assert.equal(hex(toBinary(All, value)), bytes.replaceAll(' ', ''));
      const read = fromBinary(All, fromHex(bytes));
      assert.deepEqual({ ...read, y: new Uint8Array(read.y) }, value);
    });
  }

  test('read lists of numbers unpacked and in several packed parts', () => {
    assert.deepEqual(fromBinary(All, fromHex('50 01 52 02 02 03 50 04 5d 0000803f')).packed, [1n, 2n, 3n, 4n]);
    assert.deepEqual(fromBinary(All, fromHex('5d 0000803f 5a 04 00000040')).floats, [1, 2]);
  });

  test('pass over unknown fields, groups and known fields of another wire type', () => {
    const unknown = 'a00601 a10600 00000000000000 a206 02 ffff a306 08 05 a306 a406 a406 a506 00000000';
    assert.equal(fromBinary(All, fromHex(`${unknown} 0801 12 01 00 0a 00`)).b, true);
  });

  test('merge a message that comes twice, and let the last member of a oneof win', () => {
    assert.deepEqual(fromBinary(All, fromHex('6a 02 08 01 6a 03 12 01 78')).inner, { n: 1, list: ['x'] });
    const { left, right } = fromBinary(All, fromHex('8801 01 9201 00'));
    assert.deepEqual([left, right], [undefined, { n: 0, list: [] }]);
  });

  test('give a map entry without key or value their defaults', () => {
    assert.deepEqual(fromBinary(All, fromHex('7a 00')).counts, new Map([['', 0n]]));
  });

  for (const [what, bytes] of [
    ['a cut tag', '80'],
    ['a cut varint', '10 96'],
    ['a varint of eleven bytes', '10 ffffffffffffffffffff01'],
    ['a cut fixed32', '35 0000'],
    ['a cut fixed64', '39 00000000'],
    ['text longer than the message', '42 05 6161'],
    ['a length beyond 32 bits', '42 ffffffffff01'],
    ['text that is no UTF-8', '42 01 ff'],
    ['long text that is no UTF-8', `42 28 ${'61'.repeat(39)}ff`],
    ['a nested message that is cut', '6a 03 08 01 12'],
    ['a nested message with a field beyond its end', '6a 02 12 05 0801010101'],
    ['field number 0', '00 01'],
    ['a group without end', 'a306 08 05'],
    ['an end of another group', 'a306 ac06'],
    ['a stray end of group', 'a406'],
    ['wire type 6', 'a606'],
    ['a packed list with a cut element', '52 02 03 8e'],
    ['groups nested without bound', 'a306'.repeat(200)],
  ] as const) {
    test(`refuse ${what}`, () => {
      assert.throws(() => fromBinary(All, fromHex(bytes)), { code: 'INTERNAL', message: 'Unable to parse request' });
      assert.throws(() => fromBinary(All, fromHex(bytes), 'response'), { message: 'Unable to parse response' });
    });
  }

  test('bytes are views on the input', () => {
    const input = fromHex('4a 02 00ff');
    assert.equal(fromBinary(All, input).y.buffer, input.buffer);
  });

  test('any bytes are read or refused, never anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          fromBinary(All, bytes);
        } catch (error) {
          assert.equal((error as Error).message, 'Unable to parse request');
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('every message of the service', () => {
  const schemas = Object.entries({ ...service, ModelConfig }).filter(
    (entry): entry is [string, MessageSchema<FieldTable>] => (entry[1] as { kind?: string }).kind === 'message',
  );
  for (const [name, schema] of schemas) {
    test(`${name} comes back as it was`, () => {
      fc.assert(
        fc.property(messageOf(schema, 2), (value) => {
          const read = fromBinary(schema, toBinary(schema, value as never));
          assert.deepEqual(normal(read), normal(value));
        }),
        { numRuns: 20 },
      );
    });
  }
});

/** Views of all kinds compare as one. */
function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(normal);
  if (value instanceof Map) return new Map([...value].map(([key, member]) => [key, normal(member)]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, normal(member)]));
}

function messageOf(schema: MessageSchema<FieldTable>, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const entries = Object.entries(schema.fields);
  const record = fc.record(
    Object.fromEntries(
      entries.map(([name, field]) => {
        const value = arbitraryOf(field.type, depth - 1);
        if (field.cardinality === 'repeated')
          return [name, depth > 0 ? fc.array(value, { maxLength: 3 }) : fc.constant([])];
        if (field.cardinality === 'map') {
          const pairs = fc.array(fc.tuple(arbitraryOf(field.key!, 0), value), { maxLength: depth > 0 ? 3 : 0 });
          return [name, pairs.map((list) => new Map(list))];
        }
        if (!field.optional) return [name, value];
        return [name, depth > 0 ? fc.option(value, { nil: undefined }) : fc.constant(undefined)];
      }),
    ),
  );
  // Of a oneof at most one member may be set.
  return record.map((value) => {
    const seen = new Set<string>();
    for (const [name, { oneof: group }] of entries) {
      if (group === undefined || value[name] === undefined) continue;
      if (seen.has(group)) value[name] = undefined;
      seen.add(group);
    }
    return value;
  });
}

function arbitraryOf(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  if (typeof type === 'function') return messageOf(type(), depth);
  if (typeof type === 'object') return fc.integer();
  switch (type) {
    case 'bool':
      return fc.boolean();
    case 'int32':
      return fc.integer();
    case 'uint32':
      return fc.nat(0xffffffff);
    case 'int64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'uint64':
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case 'float':
      return fc.float();
    case 'double':
      return fc.double();
    case 'string':
      return fc.string({ unit: 'grapheme', maxLength: 50 });
    case 'bytes':
      return fc.uint8Array({ maxLength: 200 });
  }
}
