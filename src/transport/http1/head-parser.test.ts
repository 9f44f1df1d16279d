import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Http1Fault } from './faults.js';
import { FAULT, HeadParser, NEED_MORE, NO_VERSION } from './head-parser.js';

const LIMITS = { maxTokenSize: 100, maxHeaderCount: 3, maxHeadSize: 300, requireHost: false };

/** Parses bytes that come in pieces, as a connection does: each time from the head's start. */
function parse(text: string, { limits = LIMITS, cuts = [] as readonly number[] } = {}) {
  const parser = new HeadParser(limits);
  const bytes = Buffer.from(text, 'latin1');
  for (const end of [...cuts, bytes.length]) {
    const code = parser.parse(bytes, 0, end);
    if (code !== NEED_MORE) return { parser, code };
  }
  return { parser, code: NEED_MORE };
}

/** Headers without a meaning of their own for the connection or the body. */
const arbitraryHeader = fc.record(
  {
    name: fc.stringMatching(/^x[!#$%&'*+\-.^_`|~0-9A-Za-z]{0,20}$/),
    value: fc.stringMatching(/^[!-~\u0080-\u00ff]([\t -~\u0080-\u00ff]{0,20}[!-~\u0080-\u00ff])?$/),
  },
  { noNullPrototype: true },
);

const arbitraryHead = fc.record(
  {
    method: fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,20}$/),
    target: fc.stringMatching(/^\/[!-~\u0080-\u00ff]{0,40}$/),
    version: fc.constantFrom('1.0', '1.1'),
    headers: fc.array(arbitraryHeader, { maxLength: 5 }),
  },
  { noNullPrototype: true },
);

describe('HeadParser', () => {
  test('gives back what was written, however it is cut', () => {
    const limits = { ...LIMITS, maxHeaderCount: 5, maxHeadSize: 10_000 };
    fc.assert(
      fc.property(arbitraryHead, fc.array(fc.nat(400), { maxLength: 5 }), (written, cuts) => {
        const { method, target, version, headers } = written;
        const lines = headers.map(({ name, value }) => `${name}: ${value}\r\n`);
        const text = `${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n`;
        const ends = cuts.filter((cut) => cut < text.length).sort((a, b) => a - b);
        const { parser, code } = parse(text, { limits, cuts: ends });
        assert.equal(code, text.length);
        const { head } = parser;
        assert.deepEqual(
          {
            method: head.method,
            target: head.target,
            version: head.version,
            headers: [...head.headers()].map(([name, value]) => ({ name, value })),
          },
          written,
        );
        for (const { name } of headers) {
          const first = headers.find((other) => other.name.toLowerCase() === name.toLowerCase());
          assert.equal(head.header(name.toLowerCase()), first?.value);
        }
      }),
    );
  });

  test('a head that comes again is the same object, one that differs in a byte is another', () => {
    const parser = new HeadParser(LIMITS);
    const read = (text: string) => {
      const bytes = Buffer.from(text, 'latin1');
      assert.equal(parser.parse(bytes, 0, bytes.length), text.length);
      return parser.head;
    };
    const first = read('GET /a HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(read('GET /a HTTP/1.1\r\nHost: x\r\n\r\n'), first);
    assert.equal(read('GET /a HTTP/1.1\r\nHost: y\r\n\r\n').header('host'), 'y');
  });

  const framings: readonly (readonly [what: string, text: string, outcome: readonly [number, boolean, boolean]])[] = [
    ['HTTP/1.1 stays open', 'GET / HTTP/1.1\r\n\r\n', [0, true, false]],
    ['HTTP/1.0 does not', 'GET / HTTP/1.0\r\n\r\n', [0, false, false]],
    ['unless it asks for it', 'GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n', [0, true, false]],
    ['close wins', 'GET / HTTP/1.1\r\nConnection: keep-alive, close\r\n\r\n', [0, false, false]],
    ['a length', 'POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n', [12, true, false]],
    ['chunks', 'POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n', [-1, true, false]],
    [
      'of chunks and a length, chunks win and the connection closes (RFC 9112 section 6.3)',
      'POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      [-1, false, false],
    ],
    ['100 Continue is waited for', 'POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n', [0, true, true]],
    ['but not by HTTP/1.0', 'POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n', [0, false, false]],
  ];
  for (const [what, text, outcome] of framings) {
    test(`what a head says about the body and the connection: ${what}`, () => {
      const { parser, code } = parse(text);
      assert.equal(code, text.length);
      assert.deepEqual([parser.head.contentLength, parser.head.keepAlive, parser.head.expect], outcome);
    });
  }

  const line = 'GET / HTTP/1.1\r\n';
  const faults: readonly (readonly [what: string, text: string, fault: Http1Fault])[] = [
    ['no method', ' / HTTP/1.1\r\n', 'requestLine'],
    ['a method that is not a token', 'G(T / HTTP/1.1\r\n', 'requestLine'],
    ['no target', 'GET  HTTP/1.1\r\n', 'requestLine'],
    ['a control character in the target', 'GET /\x01 HTTP/1.1\r\n', 'requestLine'],
    ['two blanks before the version', 'GET /  HTTP/1.1\r\n', 'requestLine'],
    ['another protocol', 'GET / HTTQ/1.1\r\n', 'requestLine'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\n', 'requestLine'],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\n', 'requestLine'],
    ['something behind the version', 'GET / HTTP/1.1 \r\n', 'requestLine'],
    ['CR without LF behind the version', 'GET / HTTP/1.1\rx', 'requestLine'],
    ['LF alone behind the target', 'GET /\n', 'bareLineFeed'],
    ['LF alone behind the version', 'GET / HTTP/1.1\n', 'bareLineFeed'],
    ['a long method', 'G'.repeat(100), 'tokenSize'],
    ['a long target', `GET /${'a'.repeat(100)}`, 'tokenSize'],
    ['a long name', `${line}${'a'.repeat(100)}`, 'tokenSize'],
    ['a long value', `${line}a: ${'b'.repeat(100)}`, 'tokenSize'],
    ['many blanks before a value', `${line}a:${' '.repeat(201)}`, 'tokenSize'],
    ['a header without a name', `${line}: x\r\n`, 'headerName'],
    ['a blank in a name', `${line}a b: x\r\n`, 'headerName'],
    ['a blank behind a name', `${line}a : x\r\n`, 'headerName'],
    ['CR alone in place of the empty line', `${line}\rx`, 'headerName'],
    ['a folded line (RFC 9112 section 5.2)', `${line}a: b\r\n c\r\n`, 'foldedHeader'],
    ['NUL in a value', `${line}a: b\0c\r\n`, 'headerValue'],
    ['CR alone in a value', `${line}a: b\rc\r\n`, 'headerValue'],
    ['LF alone behind a value', `${line}a: b\n`, 'bareLineFeed'],
    ['LF alone in place of the empty line', `${line}\n`, 'bareLineFeed'],
    ['a length that is not a number', `${line}Content-Length: x\r\n`, 'contentLength'],
    ['a length with a sign', `${line}Content-Length: +1\r\n`, 'contentLength'],
    ['no length', `${line}Content-Length:\r\n`, 'contentLength'],
    ['a length beyond what a double holds', `${line}Content-Length: 1${'0'.repeat(15)}\r\n`, 'contentLength'],
    ['two lengths, even equal ones', `${line}Content-Length: 1\r\ncontent-length: 1\r\n`, 'twoLengths'],
    ['two hosts', `${line}Host: a\r\nHost: a\r\n`, 'twoHosts'],
    ['another coding', `${line}Transfer-Encoding: gzip\r\n\r\n`, 'transferEncoding'],
    ['a list of codings', `${line}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'transferEncoding'],
    ['two codings', `${line}${'Transfer-Encoding: chunked\r\n'.repeat(2)}\r\n`, 'transferEncoding'],
    ['a coding in HTTP/1.0', 'GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', 'transferEncoding'],
    ['a header too many', `${line}${'a: b\r\n'.repeat(4)}`, 'headerCount'],
    ['a large head', `${line}${`${'a'.repeat(90)}: ${'b'.repeat(90)}\r\n`.repeat(2)}`, 'headSize'],
  ];
  for (const [what, text, fault] of faults) {
    test(`refused: ${what}`, () => {
      // Once in one piece, once byte by byte.
      for (const cuts of [[], [...text].map((_, i) => i)]) {
        const { parser, code } = parse(text, { cuts });
        assert.deepEqual([code, parser.fault], [FAULT, fault]);
      }
    });
  }

  test('HTTP/1.1 without a host is refused where hosts are asked for, HTTP/1.0 is not', () => {
    const limits = { ...LIMITS, requireHost: true };
    const refused = parse('GET / HTTP/1.1\r\n\r\n', { limits });
    assert.deepEqual([refused.code, refused.parser.fault], [FAULT, 'noHost']);
    for (const text of ['GET / HTTP/1.1\r\nHost:\r\n\r\n', 'GET / HTTP/1.0\r\n\r\n'])
      assert.equal(parse(text, { limits }).code, text.length);
  });

  test('a request line without a version is known as such', () => {
    assert.equal(parse('GET /\r\n').code, NO_VERSION);
  });

  test('a part of a head asks for more, and holds nothing against the rest', () => {
    const text = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n';
    for (let end = 0; end < text.length; end++) assert.equal(parse(text.slice(0, end)).code, NEED_MORE, `${end} bytes`);
  });
});
