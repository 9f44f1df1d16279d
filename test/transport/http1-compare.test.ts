/**
 * The HTTP/1.1 parser beside node:http's on generated inputs: both see the same requests, or both refuse. Where they
 * differ, one of `DIFFERENCES` must say why. `FUZZ_RUNS` sets the number of inputs, `FUZZ_SEED` where they start.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { serveHttp1 } from '../../src/transport/http1/serve-http1.js';
import { Random } from '../fuzz/random.js';
import { MemorySocket, turn } from '../support/wire/memory-socket.js';

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 2000);
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);

/** What a server made of the bytes of a connection. */
interface Seen {
  /** Method, target, headers and body of each complete request. */
  readonly requests: string[];
  /** Answered 4xx by the server itself, or closed. */
  refused: boolean;
}

function shown(method: string, target: string, headers: readonly (readonly [string, string])[], body: string): string {
  // node:http trims what stands around a value; an empty value is one blank with us, as with Triton.
  const fields = headers.map(([name, value]) => `${name.toLowerCase()}=${value.trim()}`);
  return JSON.stringify([method, target, fields, body]);
}

async function seenByUs(bytes: Buffer): Promise<Seen> {
  const seen: Seen = { requests: [], refused: false };
  const socket = new MemorySocket();
  const connection = serveHttp1(
    socket,
    (request, reply) => {
      const body = Buffer.from(request.body).toString('latin1');
      seen.requests.push(shown(request.method, request.target, [...request.headers()], body));
      reply.send(200, []);
    },
    {},
  );
  await socket.feed(bytes);
  await turn();
  // A connection that ends although the last request did not ask for it was refused.
  seen.refused = socket.writableEnded || socket.received.includes('HTTP/1.1 4');
  connection.destroy();
  await connection.finished;
  return seen;
}

async function seenByNode(bytes: Buffer): Promise<Seen> {
  const seen: Seen = { requests: [], refused: false };
  const server = http.createServer({ requireHostHeader: false, keepAliveTimeout: 0 });
  const take = (request: http.IncomingMessage, response: http.ServerResponse) => {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const raw = request.rawHeaders;
      const headers = raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1] ?? ''] as const] : []));
      seen.requests.push(shown(request.method ?? '', request.url ?? '', headers, body));
      response.end();
    });
    request.on('error', () => {});
  };
  server.on('request', take);
  server.on('checkContinue', (request, response) => {
    response.writeContinue();
    take(request, response);
  });
  server.on('checkExpectation', take);
  server.on('clientError', (_error, socket) => {
    seen.refused = true;
    socket.destroy();
  });
  const socket = new MemorySocket();
  socket.on('error', () => {});
  server.emit('connection', socket);
  // Byte by byte: node:http reports a request later than a fault behind it in the same piece.
  await socket.feed(bytes, 1);
  await turn();
  seen.refused ||= socket.writableEnded || socket.destroyed;
  socket.destroy();
  await turn();
  return seen;
}

const LINES = [
  'Host: a',
  'Content-Length: 0',
  'Content-Length: 3',
  'Content-Length: +3',
  'Content-Length: 3 ',
  'Content-Length: 3, 3',
  'Content-Length: 0x3',
  'Content-Length:',
  'content-length: 4',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: CHUNKED',
  'Connection: close',
  'Connection: keep-alive',
  'X: 1',
  'X : 1',
  ' X: 1',
  'X:',
  'X',
  ': 1',
  'X:\ta\t',
  'X: a\0b',
  'X: \x01',
  'X: a\x7f',
  'X: \u00e9',
  'X\u00e9: 1',
  'X(: 1',
  'Expect: 100-continue',
];
const TARGETS = ['/', '/a?b=c', '/%41', 'http://h/x', '*', '/a b', '/\u00e9', '/\x01', '', '//x', '/#f'];
const METHODS = ['GET', 'POST', 'PUT', 'HEAD', 'get', 'FOO', 'G(T', ''];
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
  'HTTP/1.10',
  'HTTP/1',
  'X/1.1',
  '',
];
const BODIES = ['', 'abc', '3\r\nabc\r\n0\r\n\r\n', '3;x=y\r\nabc\r\n0\r\n\r\n', '03\r\nabc\r\n0\r\nT: 1\r\n\r\n'];
const BAD_BODIES = [
  'x\r\nabc\r\n0\r\n\r\n',
  '3\nabc\n0\n\n',
  '3\r\nabcd\r\n0\r\n\r\n',
  '-3\r\nabc\r\n',
  '0x3\r\nabc\r\n0\r\n\r\n',
  ' 3\r\nabc\r\n0\r\n\r\n',
  '3 \r\nabc\r\n0\r\n\r\n',
  'ffffffffffffffffff\r\n',
];

/** Mostly right: every part is odd one time in eight. */
function oneRequest(random: Random): string {
  const mostly = (usual: readonly string[], all: readonly string[]) => random.pick(random.below(8) === 0 ? all : usual);
  const lines: string[] = [];
  const usual = ['Host: a', 'X: 1', 'X:\ta\t', 'X:', 'Connection: keep-alive'];
  for (let i = random.below(4); i > 0; i--) lines.push(mostly(usual, LINES));
  const body = mostly(BODIES, BAD_BODIES);
  if (body.startsWith('abc')) lines.push(mostly(['Content-Length: 3'], LINES));
  else if (body !== '') lines.push(mostly(['Transfer-Encoding: chunked'], LINES));
  const first = [mostly(['GET', 'POST'], METHODS), mostly(['/', '/a?b=c'], TARGETS), mostly(['HTTP/1.1'], VERSIONS)];
  const end = mostly(['\r\n'], ['\r\n', '\n', '\r', '\r\r\n']);
  return `${[first.join(' '), ...lines].join(end)}${end}${end}${body}`;
}

/** Why the two may differ: what was odd about the input, and how they then differ. */
const DIFFERENCES: readonly (readonly [reason: string, holds: (text: string, us: Seen, node: Seen) => boolean])[] = [
  [
    'a method nobody knows is answered 405, as Triton does; node:http refuses it',
    (_text, us, node) => node.refused && goesOn(us, node) && hasOddMethod(us),
  ],
  [
    'a request with such a method is waited for while it is not whole; node:http refuses it at once',
    (text, us, node) => node.refused && goesOn(us, node) && /abc$|(^|\n|abc)(get|FOO) /.test(text),
  ],
  [
    'bytes above 127 in a target are passed on, as in Triton; node:http refuses them',
    (text, us, node) => node.refused && goesOn(us, node) && /\u00e9/.test(text),
  ],
  [
    'HTTP/0.9 and HTTP/2.0 are refused; node:http reads them like HTTP/1.1',
    (text, us, node) => us.refused && goesOn(node, us) && /HTTP\/(0\.9|2\.0)/.test(text),
  ],
  [
    'HTTP/1.0 has no chunked bodies (RFC 9112, section 6.1): refused; node:http reads them',
    (text, us, node) => us.refused && goesOn(node, us) && /HTTP\/1\.0[^/]*Transfer-Encoding/i.test(text),
  ],
  [
    'more than one Host is refused (RFC 9112, section 3.2); node:http takes the first',
    (text, us, node) => us.refused && goesOn(node, us) && /Host: a\r\n(?:[^\r]+\r\n)*?Host: a\r\n/i.test(text),
  ],
  [
    'of a length and a chunked coding the coding wins (RFC 9112, section 6.3), and the connection closes; node:http refuses',
    (text, us, node) =>
      node.refused && goesOn(us, node) && /Content-Length/i.test(text) && /Transfer-Encoding: chunked/i.test(text),
  ],
  [
    'transfer codings other than chunked are refused; node:http reads what stands before chunked, or the rest',
    (text, us, node) => us.refused && goesOn(node, us) && /Transfer-Encoding: (gzip|chunked,)/.test(text),
  ],
  [
    'a connection of HTTP/1.0 is kept when its client asks; node:http closes it',
    (text, us, node) => node.refused && goesOn(us, node) && /HTTP\/1\.0[^/]*Connection: keep-alive/.test(text),
  ],
];

/** Whether one has seen all that the other has, and perhaps more. */
function goesOn(more: Seen, less: Seen): boolean {
  return less.requests.every((request, i) => more.requests[i] === request);
}

function hasOddMethod({ requests }: Seen): boolean {
  return requests.some((request) => !/^\["(GET|POST|PUT|HEAD)"/.test(request));
}

test('generated inputs mean the same to node:http, or a reason is known', async () => {
  const used = new Map<string, number>();
  let agreed = 0;
  for (let i = 0; i < RUNS; i++) {
    const random = new Random(SEED + i);
    const text = oneRequest(random) + oneRequest(random);
    const bytes = Buffer.from(text, 'latin1');
    const [us, node] = [await seenByUs(bytes), await seenByNode(bytes)];
    if (us.refused === node.refused && us.requests.join('\n') === node.requests.join('\n')) {
      agreed++;
      continue;
    }
    const found = DIFFERENCES.find(([, holds]) => holds(text, us, node));
    if (found === undefined) {
      assert.fail(`FUZZ_SEED=${SEED + i} FUZZ_RUNS=1: ${JSON.stringify({ text, us, node }, undefined, 1)}`);
    }
    used.set(found[0], (used.get(found[0]) ?? 0) + 1);
  }
  assert.ok(RUNS < 1000 || agreed > RUNS / 2, `${agreed} of ${RUNS} agree: ${JSON.stringify([...used])}`);
});
