import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HpackDecoder } from './decoder.js';
import { HpackEncoder } from './encoder.js';
import { decodeHuffman } from './huffman.js';
import type { HeaderField } from './static-table.js';

function decode(decoder: HpackDecoder, hex: string): (readonly [string, string])[] | undefined {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return decoder.decode(bytes, 0, bytes.length)?.fields.map(([name, value]) => [name, value] as const);
}

test('the requests of RFC 7541, appendix C.4, with Huffman code and a growing table', () => {
  const decoder = new HpackDecoder(4096, 65_536);
  const common: HeaderField[] = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'www.example.com'],
  ];
  assert.deepEqual(decode(decoder, '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'), common);
  assert.deepEqual(decode(decoder, '8286 84be 5886 a8eb 1064 9cbf'), [...common, ['cache-control', 'no-cache']]);
  assert.deepEqual(decode(decoder, '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf'), [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/index.html'],
    [':authority', 'www.example.com'],
    ['custom-key', 'custom-value'],
  ]);
});

test('the responses of RFC 7541, appendix C.5, with entries that fall out of the table', () => {
  const decoder = new HpackDecoder(256, 65_536);
  assert.deepEqual(
    decode(
      decoder,
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d' +
        '546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    ),
    [
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ],
  );
  assert.deepEqual(decode(decoder, '4803 3330 37c1 c0bf')?.[0], [':status', '307']);
  assert.equal(decode(decoder, 'c2'), undefined, 'fell out');
});

test('what is not an encoding is an error', () => {
  const bad: Record<string, string> = {
    'index 0': '80',
    'index beyond the table': 'be',
    'index that does not end': 'ff',
    'index too large': 'ffffffffffffff7f',
    'name cut': '400a61',
    'value cut': '40016105',
    'no value': '400161',
    'table size too large': '3fe21f',
    'table size behind a field': '8220',
    'Huffman code with an end-of-string symbol': '00 84 ffffffff 00',
    'padding of eight bits': '00 82 1fff 00',
    'padding with zeros': '00 81 18 00',
  };
  for (const [name, hex] of Object.entries(bad)) {
    assert.equal(decode(new HpackDecoder(4096, 65_536), hex), undefined, name);
  }
});

test('a block that comes again has the same result as long as the table is the same', () => {
  const decoder = new HpackDecoder(4096, 65_536);
  const add = '4001 6101 62';
  const use = 'be';
  assert.deepEqual(decode(decoder, add), [['a', 'b']]);
  const bytes = Buffer.from(use, 'hex');
  const first = decoder.decode(bytes, 0, 1);
  assert.equal(decoder.decode(bytes, 0, 1), first);
  assert.deepEqual(decode(decoder, '4001 6301 64'), [['c', 'd']]);
  assert.deepEqual(decode(decoder, use), [['c', 'd']]);
});

test('a list that is too large is cut, and the table still learns', () => {
  const decoder = new HpackDecoder(4096, 100);
  const bytes = Buffer.from('4001 6101 62 4001 6301 64 4001 6501 66'.replaceAll(' ', ''), 'hex');
  const block = decoder.decode(bytes, 0, bytes.length);
  assert.deepEqual([block?.tooLarge, block?.fields.length], [true, 2]);
  assert.deepEqual(decode(decoder, 'be'), [['e', 'f']]);
});

test('what our encoder writes, our decoder reads', () => {
  const field = fc.tuple(
    fc.stringMatching(/^[a-z-]{1,12}$/),
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => Buffer.from(text).toString('latin1')),
  );
  const pool = fc.array(field, { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(
      pool,
      fc.array(fc.array(fc.nat({ max: 19 }), { maxLength: 10 }), { maxLength: 10 }),
      (fields, blocks) => {
        const encoder = new HpackEncoder();
        const decoder = new HpackDecoder(4096, 1_000_000);
        const repeated = new Set<HeaderField>(fields.filter((_, i) => i % 2 === 0));
        blocks.forEach((indices, i) => {
          if (i === 5) encoder.setTableSize(0);
          const list = indices.map((index) => fields[index % fields.length]!);
          const bytes = encoder.encode(list, repeated);
          assert.deepEqual(decoder.decode(bytes, 0, bytes.length)?.fields, list);
        });
      },
    ),
    { numRuns: 200 },
  );
});

test('any bytes are survived', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      decodeHuffman(bytes, 0, bytes.length);
      new HpackDecoder(4096, 65_536).decode(bytes, 0, bytes.length);
    }),
    { numRuns: 2000 },
  );
});
