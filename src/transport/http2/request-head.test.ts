import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HeaderField } from './hpack/static-table.js';
import { requestHead, validTrailers } from './request-head.js';

const GOOD: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/a'],
];
const without = (name: string): HeaderField[] => GOOD.filter(([each]) => each !== name);

describe('requestHead', () => {
  test('a head as clients send it', () => {
    assert.deepEqual(
      requestHead([...GOOD, [':authority', 'x'], ['te', 'trailers'], ['content-length', '12'], ['a', ' b ']]),
      {
        method: 'POST',
        path: '/a',
        scheme: 'http',
        authority: 'x',
        contentLength: 12,
        fields: [
          ['te', 'trailers'],
          ['content-length', '12'],
          ['a', ' b '],
        ],
      },
    );
  });

  test('CONNECT names an authority and nothing else (RFC 9113 section 8.5)', () => {
    const head = requestHead([
      [':method', 'CONNECT'],
      [':authority', 'x:1'],
    ]);
    assert.deepEqual([head?.method, head?.authority, head?.path], ['CONNECT', 'x:1', '']);
    assert.equal(requestHead([[':method', 'CONNECT']]), undefined);
    assert.equal(requestHead([[':method', 'CONNECT'], ...without(':method'), [':authority', 'x:1']]), undefined);
  });

  const malformed: readonly (readonly [what: string, fields: readonly HeaderField[]])[] = [
    ['no method', without(':method')],
    ['no scheme', without(':scheme')],
    ['no path', without(':path')],
    ['an empty method', [...without(':method'), [':method', '']]],
    ['an empty path', [...without(':path'), [':path', '']]],
    ['a pseudo-header field twice', [...GOOD, [':path', '/a']]],
    ['one of a response', [...GOOD, [':status', '200']]],
    ['one that nobody knows', [...GOOD, [':x', '1']]],
    ['one behind other fields', [...without(':path'), ['a', 'b'], [':path', '/a']]],
    ['an upper-case name', [...GOOD, ['A', 'b']]],
    ['an empty name', [...GOOD, ['', 'b']]],
    ['a blank in a name', [...GOOD, ['a b', 'c']]],
    ['a line break in a value', [...GOOD, ['a', 'b\r\nc']]],
    ['NUL in a value', [...GOOD, ['a', '\0']]],
    ['a line break in a pseudo-header field', [...without(':path'), [':path', '/\n']]],
    ['a field of the connection', [...GOOD, ['connection', 'close']]],
    ['a transfer coding', [...GOOD, ['transfer-encoding', 'chunked']]],
    ['te other than trailers', [...GOOD, ['te', 'gzip']]],
    ['a length that is not a number', [...GOOD, ['content-length', '-1']]],
    ['a length beyond what a double holds', [...GOOD, ['content-length', '1'.repeat(16)]]],
    ['two lengths that differ', [...GOOD, ['content-length', '1'], ['content-length', '2']]],
  ];
  for (const [what, fields] of malformed) {
    test(`malformed: ${what}`, () => assert.equal(requestHead(fields), undefined));
  }

  test('the same length twice is one', () => {
    assert.equal(requestHead([...GOOD, ['content-length', '1'], ['content-length', '1']])?.contentLength, 1);
  });

  test('trailers have no pseudo-header fields', () => {
    assert.deepEqual([validTrailers([['a', 'b']]), validTrailers([[':path', '/a']])], [true, false]);
  });
});
