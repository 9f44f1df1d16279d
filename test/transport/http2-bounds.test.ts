/** Bounds on what a peer can make an HTTP/2 connection hold or compute, and on how long it may take. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { serverReflection } from '../../src/server/grpc/handlers/reflection.js';
import { ByteBudget } from '../../src/transport/byte-budget.js';
import {
  type GrpcCall,
  type GrpcConnection,
  type GrpcMethod,
  type GrpcServerOptions,
  serveGrpc,
} from '../../src/transport/grpc/serve-grpc.js';
import { MemorySocket, turn } from '../support/wire/memory-socket.js';
import {
  block,
  call,
  EMPTY,
  type Frame,
  frame,
  framesOf,
  message,
  number,
  PREFACE,
  SETTINGS,
  setting,
} from '../support/wire/raw-frames.js';

// The connections' timers do not keep a process alive; these tests wait for them.
const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

const NO_ERROR = 0;
const REFUSED_STREAM = 7;
const CANCEL = 8;
const ENHANCE_YOUR_CALM = 11;
const Type = { DATA: 0, HEADERS: 1, RST_STREAM: 3, GOAWAY: 7 } as const;

const methods = new Map<string, GrpcMethod>([
  [
    '/t.S/Echo',
    {
      kind: 'unary',
      handle(call, message) {
        call.send(message);
        call.finish(0);
      },
    },
  ],
  ['/t.S/Never', { kind: 'unary', handle() {} }],
  ['/t.S/Open', { kind: 'stream', open: () => ({ onMessage() {}, onHalfClose() {} }) }],
  ['/t.S/Reflection', serverReflection(undefined, () => {})],
]);

interface Talk {
  readonly socket: MemorySocket;
  readonly connection: GrpcConnection;
  frames(): Frame[];
  /** Frames of one type. */
  only(type: number): Frame[];
}

async function connect(options: GrpcServerOptions = {}, served = methods): Promise<Talk> {
  const socket = new MemorySocket();
  const connection = serveGrpc(socket, served, options);
  await socket.feed(Buffer.concat([PREFACE, SETTINGS]));
  const frames = () => framesOf(socket.received);
  return { socket, connection, frames, only: (type) => frames().filter((f) => f.type === type) };
}

async function until(done: () => boolean, what: string): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (done()) {
      // What was written by what has happened leaves at the end of the turn.
      await turn();
      return;
    }
    await delay(5);
  }
  assert.fail(`${what} within 10 s`);
}

/** Code of the last RST_STREAM or GOAWAY. */
const codeOf = ({ type, payload }: Frame): number => payload.readUInt32BE(type === Type.GOAWAY ? 4 : 0);

test('streams that the peer makes us reset count like those it resets (CVE-2025-8671)', async () => {
  const provoke: Record<string, (id: number) => Buffer> = {
    'window widened by nothing': (id) => frame(8, 0, id, number(0)),
    'window too large': (id) => frame(8, 0, id, number(0x7fff_ffff)),
    'data behind the end': (id) => frame(0, 0, id, Buffer.of(1)),
    'headers behind the end': (id) => frame(1, 5, id, block('/t.S/Never')),
    'priority of a wrong size': (id) => frame(2, 0, id, Buffer.alloc(4)),
    'dependency on itself': (id) => frame(2, 0, id, Buffer.concat([number(id), Buffer.of(1)])),
  };
  for (const [name, fault] of Object.entries(provoke)) {
    const peer = await connect({ resetRefillPerSecond: 0 });
    let handled = 0;
    for (let id = 1; id < 5000 && !peer.socket.writableEnded; id += 2) {
      await peer.socket.feed(Buffer.concat([call(id, '/t.S/Never', 'x'), fault(id)]));
      handled++;
    }
    const last = peer.frames().at(-1)!;
    assert.equal(last.type, Type.GOAWAY, name);
    assert.equal(codeOf(last), ENHANCE_YOUR_CALM, name);
    assert.equal(last.payload.toString('latin1', 8), 'too many resets', name);
    assert.ok(handled <= 1001, `${name}: ${handled} requests`);
    peer.connection.destroy();
  }
});

test('calls that the peer makes us end before it has sent them count too', async () => {
  const peer = await connect({ resetRefillPerSecond: 0 });
  const wrong = Buffer.from([9, 0, 0, 0, 0]);
  let calls = 0;
  for (let id = 1; id < 5000 && !peer.socket.writableEnded; id += 2) {
    await peer.socket.feed(Buffer.concat([frame(1, 4, id, block('/t.S/Open')), frame(0, 0, id, wrong)]));
    calls++;
  }
  assert.equal(codeOf(peer.only(Type.GOAWAY).at(-1)!), ENHANCE_YOUR_CALM);
  assert.ok(calls <= 1001, `${calls} calls`);
  peer.connection.destroy();
});

test('a change of all windows costs no look at all streams each time', async () => {
  const peer = await connect();
  const opened: Buffer[] = [];
  for (let id = 1; id < 20_000; id += 2) opened.push(frame(1, 4, id, block('/t.S/Open')));
  await peer.socket.feed(Buffer.concat(opened));
  assert.equal(peer.connection.inFlight, 10_000);
  // 27 million changes of a window in all, once; before, each of them was made on each stream.
  const changes = Buffer.concat(
    Array.from({ length: 2700 }, (_, i) => Buffer.concat([Buffer.of(0, 4), number(1000 + (i % 7))])),
  );
  const start = performance.now();
  await peer.socket.feed(Buffer.concat(Array.from({ length: 100 }, () => frame(4, 0, 0, changes))), 64 * 1024);
  assert.ok(performance.now() - start < 10_000, `${performance.now() - start} ms`);
  assert.equal(peer.socket.writableEnded, false);
  peer.connection.destroy();
});

test('windows that become too large by the setting end the connection; those that open send on', async () => {
  const peer = await connect();
  await peer.socket.feed(Buffer.concat([frame(1, 4, 1, block('/t.S/Open')), frame(8, 0, 1, number(0x7000_0000))]));
  await peer.socket.feed(setting(4, 0x7fff_ffff));
  assert.equal(codeOf(peer.only(Type.GOAWAY).at(-1)!), 3);
  peer.connection.destroy();
  const other = await connect();
  await other.socket.feed(Buffer.concat([setting(4, 0), call(1, '/t.S/Echo', 'hello'), setting(4, 1), setting(4, 3)]));
  assert.equal(Buffer.concat(other.only(Type.DATA).map((f) => f.payload)).length, 3);
  other.connection.destroy();
});

test('millions of small messages let others have their turn, also after a pause', async () => {
  const count = 400_000;
  let handled = 0;
  let stream: GrpcCall | undefined;
  const busy = new Map<string, GrpcMethod>([
    ...methods,
    [
      '/t.S/Count',
      {
        kind: 'stream',
        open(call) {
          stream = call;
          return {
            onMessage() {
              if (handled++ === 0) call.pause();
              // As long as a small request takes.
              const end = performance.now() + 0.005;
              while (performance.now() < end);
            },
            onHalfClose: () => call.finish(0),
          };
        },
      },
    ],
  ]);
  const peer = await connect({}, busy);
  const empty = Buffer.alloc(5 * 3000);
  const parts = [frame(1, 4, 1, block('/t.S/Count'))];
  for (let sent = 0; sent < count; sent += 3000)
    parts.push(frame(0, 0, 1, empty.subarray(0, 5 * Math.min(3000, count - sent))));
  parts.push(frame(0, 1, 1, EMPTY));
  await peer.socket.feed(Buffer.concat(parts), 64 * 1024);
  assert.equal(handled, 1);
  let longest = 0;
  let last = performance.now();
  stream!.resume();
  while (handled < count) {
    await new Promise((resolve) => setImmediate(resolve));
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }
  assert.ok(longest < 1000, `one turn took ${longest} ms`);
  await turn();
  assert.equal(peer.only(Type.HEADERS).at(-1)!.flags, 5);
  peer.connection.destroy();
});

test('announced sizes reserve nothing', async () => {
  const peer = await connect();
  const before = process.memoryUsage().arrayBuffers;
  const parts: Buffer[] = [];
  for (let id = 1; id < 400; id += 2) {
    parts.push(frame(1, 4, id, block('/t.S/Echo')), frame(0, 0, id, Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1])));
  }
  await peer.socket.feed(Buffer.concat(parts));
  assert.equal(peer.connection.inFlight, 200);
  const reserved = process.memoryUsage().arrayBuffers - before;
  // 8 MB each, before.
  assert.ok(reserved < 200 * 200_000, `${reserved} bytes for 200 announcements`);
  peer.connection.destroy();
});

test('whatever is thrown inside a connection ends it, is reported once, and leaves the others alone', async () => {
  const errors: unknown[] = [];
  class Faulty extends Map<string, GrpcMethod> {
    override get(path: string): GrpcMethod | undefined {
      if (path === '/t.S/Fault') throw new RangeError('array buffer allocation failed');
      return super.get(path);
    }
  }
  const options = { onHandlerError: (error: unknown) => errors.push(error) };
  const faulty = new Faulty(methods);
  const other = await connect(options, faulty);
  const peer = await connect(options, faulty);
  await peer.socket.feed(Buffer.concat([call(1, '/t.S/Never'), call(3, '/t.S/Fault'), call(5, '/t.S/Fault')]));
  await peer.connection.finished;
  assert.match(String(errors), /^RangeError: array buffer allocation failed$/);
  await other.socket.feed(call(1, '/t.S/Echo', 'still here'));
  assert.ok(other.socket.received.includes('still here'));
  other.connection.destroy();
});

test('what is half-sent and makes no progress is cut; what is idle is not', async () => {
  const options = { readTimeoutMs: 200 };
  const silent = new MemorySocket();
  const preface = serveGrpc(silent, methods, options);
  await silent.feed(PREFACE.subarray(0, 10));
  const header = await connect(options);
  await header.socket.feed(frame(1, 0, 1, block('/t.S/Echo').subarray(0, 5)));
  const cut = await connect(options);
  await cut.socket.feed(frame(6, 0, 0, Buffer.alloc(8)).subarray(0, 12));
  const request = await connect(options);
  await request.socket.feed(
    Buffer.concat([frame(1, 4, 1, block('/t.S/Echo')), frame(0, 0, 1, message('hello').subarray(0, 7))]),
  );
  const idle = await connect(options);
  await idle.socket.feed(Buffer.concat([frame(1, 4, 1, block('/t.S/Open')), frame(0, 0, 1, message('complete'))]));
  await Promise.all([preface.finished, header.connection.finished, cut.connection.finished]);
  await until(() => request.connection.inFlight === 0, 'the half-sent request ended');
  assert.ok(request.socket.received.includes('the request is incomplete and has made no progress for 200 ms'));
  await delay(500);
  assert.equal(idle.connection.inFlight, 1);
  assert.equal(idle.socket.destroyed, false);
  for (const { connection } of [request, idle]) connection.destroy();
});

test('a response that the peer does not take is dropped after a time, and at its deadline', async () => {
  const slow = await connect({ writeTimeoutMs: 200 });
  await slow.socket.feed(Buffer.concat([setting(4, 0), call(1)]));
  assert.equal(slow.connection.inFlight, 1);
  await until(() => slow.connection.inFlight === 0, 'the response was dropped');
  assert.deepEqual(slow.only(Type.RST_STREAM).map(codeOf), [CANCEL]);
  slow.connection.destroy();
  const late = await connect();
  const head = frame(1, 4, 1, block('/t.S/Echo', ['grpc-timeout', '100m']));
  await late.socket.feed(Buffer.concat([setting(4, 0), head, frame(0, 1, 1, message('x'))]));
  assert.equal(late.connection.inFlight, 1);
  await until(() => late.connection.inFlight === 0, 'the deadline passed');
  assert.deepEqual(late.only(Type.RST_STREAM).map(codeOf), [CANCEL]);
  late.connection.destroy();
});

test('responses behind closed windows are bounded, for the connection and for the process', async () => {
  const sendBudget = new ByteBudget(1_000_000);
  const peer = await connect({ maxSendQueue: 100_000, sendBudget });
  const parts = [setting(4, 0)];
  for (let id = 1; id < 2000; id += 2) parts.push(call(id, '/t.S/Echo', 'x'.repeat(1000)));
  await peer.socket.feed(Buffer.concat(parts), 10_000);
  assert.ok(peer.connection.inFlight < 110, `${peer.connection.inFlight} responses wait`);
  assert.ok(peer.only(Type.RST_STREAM).every((f) => codeOf(f) === REFUSED_STREAM));
  assert.ok(sendBudget.used > 50_000 && sendBudget.used < 200_000, `${sendBudget.used} bytes are counted`);
  // The process is full: another connection's large response fails with a status.
  const other = await connect({ sendBudget: new ByteBudget(10_000) });
  await other.socket.feed(Buffer.concat([call(1, '/t.S/Echo', 'y'.repeat(12_000))]));
  assert.ok(other.socket.received.includes('too many bytes of responses wait to be read'));
  for (const each of [peer, other]) {
    each.connection.destroy();
    await each.connection.finished;
  }
  assert.equal(sendBudget.used, 0);
});

test('reflection does not answer a peer that does not read', async () => {
  const sendBudget = new ByteBudget(1_000_000_000);
  const peer = await connect({ sendBudget });
  const symbol = 'inference.GRPCInferenceService';
  const request = Buffer.concat([Buffer.of(0x22, symbol.length), Buffer.from(symbol)]);
  const asked = message(request.toString('latin1'));
  const many = Buffer.concat(Array.from({ length: 400 }, () => asked));
  const parts = [setting(4, 0), frame(1, 4, 1, block('/t.S/Reflection'))];
  for (let i = 0; i < 50; i++) parts.push(frame(0, 0, 1, many));
  await peer.socket.feed(Buffer.concat(parts), 64 * 1024);
  assert.ok(sendBudget.used > 1000, `${sendBudget.used} bytes of responses wait`);
  assert.ok(sendBudget.used < 2_000_000, `${sendBudget.used} bytes of responses wait for 20,000 requests`);
  peer.connection.destroy();
});

test('what is inflated is bounded by message, and counted while it is', async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  const compressed = Buffer.concat([Buffer.of(1), number(bomb.length), bomb]);
  const request = (id: number) =>
    Buffer.concat([frame(1, 4, id, block('/t.S/Never', ['grpc-encoding', 'gzip'])), frame(0, 1, id, compressed)]);
  const small = await connect({ maxInflatedMessageSize: 1_000_000 });
  await small.socket.feed(request(1));
  await until(() => small.connection.inFlight === 0, 'the bomb was refused');
  assert.ok(small.socket.received.includes('Received message larger than max (more than 1000000)'));
  small.connection.destroy();
  const requestBudget = new ByteBudget(25_000_000);
  const peer = await connect({ requestBudget });
  await peer.socket.feed(Buffer.concat([request(1), request(3), request(5)]));
  await until(() => peer.connection.inFlight === 2, 'one of three was refused');
  assert.ok(peer.socket.received.includes('the requests that the server holds leave no room for this one'));
  await until(() => requestBudget.used === 20_000_000, 'the others were inflated');
  peer.connection.destroy();
  await peer.connection.finished;
  assert.equal(requestBudget.used, 0);
});

test('what is inflated for a call that was cancelled meanwhile is not counted, and not inflated to its end', async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  const compressed = Buffer.concat([Buffer.of(1), number(bomb.length), bomb]);
  const requestBudget = new ByteBudget(1_000_000_000);
  const peer = await connect({ requestBudget });
  for (let id = 1; id < 20; id += 2) {
    const head = frame(1, 4, id, block('/t.S/Never', ['grpc-encoding', 'gzip']));
    await peer.socket.feed(Buffer.concat([head, frame(0, 1, id, compressed)]), 64 * 1024);
    await until(() => requestBudget.used > 1_000_000, 'inflating has begun');
    await peer.socket.feed(frame(3, 0, id, number(CANCEL)));
    assert.equal(requestBudget.used, 0);
  }
  // Whatever would still be inflated is by then.
  await delay(500);
  assert.equal(requestBudget.used, 0);
  peer.connection.destroy();
  await peer.connection.finished;
  assert.equal(requestBudget.used, 0);
});

test('requests are counted as they arrive, and until whoever retains them lets go', async () => {
  const requestBudget = new ByteBudget(100_000);
  let release: (() => void) | undefined;
  const retaining = new Map<string, GrpcMethod>([
    ...methods,
    [
      '/t.S/Retain',
      {
        kind: 'unary',
        handle(call) {
          release = call.retain();
          call.finish(0);
        },
      },
    ],
  ]);
  const peer = await connect({ requestBudget }, retaining);
  await peer.socket.feed(
    Buffer.concat([frame(1, 4, 1, block('/t.S/Never')), frame(0, 0, 1, Buffer.from([0, 0, 0, 39, 16, 1]))]),
  );
  assert.equal(requestBudget.used, 6);
  await peer.socket.feed(call(3, '/t.S/Retain', 'x'.repeat(1000)));
  assert.equal(requestBudget.used, 6 + 1005);
  release!();
  release!();
  assert.equal(requestBudget.used, 6);
  await peer.socket.feed(call(5, '/t.S/Echo', 'x'.repeat(16_000)));
  assert.equal(requestBudget.used, 6);
  await peer.socket.feed(frame(3, 0, 1, number(CANCEL)));
  assert.equal(requestBudget.used, 0);
  peer.connection.destroy();
});

test('a stop does not wait for peers that do nothing, and finishes what was accepted', async () => {
  const idle = await connect();
  const half = await connect();
  await half.socket.feed(frame(1, 4, 1, block('/t.S/Echo')));
  let respond: (() => void) | undefined;
  const busy = await connect(
    {},
    new Map<string, GrpcMethod>([
      [
        '/t.S/Later',
        {
          kind: 'unary',
          handle(call, message) {
            respond = () => {
              call.send(message);
              call.finish(0);
            };
          },
        },
      ],
    ]),
  );
  await busy.socket.feed(call(1, '/t.S/Later', 'accepted'));
  const start = performance.now();
  for (const { connection } of [idle, half, busy]) connection.shutdown();
  await Promise.all([idle.connection.finished, half.connection.finished]);
  assert.ok(performance.now() - start < 5000, `${performance.now() - start} ms`);
  assert.deepEqual(half.only(Type.RST_STREAM).map(codeOf), [REFUSED_STREAM]);
  assert.deepEqual(idle.only(Type.GOAWAY).map(codeOf), [NO_ERROR, NO_ERROR]);
  assert.equal(busy.connection.inFlight, 1);
  respond!();
  await busy.connection.finished;
  assert.ok(busy.socket.received.includes('accepted'));
});

test('header fields without name or value are bounded like others', async () => {
  // 16,000 empty fields: 2 bytes each on the wire, 32 in the list.
  const fields = Buffer.concat([Buffer.from(block('/t.S/Echo')), Buffer.alloc(16_000 * 3)]);
  const parts = [frame(1, 1, 1, fields.subarray(0, 16_000))];
  for (let at = 16_000; at < fields.length; at += 16_000) {
    parts.push(frame(9, at + 16_000 >= fields.length ? 4 : 0, 1, fields.subarray(at, at + 16_000)));
  }
  const peer = await connect();
  await peer.socket.feed(Buffer.concat(parts));
  assert.ok(peer.socket.received.includes('received metadata size exceeds limit') || peer.socket.writableEnded);
  await peer.socket.feed(call(3));
  peer.connection.destroy();
});
