import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MemorySocket, turn } from '../../../test/support/wire/memory-socket.js';
import { Connection } from './connection.js';
import type { Http1Handler, Http1Reply } from './http1-api.js';
import { type Http1Options, resolveHttp1Options } from './http1-options.js';

/** A connection whose peer sends bytes by hand. */
function connect(handler: Http1Handler, options: Http1Options = {}) {
  const socket = new MemorySocket();
  const connection = new Connection(socket, handler, resolveHttp1Options(options));
  return { socket, connection, sent: () => socket.received.toString('latin1') };
}

const reflect: Http1Handler = ({ method, target, body }, reply) =>
  reply.send(200, [], Buffer.concat([Buffer.from(`${method} ${target} `), body]));

const OK = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nContent-Type: text/plain\r\n${more}\r\n${body}`;
const refusal = (status: string, error: string): string => {
  const body = JSON.stringify({ error });
  const fields = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close'];
  return `HTTP/1.1 ${status}\r\n${fields.join('\r\n')}\r\n\r\n${body}`;
};

describe('an HTTP/1.1 connection', () => {
  const good: readonly (readonly [what: string, sent: string, received: string, ended: boolean])[] = [
    ['one request', 'GET /a HTTP/1.1\r\n\r\n', OK('GET /a '), false],
    ['empty lines in front of it', '\r\n\n\r\nGET /a HTTP/1.1\r\n\r\n', OK('GET /a '), false],
    ['two in one go', 'GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n', OK('GET /a ') + OK('GET /b '), false],
    ['a body', 'PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi', OK('PUT / hi'), false],
    ['chunks', 'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n', OK('PUT / hi'), false],
    [
      'a client that waits for 100 Continue',
      'PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi',
      `HTTP/1.1 100 Continue\r\n\r\n${OK('PUT / hi')}`,
      false,
    ],
    [
      'a client that wants to close',
      'GET /a HTTP/1.1\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n',
      OK('GET /a ', 'Connection: close\r\n'),
      true,
    ],
  ];
  const bad: readonly (readonly [what: string, sent: string, received: string, ended: boolean])[] = [
    ['a request line that cannot be read', 'garbage\r\n\r\n', '', true],
    ['a line ended by LF alone', 'GET / HTTP/1.1\n\n', '', true],
    ['a length that is not a number', 'PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n', '', true],
    ['a request line without a version, which Triton lets wait', 'GET /\r\n\r\n', '', false],
    [
      'a folded header, behind a good request',
      'GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\na: b\r\n c\r\n\r\n',
      OK('GET /a ') + refusal('400 Bad Request', 'folded header line'),
      true,
    ],
    [
      'a body larger than allowed',
      'PUT / HTTP/1.1\r\nContent-Length: 101\r\n\r\n',
      refusal('413 Content Too Large', 'body too large'),
      true,
    ],
    [
      'a broken chunk',
      'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhiX',
      refusal('400 Bad Request', 'chunk not ended by CRLF'),
      true,
    ],
    [
      'chunks without number',
      `PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(4)}`,
      refusal(
        '400 Bad Request',
        'Chunked request body exceeds maximum of 3 non-empty chunks. Send fewer or larger HTTP chunks.',
      ),
      true,
    ],
    [
      'headers without number',
      `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(6)}\r\n`,
      refusal('431 Request Header Fields Too Large', 'too many headers'),
      true,
    ],
  ];
  for (const [what, sent, received, ended] of [...good, ...bad]) {
    test(`${what}: the same bytes come back however the request is cut`, async () => {
      const bytes = Buffer.from(sent, 'latin1');
      for (const size of [bytes.length, 1]) {
        const {
          socket,
          connection,
          sent: answered,
        } = connect(reflect, {
          maxBodySize: 100,
          maxBodyChunks: 3,
          maxHeaderCount: 5,
        });
        await socket.feed(bytes, size);
        await turn();
        assert.deepEqual([answered(), socket.writableEnded], [received, ended], `in pieces of ${size}`);
        connection.destroy();
        await connection.finished;
      }
    });
  }

  test('the next request waits for the response to the one before', async () => {
    const replies: Http1Reply[] = [];
    const { socket, connection, sent } = connect((_request, reply) => void replies.push(reply));
    await socket.feed(Buffer.from('GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n'));
    assert.deepEqual([replies.length, connection.inFlight, sent()], [1, 1, '']);
    replies[0]!.send(200, [], Buffer.from('a'));
    await turn();
    assert.deepEqual([replies.length, connection.inFlight, sent()], [2, 1, OK('a')]);
    connection.destroy();
  });

  test('a handler that throws is a 500 without a body, and is reported; the connection goes on', async () => {
    const thrown: unknown[] = [];
    const error = new Error('broken');
    const { socket, connection, sent } = connect(
      ({ target }, reply) => {
        if (target === '/bad') throw error;
        reply.send(200, []);
      },
      { onHandlerError: (reason) => thrown.push(reason) },
    );
    await socket.feed(Buffer.from('GET /bad HTTP/1.1\r\n\r\nGET /good HTTP/1.1\r\n\r\n'));
    await turn();
    const failed = 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nContent-Type: text/plain\r\n\r\n';
    assert.deepEqual([sent(), thrown], [failed + OK(''), [error]]);
    connection.destroy();
  });

  test('a shutdown refuses half a body, and lets a response that is being made come', async () => {
    const half = connect(reflect);
    await half.socket.feed(Buffer.from('PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhi'));
    half.connection.shutdown();
    await turn();
    assert.deepEqual(
      [half.sent(), half.socket.writableEnded],
      [refusal('503 Service Unavailable', 'the server is stopping'), true],
    );
    half.connection.destroy();
    let reply: Http1Reply | undefined;
    const whole = connect((_request, made) => {
      reply = made;
    });
    await whole.socket.feed(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    whole.connection.shutdown();
    assert.equal(whole.socket.writableEnded, false);
    reply!.send(200, [], Buffer.from('a'));
    await turn();
    assert.deepEqual([whole.sent(), whole.socket.writableEnded], [OK('a', 'Connection: close\r\n'), true]);
    whole.connection.destroy();
  });
});
