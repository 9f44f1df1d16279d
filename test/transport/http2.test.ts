import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GrpcMethod, type GrpcServerOptions, serveGrpc } from '../../src/transport/grpc/serve-grpc.js';
import { HpackEncoder } from '../../src/transport/http2/hpack/encoder.js';
import type { HeaderField } from '../../src/transport/http2/hpack/static-table.js';
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
  [
    '/t.S/Metadata',
    {
      kind: 'unary',
      handle(call, message) {
        call.send(Buffer.from(call.metadata(Buffer.from(message).toString()) ?? 'none'));
        call.finish(0);
      },
    },
  ],
]);

async function talk(
  parts: readonly Uint8Array[],
  options: GrpcServerOptions = {},
): Promise<{ frames: Frame[]; ended: boolean; socket: MemorySocket }> {
  const socket = new MemorySocket();
  const connection = serveGrpc(socket, methods, options);
  await socket.feed(Buffer.concat([PREFACE, SETTINGS, ...parts]));
  await turn();
  const frames = framesOf(socket.received);
  const ended = socket.writableEnded;
  connection.destroy();
  await connection.finished;
  return { frames, ended, socket };
}

/** Code and reason of the GOAWAY that ended the conversation. */
async function goAway(parts: readonly Uint8Array[], options: GrpcServerOptions = {}): Promise<[number, string]> {
  const { frames, ended } = await talk(parts, options);
  const last = frames.at(-1)!;
  assert.equal(last.type, 7, 'GOAWAY');
  assert.ok(ended);
  return [last.payload.readUInt32BE(4), last.payload.toString('latin1', 8)];
}

test('a response is the same however the request is split', async () => {
  const conversation = Buffer.concat([
    PREFACE,
    SETTINGS,
    call(1),
    frame(6, 0, 0, Buffer.from('12345678')),
    frame(1, 0, 3, block('/t.S/Echo').subarray(0, 10)),
    frame(9, 0, 3, block('/t.S/Echo').subarray(10, 11)),
    frame(9, 4, 3, block('/t.S/Echo').subarray(11)),
    frame(0, 8, 3, Buffer.concat([Buffer.of(3), message('padded').subarray(0, 7), Buffer.alloc(3)])),
    frame(0, 1, 3, message('padded').subarray(7)),
    frame(0xfa, 0, 0, Buffer.from('unknown')),
    call(5, '/t.S/Nothing'),
  ]);
  const outputs = new Set<string>();
  const run = async (feed: (socket: MemorySocket) => Promise<void>): Promise<void> => {
    const socket = new MemorySocket();
    const connection = serveGrpc(socket, methods, {});
    await feed(socket);
    await turn();
    // Frames of different calls may change places with the read that brings them, those of one call may not.
    outputs.add(
      JSON.stringify(framesOf(socket.received).map((f) => [f.type, f.flags, f.stream, f.payload.toString('hex')])),
    );
    connection.destroy();
  };
  await run((socket) => socket.feed(conversation));
  for (let cut = 1; cut < conversation.length; cut++) await run((socket) => socket.feedCut(conversation, cut));
  for (const size of [1, 2, 5]) await run((socket) => socket.feed(conversation, size));
  assert.equal(outputs.size, 1);
  const [output] = outputs;
  assert.ok(output!.includes(message('padded').toString('hex')));
});

test("the peer's windows are kept to, and widened by settings and updates", async () => {
  const socket = new MemorySocket();
  const connection = serveGrpc(socket, methods, {});
  const data = (): string =>
    framesOf(socket.received)
      .filter((f) => f.type === 0)
      .map((f) => f.payload.toString('latin1'))
      .join('');
  await socket.feed(Buffer.concat([PREFACE, setting(4, 3), call(1, '/t.S/Echo', 'abcdefgh')]));
  assert.equal(data().length, 3);
  await socket.feed(frame(8, 0, 1, number(4)));
  assert.equal(data().length, 7);
  await socket.feed(setting(4, 4));
  assert.equal(data().length, 8);
  await socket.feed(setting(4, 0));
  await socket.feed(frame(8, 0, 1, number(3)));
  assert.equal(data().length, 8);
  await socket.feed(frame(8, 0, 1, number(100)));
  assert.equal(data(), message('abcdefgh').toString('latin1'));
  const last = framesOf(socket.received).at(-1)!;
  assert.deepEqual([last.type, last.flags, last.stream], [1, 5, 1]);
  connection.destroy();
});

test("a message larger than the connection's window waits for it", async () => {
  const socket = new MemorySocket();
  const connection = serveGrpc(socket, methods, {});
  const text = 'x'.repeat(70_000);
  const request = [frame(1, 4, 1, block('/t.S/Echo'))];
  const body = message(text);
  for (let at = 0; at < body.length; at += 16_384) {
    request.push(frame(0, at + 16_384 >= body.length ? 1 : 0, 1, body.subarray(at, at + 16_384)));
  }
  await socket.feed(Buffer.concat([PREFACE, setting(4, 1_000_000), ...request]));
  const size = (): number =>
    framesOf(socket.received)
      .filter((f) => f.type === 0)
      .reduce((sum, f) => sum + f.payload.length, 0);
  assert.equal(size(), 65_535);
  await socket.feed(frame(8, 0, 0, number(1_000_000)));
  assert.equal(size(), body.length);
  connection.destroy();
});

const PROTOCOL_ERROR = 1;
const FLOW_CONTROL_ERROR = 3;
const STREAM_CLOSED = 5;
const FRAME_SIZE_ERROR = 6;
const COMPRESSION_ERROR = 9;
const ENHANCE_YOUR_CALM = 11;

test('faults of the connection end it with their code', async () => {
  const faults: Record<string, readonly [number, readonly Uint8Array[]]> = {
    'data on stream 0': [PROTOCOL_ERROR, [frame(0, 0, 0, EMPTY)]],
    'data on an idle stream': [PROTOCOL_ERROR, [frame(0, 0, 1, EMPTY)]],
    'even stream': [PROTOCOL_ERROR, [frame(1, 4, 2, block('/'))]],
    'stream number going back': [PROTOCOL_ERROR, [call(5), frame(1, 5, 3, block('/'))]],
    'headers on a closed stream': [STREAM_CLOSED, [call(1), frame(1, 5, 1, block('/'))]],
    'interrupted header block': [PROTOCOL_ERROR, [frame(1, 0, 1, block('/')), frame(6, 0, 0, Buffer.alloc(8))]],
    'continuation of nothing': [PROTOCOL_ERROR, [frame(9, 4, 1, block('/'))]],
    'settings of 5 bytes': [FRAME_SIZE_ERROR, [frame(4, 0, 0, Buffer.alloc(5))]],
    'settings out of range': [PROTOCOL_ERROR, [setting(5, 1)]],
    'window setting out of range': [FLOW_CONTROL_ERROR, [setting(4, 0x8000_0000)]],
    'ping of 7 bytes': [FRAME_SIZE_ERROR, [frame(6, 0, 0, Buffer.alloc(7))]],
    'frame too large': [FRAME_SIZE_ERROR, [frame(0, 0, 1, Buffer.alloc(16_385))]],
    'padding longer than the frame': [
      PROTOCOL_ERROR,
      [frame(1, 4, 1, block('/t.S/Echo')), frame(0, 8, 1, Buffer.of(9))],
    ],
    'window update of 0': [PROTOCOL_ERROR, [frame(8, 0, 0, number(0))]],
    'window too large': [FLOW_CONTROL_ERROR, [frame(8, 0, 0, number(0x7fff_ffff))]],
    'push promise': [PROTOCOL_ERROR, [frame(5, 4, 1, Buffer.alloc(8))]],
    'reference to no entry': [COMPRESSION_ERROR, [frame(1, 4, 1, Buffer.of(0xff, 0x7f))]],
    'header block cut': [COMPRESSION_ERROR, [frame(1, 4, 1, Buffer.of(0x40, 0x0a, 0x61))]],
  };
  for (const [name, [code, parts]] of Object.entries(faults)) {
    assert.equal((await goAway(parts))[0], code, name);
  }
});

test('what is not HTTP/2 is turned away', async () => {
  const socket = new MemorySocket();
  const connection = serveGrpc(socket, methods, {});
  await socket.feed(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  await turn();
  assert.equal(framesOf(socket.received).at(-1)!.type, 7);
  assert.ok(socket.writableEnded);
  connection.destroy();
});

test('abuse ends in a GOAWAY', async () => {
  const rapid: Buffer[] = [];
  for (let id = 1; id < 2500; id += 2) {
    rapid.push(frame(1, 4, id, block('/t.S/Never')), frame(3, 0, id, number(8)));
  }
  assert.deepEqual(await goAway(rapid), [ENHANCE_YOUR_CALM, 'too many resets']);
  const many = (part: Buffer, count: number): Buffer[] => Array.from({ length: count }, () => part);
  const calm: [number, string] = [ENHANCE_YOUR_CALM, 'too many control frames'];
  assert.deepEqual(await goAway(many(SETTINGS, 20_000)), calm);
  assert.deepEqual(await goAway(many(frame(6, 0, 0, Buffer.alloc(8)), 20_000), { maxPingStrikes: 0 }), calm);
  assert.deepEqual(await goAway(many(frame(2, 0, 1, Buffer.alloc(5)), 20_000)), calm);
  assert.deepEqual(await goAway(many(frame(8, 0, 0, number(1)), 20_000)), calm);
  assert.deepEqual(await goAway([frame(1, 4, 1, block('/t.S/Never')), ...many(frame(0, 0, 1, EMPTY), 20_000)]), calm);
  assert.deepEqual(await goAway(many(frame(6, 0, 0, Buffer.alloc(8)), 10)), [ENHANCE_YOUR_CALM, 'too_many_pings']);
  const endless = [frame(1, 0, 1, block('/t.S/Never')), ...many(frame(9, 0, 1, EMPTY), 100)];
  assert.deepEqual(await goAway(endless), [ENHANCE_YOUR_CALM, 'too many CONTINUATION frames']);
  const field = new HpackEncoder().encode([['a', 'b'.repeat(10_000)]], new Set());
  const large = [frame(1, 0, 1, block('/t.S/Never')), ...many(frame(9, 0, 1, field), 30)];
  assert.deepEqual(await goAway(large), [ENHANCE_YOUR_CALM, 'header block too large']);
});

test('too many streams at a time are refused, one by one', async () => {
  const calls = [1, 3, 5].map((id) => call(id, '/t.S/Never'));
  const { frames, ended } = await talk(calls, { maxConcurrentStreams: 2 });
  const last = frames.at(-1)!;
  assert.deepEqual([last.type, last.stream, last.payload.readUInt32BE(0)], [3, 5, 7]);
  assert.equal(ended, false);
});

test('a header list that is too large is refused, and the connection goes on', async () => {
  // One entry of the table, named again and again: small on the wire, large when spelled out.
  const encoder = new HpackEncoder();
  const big: HeaderField = ['x-big', 'v'.repeat(3000)];
  const fields: HeaderField[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/t.S/Echo'],
    ['content-type', 'application/grpc'],
  ];
  const bomb = encoder.encode([...fields, ...Array.from({ length: 1000 }, () => big)], new Set([big]));
  const { frames, ended } = await talk([frame(1, 5, 1, bomb), call(3)]);
  const text = frames.map((f) => f.payload.toString('latin1')).join('');
  assert.ok(text.includes('received metadata size exceeds limit'));
  assert.ok(text.includes('hello'));
  assert.equal(ended, false);
});

test('a table that the peer makes smaller is not used any more', async () => {
  const { frames } = await talk([setting(1, 0), call(1), call(3)]);
  const heads = frames.filter((f) => f.type === 1 && f.flags === 4);
  assert.equal(heads.length, 2);
  assert.equal(heads[0]!.payload[0], 0x20);
  assert.ok(heads[1]!.payload.includes('application/grpc'));
});

test('metadata keep the blanks at their ends', async () => {
  const parts = [frame(1, 4, 1, block('/t.S/Metadata', ['x-blank', ' a b\t'])), frame(0, 1, 1, message('x-blank'))];
  const { frames } = await talk(parts);
  assert.ok(frames.some((f) => f.type === 0 && f.payload.toString('latin1', 5) === ' a b\t'));
  const refused = await talk([frame(1, 5, 1, block('/t.S/Metadata', ['x-line', 'a\nb']))]);
  assert.ok(refused.frames.some((f) => f.type === 3 && f.payload.readUInt32BE(0) === PROTOCOL_ERROR));
});

test('what is not gRPC gets a plain response', async () => {
  const encoder = new HpackEncoder();
  const get: HeaderField[] = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
  ];
  const { frames } = await talk([frame(1, 5, 1, encoder.encode(get, new Set()))]);
  assert.ok(frames.some((f) => f.type === 0 && f.payload.includes('gRPC')));
});

test('any frames are survived', async () => {
  const anyFrame = fc
    .tuple(
      fc.integer({ min: 0, max: 10 }),
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0, 1, 1, 3, 3, 5, 2),
      fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.constantFrom(block('/t.S/Echo'), block('/t.S/Never'), message('abc'), number(5)),
      ),
    )
    .map(([type, flags, stream, payload]) => frame(type, flags, stream, payload));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(anyFrame, fc.constant(call(1)), fc.uint8Array({ maxLength: 20 }))),
      async (parts) => {
        const { frames } = await talk(parts);
        assert.ok(frames.length > 0);
        assert.equal(frames.at(-1)!.payload.length >= 0, true);
      },
    ),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 500) },
  );
});
