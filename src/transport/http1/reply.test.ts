import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { SocketWriter } from '../socket-writer.js';
import { Reply, type ReplyOwner } from './reply.js';
import type { ReplyConnection } from './reply-head.js';

/** A connection that collects what its reply writes and reports. */
function owner({
  connection = { version: '1.1', keepAlive: true } as ReplyConnection,
  headOnly = false,
  admitted = Number.POSITIVE_INFINITY,
} = {}) {
  const parts: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      parts.push(chunk);
      done();
    },
  });
  const writer = new SocketWriter(socket);
  const calls: string[] = [];
  const made: ReplyOwner = {
    replyConnection: () => connection,
    writer,
    headOnly,
    admits: (bytes) => bytes <= admitted,
    hold: (bytes) => bytes <= admitted,
    handOver: (bytes) => void calls.push(`handed over ${bytes}`),
    wrote: () => void calls.push('wrote'),
    keepsUp: () => true,
    whenDrained: (listener) => listener(),
    replied: () => void calls.push('replied'),
  };
  const sent = (): string => {
    writer.flush();
    return Buffer.concat(parts).toString('latin1');
  };
  return { owner: made, calls, sent };
}

const KEPT = { version: '1.1', keepAlive: true } as const;
const CLOSED = { version: '1.1', keepAlive: false } as const;
const OLD = { version: '1.0', keepAlive: false } as const;
const OLD_KEPT = { version: '1.0', keepAlive: true } as const;

describe('Reply', () => {
  const whole: readonly (readonly [
    what: string,
    connection: ReplyConnection,
    status: number,
    body: string,
    sent: string,
  ])[] = [
    ['a body', KEPT, 200, 'abc', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\nabc'],
    ['no body', KEPT, 200, '', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: text/plain\r\n\r\n'],
    ['a status that has no body', KEPT, 204, 'abc', 'HTTP/1.1 204 No Content\r\n\r\n'],
    [
      'a status without a phrase',
      KEPT,
      599,
      '',
      'HTTP/1.1 599 Status\r\nContent-Length: 0\r\nContent-Type: text/plain\r\n\r\n',
    ],
    [
      'a connection that closes',
      CLOSED,
      405,
      '',
      'HTTP/1.1 405 Not Allowed\r\nContent-Length: 0\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n',
    ],
    ['HTTP/1.0', OLD, 200, '', 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n'],
    [
      'HTTP/1.0 that stays',
      OLD_KEPT,
      200,
      'a',
      'HTTP/1.0 200 OK\r\nContent-Length: 1\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\n\r\na',
    ],
  ];
  for (const [what, connection, status, body, expected] of whole) {
    test(`a whole response: ${what}`, () => {
      const { owner: made, calls, sent } = owner({ connection });
      const reply = new Reply(made);
      reply.send(status, [], Buffer.from(body));
      assert.equal(sent(), expected);
      assert.deepEqual([reply.closed, calls], [true, ['replied']]);
    });
  }

  test('headers keep their order; a type of their own replaces the usual one; parts of a body are joined', () => {
    const { owner: made, sent } = owner();
    const headers = [
      ['b', '1'],
      ['content-TYPE', 'x/y'],
      ['b', '2'],
    ] as const;
    new Reply(made).send(200, headers, [Buffer.from('ab'), Buffer.from('c')]);
    assert.equal(sent(), 'HTTP/1.1 200 OK\r\nb: 1\r\ncontent-TYPE: x/y\r\nb: 2\r\nContent-Length: 3\r\n\r\nabc');
  });

  test('HEAD gets the head only, with the length of the body', () => {
    const { owner: made, sent } = owner({ headOnly: true });
    new Reply(made).send(200, [], Buffer.from('abc'));
    assert.equal(sent(), 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\n');
  });

  for (const [name, value] of [
    ['a\r\nb', 'c'],
    ['a', 'b\r\nc: d'],
    ['a', 'b\0'],
  ] as const) {
    test(`a header cannot end its line: ${JSON.stringify([name, value])}`, () => {
      const { owner: made, sent } = owner();
      const text = [name, value].find((part) => /[\r\n\0]/.test(part));
      assert.throws(() => new Reply(made).send(200, [[name, value]]), {
        name: 'RangeError',
        message: `header contains a line break or NUL: ${JSON.stringify(text)}`,
      });
      assert.equal(sent(), '');
    });
  }

  test('chunks, none for empty pieces; what is sent behind the end is dropped', () => {
    const { owner: made, calls, sent } = owner();
    const reply = new Reply(made);
    const body = reply.startChunked(200, []);
    assert.equal(reply.streaming, true);
    for (const piece of ['hello', '', Buffer.alloc(16, 'x')]) body.write(piece);
    body.end();
    body.write('late');
    body.end();
    reply.send(500, []);
    assert.equal(
      sent(),
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n5\r\nhello\r\n10\r\n${'x'.repeat(16)}\r\n0\r\n\r\n`,
    );
    assert.deepEqual(calls, ['wrote', 'wrote', 'wrote', 'replied']);
  });

  test('HTTP/1.0 knows no chunks: the end of the connection ends the body (RFC 9112 section 7.1)', () => {
    const { owner: made, sent } = owner({ connection: OLD_KEPT });
    const reply = new Reply(made);
    const body = reply.startChunked(200, []);
    body.write('hello');
    body.end();
    assert.equal(sent(), 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello');
    assert.equal(reply.untilClose, true);
  });

  test('a body for which there is no memory becomes a refusal', () => {
    const { owner: made, sent } = owner({ admitted: 20_000 });
    new Reply(made).send(200, [], Buffer.alloc(20_001));
    assert.match(sent(), /^HTTP\/1\.1 503 Service Unavailable\r\n/);
    assert.match(sent(), /\{"error":"as many bytes of responses wait for clients as may .*"\}$/);
  });

  test('who waits for the peer to go is called once; after a response nobody is', () => {
    const { owner: made } = owner();
    const [gone, done] = [new Reply(made), new Reply(made)];
    let count = 0;
    for (const reply of [gone, done]) reply.onClose(() => count++);
    done.send(200, []);
    for (const reply of [gone, gone, done]) reply.gone();
    assert.equal(count, 1);
    gone.onClose(() => count++);
    done.onClose(() => count++);
    assert.equal(count, 2);
  });

  test('memory is counted until the response is complete', () => {
    const { owner: made, calls } = owner({ admitted: 10 });
    const reply = new Reply(made);
    assert.deepEqual([reply.hold(10), reply.hold(11)], [true, false]);
    reply.handOver(5);
    reply.send(200, []);
    reply.handOver(5);
    assert.equal(reply.hold(11), true);
    assert.deepEqual(calls, ['handed over 5', 'replied']);
  });
});
