/** What a peer can make a connection hold, and for how long. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ByteBudget } from '../../src/transport/byte-budget.js';
import { DirectSocket } from '../../src/transport/direct-socket.js';
import {
  type Http1Connection,
  type Http1Handler,
  type Http1Options,
  serveHttp1,
} from '../../src/transport/http1/serve-http1.js';
import { MemorySocket, turn } from '../support/wire/memory-socket.js';

const ok: Http1Handler = (_request, reply) => reply.send(200, [], Buffer.from('ok'));

/** Real sockets, read as the server reads them. */
async function listen(
  t: TestContext,
  handler: Http1Handler,
  options: Http1Options,
  served: (connection: Http1Connection) => void = () => {},
): Promise<number> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    const direct = DirectSocket.take(socket);
    served(serveHttp1(direct ?? socket, handler, options));
    if (direct === undefined) socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends, then collects what comes until the server closes. */
async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(bytes);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

async function answer(raw: string, handler: Http1Handler = ok, options: Http1Options = {}) {
  const socket = new MemorySocket();
  const connection = serveHttp1(socket, handler, options);
  await socket.feed(Buffer.from(raw, 'latin1'));
  await turn();
  const result = { text: socket.received.toString('latin1'), ended: socket.writableEnded };
  connection.destroy();
  await connection.finished;
  return result;
}

test('announced bodies take nothing of the budget, bodies that come take what is reserved for them', async (t) => {
  const requestBudget = new ByteBudget(10_000_000);
  const port = await listen(t, ok, { requestBudget });
  const sockets = Array.from({ length: 40 }, () => net.connect(port, '127.0.0.1'));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nContent-Length: 2000000000\r\n\r\n');
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(requestBudget.used, 0);
  // What does not fit is refused, whoever it is; what was taken comes back.
  const text = await exchange(
    port,
    Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nContent-Length: 12000000\r\n\r\n'), Buffer.alloc(12_000_000)]),
  );
  assert.match(
    text,
    /^HTTP\/1\.1 503 Service Unavailable\r\n.*Connection: close\r\n\r\n\{"error":"the requests that the server holds /s,
  );
  const chunked = `${'20000\r\n'}${'x'.repeat(0x20000)}\r\n`.repeat(100);
  const long = await exchange(port, `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}0\r\n\r\n`);
  assert.match(long, /^HTTP\/1\.1 503 /);
  const fits = Buffer.alloc(5_000_000);
  assert.match(
    await exchange(
      port,
      Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 5000000\r\n\r\n'), fits]),
    ),
    /^HTTP\/1\.1 200 OK/,
  );
  assert.equal(requestBudget.used, 0);
});

test('a body is held until its response is complete, or its client has gone', async (t) => {
  const requestBudget = new ByteBudget(10_000_000);
  const replies: (() => void)[] = [];
  const port = await listen(
    t,
    (_request, reply) => {
      assert.equal(reply.hold(1_000_000), true);
      assert.equal(reply.hold(10_000_000), false);
      // Somebody works on the response who would stop.
      reply.onClose(() => {});
      replies.push(() => reply.send(200, []));
    },
    { requestBudget },
  );
  const send = () => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n'), Buffer.alloc(2e6)]));
    return socket;
  };
  const first = send();
  while (replies.length < 1) await new Promise(setImmediate);
  assert.equal(requestBudget.used, 3_000_000);
  replies[0]!();
  assert.equal(requestBudget.used, 0);
  first.destroy();
  const second = send();
  while (replies.length < 2) await new Promise(setImmediate);
  second.destroy();
  while (requestBudget.used > 0) await new Promise(setImmediate);
});

test('a client that closes while it waits has gone; one that only ended its side is answered where that is wanted', async (t) => {
  for (const halfClose of [false, true]) {
    let gone = 0;
    let finish = () => {};
    const received = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let send = () => {};
    const port = await listen(
      t,
      (_request, reply) => {
        reply.onClose(() => gone++);
        send = () => reply.send(200, [], Buffer.from('late'));
        finish();
      },
      { halfClose },
    );
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await received;
    socket.end();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(gone, halfClose ? 0 : 1);
    send();
    if (!socket.closed) await once(socket, 'close');
    assert.equal(text.endsWith('late'), halfClose);
  }
});

test('a response that nobody would stop is sent to a peer that has ended its side', async (t) => {
  const port = await listen(
    t,
    (_request, reply) => {
      setTimeout(() => reply.send(200, [], Buffer.from('soon')), 50);
    },
    {},
  );
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  assert.match(text, /^HTTP\/1\.1 200 .*soon$/s);
});

test('peers that stop, or trickle, inside a head or a body are cut; those that wait or idle are not', async (t) => {
  const stallTimeoutMs = 300;
  let finish = () => {};
  const port = await listen(
    t,
    (request, reply) => {
      if (request.path === '/slow') finish = () => reply.send(200, [], Buffer.from('done'));
      else reply.send(200, []);
    },
    { stallTimeoutMs },
  );
  const open = (bytes: string) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes);
    return socket;
  };
  const stuck = [
    'GET / HT',
    'GET / HTTP/1.1\r\nHo',
    'POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n',
    'POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\nabc',
    'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
  ].map(open);
  const trickling = [
    open('GET / HTTP/1.1\r\nX: '),
    open('POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n'),
    open('POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n'),
  ];
  const drip = setInterval(() => {
    for (const socket of trickling) if (!socket.destroyed) socket.write('a');
  }, 50);
  t.after(() => clearInterval(drip));
  const idle = open('GET / HTTP/1.1\r\n\r\n');
  const waiting = open('GET /slow HTTP/1.1\r\n\r\n');
  t.after(() => {
    idle.destroy();
    waiting.destroy();
  });
  await Promise.all([...stuck, ...trickling].map((socket) => (socket.closed ? undefined : once(socket, 'close'))));
  await new Promise((resolve) => setTimeout(resolve, 2 * stallTimeoutMs));
  assert.equal(idle.closed || idle.readableEnded, false);
  let text = '';
  waiting.on('data', (chunk) => {
    text += chunk;
  });
  finish();
  while (!text.endsWith('done')) await once(waiting, 'data');
});

test('responses that nobody reads are counted, refused beyond the budget, and cut after a time', async (t) => {
  const responseBudget = new ByteBudget(50_000_000);
  const body = Buffer.alloc(30_000_000);
  const port = await listen(t, (_request, reply) => reply.send(200, [], body), {
    responseBudget,
    stallTimeoutMs: 1000,
  });
  const reluctant = net.connect(port, '127.0.0.1');
  reluctant.pause();
  reluctant.on('error', () => {});
  reluctant.write('GET / HTTP/1.1\r\n\r\n');
  while (responseBudget.used === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const refused = await exchange(port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
  assert.match(refused, /^HTTP\/1\.1 503 .*--response-memory-limit/s);
  // Nothing is read on, so the connection is cut, and there is room again.
  while (responseBudget.used > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const read = await exchange(port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
  assert.match(read, /^HTTP\/1\.1 200 /);
  while (responseBudget.used > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  reluctant.destroy();
});

test('a stop waits for accepted work only, and not for peers that do not read it', async (t) => {
  const connections: Http1Connection[] = [];
  let finish = () => {};
  const port = await listen(
    t,
    (_request, reply) => {
      finish = () => reply.send(200, [], Buffer.alloc(30_000_000));
    },
    { lingerMs: 200 },
    (connection) => connections.push(connection),
  );
  const sockets = ['', 'GET / HT', 'POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc', 'GET / HTTP/1.1\r\n\r\n'].map(
    (bytes) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.pause();
      socket.on('error', () => {});
      socket.write(bytes);
      return socket;
    },
  );
  while (connections.length < 4 || !connections.some(({ inFlight }) => inFlight > 0)) await new Promise(setImmediate);
  for (const connection of connections) connection.shutdown();
  await Promise.all(connections.filter(({ inFlight }) => inFlight === 0).map(({ finished }) => finished));
  finish();
  await Promise.all(connections.map(({ finished }) => finished));
  for (const socket of sockets) socket.destroy();
});

test('what throws inside a connection ends it, and is reported once', async () => {
  const errors: unknown[] = [];
  const requestBudget = new ByteBudget(Number.POSITIVE_INFINITY);
  requestBudget.take = () => {
    throw new RangeError('Array buffer allocation failed');
  };
  const socket = new MemorySocket();
  const connection = serveHttp1(socket, ok, { requestBudget, onHandlerError: (error) => errors.push(error) });
  await socket.feed(Buffer.from('POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\nabc'));
  await connection.finished;
  assert.equal(errors.length, 1);
});

test('responses keep to what HTTP/1.0, HEAD and the status allow', async () => {
  const head = await answer('HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n');
  assert.equal(
    head.text,
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\n' +
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok',
  );
  const stream: Http1Handler = (_request, reply) => {
    const body = reply.startChunked(200, []);
    body.write('one');
    body.write('two');
    body.end();
  };
  assert.deepEqual(await answer('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', stream), {
    text: 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nonetwo',
    ended: true,
  });
  assert.equal(
    (await answer('HEAD / HTTP/1.1\r\n\r\n', stream)).text,
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n',
  );
  const nothing: Http1Handler = (_request, reply) => reply.send(204, [['A', 'b']]);
  assert.equal((await answer('GET / HTTP/1.1\r\n\r\n', nothing)).text, 'HTTP/1.1 204 No Content\r\nA: b\r\n\r\n');
});

test('100 Continue comes only before a body that is wanted, and never to HTTP/1.0', async () => {
  const expecting = (version: string, length: number): string =>
    `POST / HTTP/${version}\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
  assert.equal((await answer(expecting('1.1', 5))).text, 'HTTP/1.1 100 Continue\r\n\r\n');
  assert.match((await answer(expecting('1.1', 99_999_999_999))).text, /^HTTP\/1\.1 413 /);
  assert.match((await answer(expecting('1.1', 0))).text, /^HTTP\/1\.1 200 /);
  assert.equal((await answer(expecting('1.0', 5))).text, '');
});

test('HTTP/1.1 names one host', async () => {
  const options = { requireHost: true };
  assert.match((await answer('GET / HTTP/1.1\r\n\r\n', ok, options)).text, /^HTTP\/1\.1 400 .*no Host header/s);
  assert.match((await answer('GET / HTTP/1.1\r\nHost: a\r\n\r\n', ok, options)).text, /^HTTP\/1\.1 200 /);
  assert.match((await answer('GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n', ok, options)).text, /^HTTP\/1\.1 400 /);
  assert.match((await answer('GET / HTTP/1.0\r\n\r\n', ok, options)).text, /^HTTP\/1\.0 200 /);
});

test('of a length and chunks, chunks win, and the connection closes behind the response', async () => {
  const seen: string[] = [];
  const handler: Http1Handler = (request, reply) => {
    seen.push(Buffer.from(request.body).toString());
    reply.send(200, []);
  };
  for (const headers of [
    'Content-Length: 3\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 99',
  ]) {
    const raw = `POST / HTTP/1.1\r\n${headers}\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`;
    const { text, ended } = await answer(raw, handler);
    assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 1);
    assert.match(text, /Connection: close/);
    assert.ok(ended);
  }
  assert.deepEqual(seen, ['hello', 'hello']);
});
