import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type Http1Handler, type Http1Options, serveHttp1 } from '../../src/transport/http1/serve-http1.js';
import { MemorySocket, turn } from '../support/wire/memory-socket.js';

/** Answers with what was asked. */
const mirror: Http1Handler = (request, reply) => {
  const text = JSON.stringify({
    method: request.method,
    path: request.path,
    headers: [...request.headers()],
    body: Buffer.from(request.body).toString('latin1'),
  });
  reply.send(200, [['Content-Type', 'application/json']], Buffer.from(text));
};

async function answer(
  raw: string | Buffer,
  handler: Http1Handler = mirror,
  options: Http1Options = {},
): Promise<{ text: string; ended: boolean }> {
  const socket = new MemorySocket();
  const connection = serveHttp1(socket, handler, options);
  await socket.feed(Buffer.from(raw as string, 'latin1'));
  await turn();
  const result = { text: socket.received.toString('latin1'), ended: socket.writableEnded };
  connection.destroy();
  await connection.finished;
  return result;
}

async function listen(t: TestContext, handler: Http1Handler, options: Http1Options = {}): Promise<number> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    serveHttp1(socket, handler, options),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const PIPELINE = Buffer.from(
  '\r\nGET /v2/health/live?x=/1 HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nx-a:  b c \t\r\n\r\n' +
    'POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: anything\r\n\r\nhello\r\nyou!' +
    'FOO http://host:1/a%20b?q HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n' +
    'HEAD /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n' +
    'GET /last HTTP/1.0\r\n\r\n',
  'latin1',
);

test('requests sent in one go get their responses in order', async () => {
  const { text, ended } = await answer(PIPELINE);
  // The response to HEAD has no body: what follows its head is the next response.
  assert.match(text, /HTTP\/1\.0 200 OK\r\n[^{]*Content-Length: 7\d\r\nConnection: keep-alive\r\n\r\nHTTP\/1\.0 200/);
  const bodies = [...text.matchAll(/\{"method.*?"\}/g)].map((match) => JSON.parse(match[0]));
  assert.deepEqual(bodies, [
    {
      method: 'GET',
      path: '/v2/health/live',
      headers: [
        ['Host', 'a'],
        ['X-Empty', ' '],
        ['x-a', 'b c \t'],
      ],
      body: '',
    },
    {
      method: 'POST',
      path: '/v2/models/m/infer',
      headers: [
        ['Host', 'a'],
        ['Content-Length', '11'],
        ['Expect', 'anything'],
      ],
      body: 'hello\r\nyou!',
    },
    { method: 'FOO', path: '/a%20b', headers: [['Transfer-Encoding', 'chunked']], body: 'hello0123456789' },
    { method: 'GET', path: '/last', headers: [], body: '' },
  ]);
  assert.equal(text.split('HTTP/1.1 100 Continue\r\n\r\n').length, 2);
  assert.match(text, /HTTP\/1\.0 200 OK\r\n[^{]*Connection: keep-alive\r\n/);
  assert.ok(ended);
});

test('the responses do not depend on how the bytes are split', async () => {
  const whole = (await answer(PIPELINE)).text;
  for (let cut = 1; cut < PIPELINE.length; cut++) {
    const socket = new MemorySocket();
    const connection = serveHttp1(socket, mirror, {});
    await socket.feedCut(PIPELINE, cut);
    assert.equal(socket.received.toString('latin1'), whole, `cut at ${cut}`);
    connection.destroy();
  }
  for (const size of [1, 2, 3, 7]) {
    const socket = new MemorySocket();
    const connection = serveHttp1(socket, mirror, {});
    await socket.feed(PIPELINE, size);
    assert.equal(socket.received.toString('latin1'), whole, `pieces of ${size}`);
    connection.destroy();
  }
});

const CLOSED_WITHOUT_ANSWER: Readonly<Record<string, string>> = {
  'no request line': 'garbage\r\n\r\n',
  'no target': 'GET  HTTP/1.1\r\n\r\n',
  'other protocol': 'GET / HTTQ/1.1\r\n\r\n',
  'other version': 'GET / HTTP/2.0\r\n\r\n',
  'two blanks': 'GET /  HTTP/1.1\r\n\r\n',
  'control character in the target': 'GET /\x01 HTTP/1.1\r\n\r\n',
  'LF alone after the request line': 'GET / HTTP/1.1\nHost: a\n\n',
  'LF alone after a header': 'GET / HTTP/1.1\r\nHost: a\n\r\n',
  'length that is not a number': 'POST / HTTP/1.1\r\nContent-Length: abc\r\n\r\n',
  'negative length': 'POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
  'length with a sign': 'POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n',
  'list of lengths': 'POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n',
  'long target': `GET /${'a'.repeat(8190)} HTTP/1.1\r\n\r\n`,
  'long header name': `GET / HTTP/1.1\r\n${'a'.repeat(8190)}: b\r\n\r\n`,
  'long header value': `GET / HTTP/1.1\r\na: ${'b'.repeat(8190)}\r\n\r\n`,
  'long method': 'G'.repeat(8190),
};

const REFUSED: Readonly<Record<string, readonly [status: number, raw: string]>> = {
  'two lengths': [400, 'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx'],
  'the same length twice': [400, 'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx'],
  'two hosts': [400, 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
  'two codings': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  'chunked twice': [
    400,
    'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  'other coding': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
  'chunking in HTTP/1.0': [400, 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  'folded header': [400, 'GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n'],
  'blank before the colon': [400, 'GET / HTTP/1.1\r\nA : b\r\n\r\n'],
  'blank in a name': [400, 'GET / HTTP/1.1\r\nA B: c\r\n\r\n'],
  'no colon': [400, 'GET / HTTP/1.1\r\nAB\r\n\r\n'],
  'no name': [400, 'GET / HTTP/1.1\r\n: b\r\n\r\n'],
  'CR alone in a value': [400, 'GET / HTTP/1.1\r\nA: b\rc\r\n\r\n'],
  'NUL in a value': [400, 'GET / HTTP/1.1\r\nA: b\0c\r\n\r\n'],
  'no chunk size': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n'],
  'chunk size that is not a number': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
  'chunk size with 0x': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n'],
  'huge chunk size': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffff\r\n'],
  'LF alone after a chunk size': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n'],
  'chunk longer than said': [400, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n'],
  'body too large': [413, 'POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n'],
  'chunk too large': [413, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n'],
  'too many headers': [431, `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(10_001)}\r\n`],
};

test('what cannot be read closes the connection without a response', async () => {
  for (const [name, raw] of Object.entries(CLOSED_WITHOUT_ANSWER)) {
    assert.deepEqual(await answer(raw), { text: '', ended: true }, name);
  }
});

test('what could be read in two ways is refused and the connection closed', async () => {
  for (const [name, [status, raw]] of Object.entries(REFUSED)) {
    const { text, ended } = await answer(`${raw}GET /smuggled HTTP/1.1\r\n\r\n`);
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} [^{]*Connection: close\r\n\r\n\\{"error":"[^{]*\\}$`), name);
    assert.ok(ended, name);
  }
});

test('node:http refuses the same', async (t) => {
  const server = http.createServer({ requireHostHeader: false }, (request, response) => {
    request.resume();
    request.on('end', () => response.end('ok'));
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  // What we refuse and it takes: lengths and tokens that it does not limit, more than one blank in the request line, and
  // of codings it looks at the last one only, in HTTP/1.0 too.
  const taken = new Set([
    'two blanks',
    'two hosts',
    'long target',
    'long header name',
    'long header value',
    'body too large',
    'chunk too large',
    'two codings',
    'other coding',
    'other version',
    'huge chunk size',
    'chunking in HTTP/1.0',
  ]);
  const inputs = {
    ...CLOSED_WITHOUT_ANSWER,
    ...Object.fromEntries(Object.entries(REFUSED).map(([k, v]) => [k, v[1]])),
  };
  for (const [name, raw] of Object.entries(inputs)) {
    if (taken.has(name)) continue;
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(Buffer.from(raw, 'latin1'));
    if (name === 'long method') socket.end();
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk;
      socket.destroy();
    });
    await once(socket, 'close');
    assert.doesNotMatch(text, / 200 /, name);
  }
});

test('a request line without a version is waited on', async () => {
  assert.deepEqual(await answer('GET /\r\n\r\n'), { text: '', ended: false });
  const socket = new MemorySocket();
  const connection = serveHttp1(socket, mirror, {});
  await socket.feed(Buffer.from('GET /\r\n\r\n'));
  await socket.feedEnd();
  assert.ok(socket.writableEnded, 'until the peer closes');
  connection.destroy();
  await connection.finished;
});

test('more chunks than allowed are answered with the exact text', async () => {
  const raw = `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(65_537)}0\r\n\r\n`;
  const { text, ended } = await answer(raw);
  assert.equal(
    text.split('\r\n\r\n')[1],
    '{"error":"Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks."}',
  );
  assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json\r\n/);
  assert.ok(ended);
  const allowed = `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(65_536)}0\r\n\r\n`;
  assert.match((await answer(allowed)).text, /^HTTP\/1\.1 200 OK\r\n/);
});

test('responses carry what Triton sends, and no more', async () => {
  const empty: Http1Handler = (_request, reply) => reply.send(200, []);
  assert.equal(
    (await answer('GET / HTTP/1.1\r\n\r\n', empty)).text,
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: text/plain\r\n\r\n',
  );
  assert.deepEqual(await answer('GET / HTTP/1.1\r\nConnection: Close\r\n\r\n', empty), {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n',
    ended: true,
  });
  assert.deepEqual(await answer('GET / HTTP/1.0\r\n\r\n', empty), {
    text: 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n',
    ended: true,
  });
  const reasons: Http1Handler = (_request, reply) => reply.send(405, []);
  assert.match((await answer('GET / HTTP/1.1\r\n\r\n', reasons)).text, /^HTTP\/1\.1 405 Not Allowed\r\n/);
});

test('a handler that throws is a 500, and is reported', async () => {
  const errors: unknown[] = [];
  const { text } = await answer(
    'GET / HTTP/1.1\r\n\r\n',
    () => {
      throw new Error('boom');
    },
    { onHandlerError: (error) => errors.push(error) },
  );
  assert.match(text, /^HTTP\/1\.1 500 Internal Server Error\r\n/);
  assert.equal(errors.length, 1);
});

test('a header cannot be split by its value', async () => {
  const errors: unknown[] = [];
  const handler: Http1Handler = (_request, reply) => reply.send(200, [['X', 'a\r\nY: b']]);
  const { text } = await answer('GET / HTTP/1.1\r\n\r\n', handler, { onHandlerError: (error) => errors.push(error) });
  assert.match(text, /^HTTP\/1\.1 500 /);
  assert.equal(errors.length, 1);
});

test('shutdown answers what is in flight and closes', async () => {
  const socket = new MemorySocket();
  let finish = () => {};
  const connection = serveHttp1(
    socket,
    (_request, reply) => {
      finish = () => reply.send(200, [], Buffer.from('done'));
    },
    {},
  );
  await socket.feed(Buffer.from('GET / HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n'));
  assert.equal(connection.inFlight, 1);
  connection.shutdown();
  assert.equal(socket.writableEnded, false);
  finish();
  await turn();
  assert.match(socket.received.toString(), /Connection: close\r\n\r\ndone$/);
  assert.ok(socket.writableEnded);
  await socket.feedEnd();
  await connection.finished;

  const idle = new MemorySocket();
  serveHttp1(idle, mirror, {}).shutdown();
  assert.ok(idle.writableEnded);
});

test('the peer going away is noticed while its request is being answered', async (t) => {
  let gone = () => {};
  const noticed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const port = await listen(t, (_request, reply) => {
    const body = reply.startChunked(200, []);
    body.write('first');
    reply.onClose(gone);
  });
  const socket = net.connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\n\r\n');
  await once(socket, 'data');
  socket.end();
  await noticed;
});

test('large bodies go both ways, to node:http as the client', async (t) => {
  const port = await listen(t, (request, reply) => reply.send(200, [], request.body));
  const body = Buffer.alloc(64 * 1024 * 1024, 'abcdefg');
  for (const headers of [{ 'Content-Length': body.length }, { 'Transfer-Encoding': 'chunked' }]) {
    const request = http.request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false });
    request.end(body);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    assert.ok(Buffer.concat(chunks).equals(body));
  }
});

test('a slow reader makes a stream wait', async (t) => {
  let waits = 0;
  const chunk = Buffer.alloc(100_000, 'x');
  const port = await listen(t, (_request, reply) => {
    const body = reply.startChunked(200, []);
    let left = 200;
    const go = (): void => {
      while (left-- > 0) {
        if (!body.write(chunk)) {
          waits++;
          body.onDrain(go);
          return;
        }
      }
      body.end();
    };
    go();
  });
  const request = http.get({ port, host: '127.0.0.1', agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let size = 0;
  for await (const part of response) size += (part as Buffer).length;
  assert.equal(size, 200 * chunk.length);
  assert.ok(waits > 0);
});

test('a peer that asks and never reads is not answered without end', async (t) => {
  let answered = 0;
  const body = Buffer.alloc(100_000);
  const port = await listen(t, (_request, reply) => {
    answered++;
    reply.send(200, [], body);
  });
  const socket = net.connect({ port, host: '127.0.0.1' });
  socket.pause();
  const count = 2000;
  socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(count));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(answered < count / 2, String(answered));
  // All of them once it reads.
  let size = 0;
  socket.on('data', (chunk: Buffer) => {
    size += chunk.length;
  });
  socket.resume();
  while (size < count * body.length) await once(socket, 'data');
  assert.equal(answered, count);
  socket.destroy();
});

test('bodies that are announced and not sent cost little', async (t) => {
  const port = await listen(t, mirror);
  const sockets = Array.from({ length: 50 }, () => net.connect(port, '127.0.0.1'));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const before = process.memoryUsage().arrayBuffers;
  for (const socket of sockets) {
    socket.write('POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\nstart');
    socket.on('error', () => {});
  }
  const request = http.get({ port, host: '127.0.0.1', agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  assert.equal(response.statusCode, 200);
  assert.ok(process.memoryUsage().arrayBuffers - before < 50 * 9 * 1024 * 1024);
});

test('requests made by node:http arrive as sent', async (t) => {
  const port = await listen(t, mirror);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST', 'PUT'),
      fc.stringMatching(/^\/[a-zA-Z0-9%._~-]{0,40}$/),
      fc.dictionary(fc.stringMatching(/^x-[a-z0-9]{1,10}$/), fc.stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/), {
        maxKeys: 5,
      }),
      fc.string({ unit: 'binary-ascii', maxLength: 200 }),
      async (method, path, headers, body) => {
        const request = http.request({ port, host: '127.0.0.1', method, path, headers, agent });
        request.end(method === 'GET' ? '' : body);
        const [response] = (await once(request, 'response')) as [http.IncomingMessage];
        let text = '';
        for await (const part of response) text += part;
        const seen = JSON.parse(text);
        assert.equal(seen.method, method);
        assert.equal(seen.path, path);
        assert.equal(seen.body, method === 'GET' ? '' : body);
        for (const [name, value] of Object.entries(headers)) {
          assert.equal(seen.headers.find((header: [string, string]) => header[0] === name)?.[1], value);
        }
      },
    ),
    { numRuns: 100 },
  );
});

/** Bytes that come near to being requests. */
const nearRequest = fc
  .array(
    fc.oneof(
      fc.constantFrom('GET ', 'POST ', '/', ' HTTP/1.1', ' HTTP/1.0', '\r\n', '\r\n\r\n', '\n', ' ', ':', '0', '5\r\n'),
      fc.constantFrom('Content-Length: 3', 'Transfer-Encoding: chunked', 'Expect: x', 'Connection: close', 'abc'),
      fc.string({ unit: 'binary', maxLength: 8 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => Buffer.from(parts.join(''), 'latin1'));

test('any bytes are survived, and mean the same however they are split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(nearRequest, fc.uint8Array({ maxLength: 200 })),
      fc.integer({ min: 1, max: 9 }),
      async (bytes, size) => {
        const outputs: string[] = [];
        for (const pieceSize of [Math.max(1, bytes.length), size]) {
          const socket = new MemorySocket();
          const connection = serveHttp1(socket, mirror, {});
          await socket.feed(bytes, pieceSize);
          await socket.feedEnd();
          outputs.push(socket.received.toString('latin1'));
          connection.destroy();
          await connection.finished;
        }
        assert.equal(outputs[1], outputs[0]);
      },
    ),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 500) },
  );
});

test('the last response of a connection arrives whole, however long that takes', async (t) => {
  const size = 64 * 1024 * 1024;
  const port = await listen(t, (_request, reply) => reply.send(200, [], Buffer.alloc(size, 1)), { lingerMs: 1 });
  const socket = net.connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
  let received = 0;
  for await (const chunk of socket) received += (chunk as Buffer).length;
  assert.ok(received > size, `only ${received} bytes came`);
});
