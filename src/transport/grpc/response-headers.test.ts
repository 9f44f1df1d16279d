import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { HpackDecoder } from '../http2/hpack/decoder.js';
import { HpackEncoder } from '../http2/hpack/encoder.js';
import { ResponseHeaders } from './response-headers.js';

const HEAD = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];
const ACCEPTED = ['grpc-accept-encoding', 'identity, deflate, gzip'];

describe('ResponseHeaders', () => {
  test('a peer reads the same fields from every block of a connection, in whatever order they are sent', () => {
    const blocks: readonly (readonly [
      read: unknown,
      of: (headers: ResponseHeaders, encoder: HpackEncoder) => Uint8Array,
    ])[] = [
      [[...HEAD, ACCEPTED], (headers, encoder) => headers.initial(encoder)],
      [[['grpc-status', '0']], (headers, encoder) => headers.ok(encoder)],
      [[['grpc-status', '0']], (headers, encoder) => headers.end(0, '', false)(encoder)],
      [[...HEAD, ['grpc-status', '0']], (headers, encoder) => headers.end(0, '', true)(encoder)],
      [
        [
          ['grpc-status', '5'],
          ['grpc-message', 'a%25'],
        ],
        (headers, encoder) => headers.end(5, 'a%', false)(encoder),
      ],
      [[...HEAD, ['grpc-status', '13']], (headers, encoder) => headers.end(13, '', true)(encoder)],
      [[...HEAD, ['grpc-encoding', 'gzip'], ACCEPTED], (headers, encoder) => headers.compressed('gzip')(encoder)],
    ];
    fc.assert(
      fc.property(fc.array(fc.nat(blocks.length - 1), { maxLength: 30 }), (order) => {
        const [headers, encoder, decoder] = [new ResponseHeaders(), new HpackEncoder(), new HpackDecoder(4096, 65_536)];
        for (const index of order) {
          const [expected, of] = blocks[index]!;
          const block = Buffer.from(of(headers, encoder));
          assert.deepEqual(
            decoder.decode(block, 0, block.length)?.fields.map((field) => [...field]),
            expected,
          );
        }
      }),
    );
  });

  test('the second block of a kind is a few bytes', () => {
    const [headers, encoder] = [new ResponseHeaders(), new HpackEncoder()];
    headers.initial(encoder);
    assert.ok(headers.initial(encoder).length <= 4);
  });
});
