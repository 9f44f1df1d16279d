import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ChunkedBody } from './chunked-body.js';
import type { Http1Fault } from './faults.js';

const LIMITS = {
  maxBodySize: 1000,
  maxBodyChunks: 20,
  maxChunkExtensionSize: 30,
  maxReservedBodySize: 100,
  maxTokenSize: 20,
  maxHeaderCount: 2,
  maxHeadSize: 60,
};

/** Feeds the bytes in pieces that end at the cuts; what comes of the last piece that was needed. */
function parse(bytes: Buffer, cuts: readonly number[] = []) {
  const body = new ChunkedBody(LIMITS);
  let start = 0;
  for (const end of [...cuts, bytes.length]) {
    const code = body.parse(bytes, start, end);
    if (code !== -1) return { body, code };
    start = end;
  }
  return { body, code: -1 };
}

const arbitraryChunk = fc.record({
  data: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  zeros: fc.nat(3),
  upperCase: fc.boolean(),
  extension: fc.constantFrom('', ';a', ';a=b', '; a="b"'),
});

function encode(chunks: readonly { data: Uint8Array; zeros: number; upperCase: boolean; extension: string }[]): Buffer {
  const parts = chunks.flatMap(({ data, zeros, upperCase, extension }) => {
    const size = '0'.repeat(zeros) + data.length.toString(16);
    return [Buffer.from(`${upperCase ? size.toUpperCase() : size}${extension}\r\n`), data, Buffer.from('\r\n')];
  });
  return Buffer.concat(parts);
}

describe('ChunkedBody', () => {
  test('joins the chunks that were written, however the bytes are cut, and leaves alone what follows', () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryChunk, { maxLength: 3 }),
        fc.constantFrom('', 'a: b\r\n', 'a: b\r\nc: d\r\n'),
        fc.array(fc.nat(150), { maxLength: 8 }),
        (chunks, trailers, cuts) => {
          const written = Buffer.concat([encode(chunks), Buffer.from(`0\r\n${trailers}\r\n`)]);
          const ends = cuts.filter((cut) => cut < written.length).sort((a, b) => a - b);
          const { body, code } = parse(Buffer.concat([written, Buffer.from('GET')]), ends);
          assert.equal(code, written.length);
          assert.deepEqual(Buffer.from(body.take()), Buffer.concat(chunks.map(({ data }) => data)));
        },
      ),
    );
  });

  test('a part of a body asks for more', () => {
    const bytes = Buffer.from('5;x\r\nhello\r\n0\r\na: b\r\n\r\n');
    for (let end = 0; end < bytes.length; end++) assert.equal(parse(bytes.subarray(0, end)).code, -1, `${end} bytes`);
  });

  const faults: readonly (readonly [what: string, text: string, fault: Http1Fault])[] = [
    ['no size', '\r\n', 'chunkSize'],
    ['a size that is not a number', 'x\r\n', 'chunkSize'],
    ['a sign', '-1\r\n', 'chunkSize'],
    ['0x', '0x5\r\n', 'chunkSize'],
    ['a blank behind the size', '5 \r\n', 'chunkSize'],
    ['more digits than a size may have', '0'.repeat(13), 'chunkSize'],
    ['LF alone behind the size', '5\n', 'chunkSize'],
    ['CR alone behind the size', '5\rh', 'chunkSize'],
    ['LF alone behind an extension', '5;a\n', 'chunkSize'],
    ['NUL in an extension', '5;\0\r\n', 'chunkSize'],
    ['a long extension', `5;${'a'.repeat(30)}\r\n`, 'chunkExtensions'],
    ['extensions that are long together', '1;aaaaaaaaa\r\nx\r\n'.repeat(4), 'chunkExtensions'],
    ['more data than the size says', '5\r\nhelloX', 'chunkEnd'],
    ['LF alone behind the data', '5\r\nhello\n', 'chunkEnd'],
    ['CR alone behind the data', '5\r\nhello\rX', 'chunkEnd'],
    ['a body that is too large', '3e9\r\n', 'bodySize'],
    ['chunks that are too large together', `${'1f4\r\n'}${'x'.repeat(500)}\r\n1f5\r\n`, 'bodySize'],
    ['a chunk too many', '1\r\nx\r\n'.repeat(21), 'chunkCount'],
    ['a trailer without a name', '0\r\n: x\r\n', 'headerName'],
    ['a folded trailer', '0\r\na: b\r\n c\r\n', 'foldedHeader'],
    ['LF alone behind the trailers', '0\r\n\n', 'bareLineFeed'],
    ['NUL in a trailer', '0\r\na: \0\r\n', 'headerValue'],
    ['a long trailer', `0\r\na: ${'b'.repeat(20)}`, 'tokenSize'],
    ['a trailer too many', `0\r\n${'a: b\r\n'.repeat(3)}`, 'headerCount'],
    ['trailers that are large together', `0\r\n${`${'a'.repeat(19)}: ${'b'.repeat(19)}\r\n`.repeat(2)}`, 'headSize'],
  ];
  for (const [what, text, fault] of faults) {
    test(`refused: ${what}`, () => {
      const bytes = Buffer.from(text, 'latin1');
      // Once in one piece, once byte by byte.
      for (const cuts of [[], [...bytes.keys()]]) {
        const { body, code } = parse(bytes, cuts);
        assert.deepEqual([code, body.fault], [-2, fault]);
      }
    });
  }

  test('reserves what has come, not what is announced', () => {
    const { body } = parse(Buffer.from('3e8\r\nx'));
    assert.ok(body.capacity <= 16 * 1024, `${body.capacity}`);
  });
});
