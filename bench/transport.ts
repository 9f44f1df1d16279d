import { type ChildProcess, fork } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { serveGrpc } from '../src/transport/grpc/serve-grpc.js';
import { serveHttp1 } from '../src/transport/http1/serve-http1.js';
import { HpackEncoder } from '../src/transport/http2/hpack/encoder.js';
import type { HeaderField } from '../src/transport/http2/hpack/static-table.js';
import { startBareHttp } from './bare-http.js';
import { startBareHttp2 } from './bare-http2.js';
import { SIMPLE_GRPC_MESSAGE, SIMPLE_HTTP_HEADER, SIMPLE_OUTPUT } from './simple-response.js';

/**
 * Compares our connections with node:http and node:http2: every server in a process of its own sends the same fixed
 * bytes to the same client, which writes prepared bytes to raw sockets. Run: node dist/bench/transport.js [seconds]
 */

const CONCURRENCY = 16;

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  'node:http': async () => (await startBareHttp(0)).port,
  'our HTTP/1.1': () => listen(ourHttp),
  'node:http2': async () => (await startBareHttp2(0)).port,
  'our HTTP/2': () => listen(ourGrpc),
};

function ourHttp(socket: Socket): void {
  const length = String(SIMPLE_HTTP_HEADER.length);
  const header = Buffer.from(SIMPLE_HTTP_HEADER);
  serveHttp1(
    socket,
    (request, reply) => {
      const size = Number(request.header('inference-header-content-length') ?? request.body.length);
      JSON.parse(Buffer.from(request.body.buffer, request.body.byteOffset, size).toString('utf8'));
      reply.send(
        200,
        [
          ['Content-Type', 'application/octet-stream'],
          ['Inference-Header-Content-Length', length],
        ],
        [header, SIMPLE_OUTPUT, SIMPLE_OUTPUT],
      );
    },
    {},
  );
}

const ANSWER = SIMPLE_GRPC_MESSAGE.subarray(5);

function ourGrpc(socket: Socket): void {
  serveGrpc(
    socket,
    new Map([
      [
        '/inference.GRPCInferenceService/ModelInfer',
        {
          kind: 'unary',
          handle(call) {
            call.send(ANSWER);
            call.finish(0);
          },
        },
      ],
    ]),
    {},
  );
}

function listen(serve: (socket: Socket) => void): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, serve);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

const INPUT_HEADER = JSON.stringify({
  inputs: ['INPUT0', 'INPUT1'].map((name) => ({
    name,
    datatype: 'INT32',
    shape: [1, 16],
    parameters: { binary_data_size: 64 },
  })),
  parameters: { binary_data_output: true },
});

/** One request after the other on each of some connections. */
async function loadHttp(port: number, ms: number): Promise<number> {
  const body = Buffer.concat([Buffer.from(INPUT_HEADER), SIMPLE_OUTPUT, SIMPLE_OUTPUT]);
  const request = Buffer.concat([
    Buffer.from(
      `POST /v2/models/simple/infer HTTP/1.1\r\nHost: localhost:8000\r\nAccept: */*\r\nUser-Agent: bench\r\n` +
        `Inference-Header-Content-Length: ${INPUT_HEADER.length}\r\nContent-Length: ${body.length}\r\n\r\n`,
    ),
    body,
  ]);
  const answerBody = SIMPLE_HTTP_HEADER.length + 2 * SIMPLE_OUTPUT.length;
  let done = 0;
  const sockets = await Promise.all(Array.from({ length: CONCURRENCY }, () => open(port)));
  for (const socket of sockets) {
    let expected = 0;
    let got = 0;
    socket.on('data', (chunk: Buffer) => {
      if (expected === 0) expected = chunk.indexOf('\r\n\r\n') + 4 + answerBody;
      got += chunk.length;
      if (got < expected) return;
      got = 0;
      done++;
      socket.write(request);
    });
    socket.write(request);
  }
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (const socket of sockets) socket.destroy();
  return done;
}

/** Some requests in flight on one connection. */
async function loadGrpc(port: number, ms: number): Promise<number> {
  const fields: HeaderField[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/inference.GRPCInferenceService/ModelInfer'],
    [':authority', 'localhost:8001'],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ['user-agent', 'bench'],
  ];
  const encoder = new HpackEncoder();
  let stream = -1;
  const request = (): Buffer => {
    stream += 2;
    const block = encoder.encode(fields, new Set(fields));
    return Buffer.concat([frame(1, 4, stream, block), frame(0, 1, stream, SIMPLE_GRPC_MESSAGE)]);
  };
  const socket = await open(port);
  let done = 0;
  let rest: Buffer = Buffer.alloc(0);
  let received = 0;
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const out: Buffer[] = [];
    let at = 0;
    while (bytes.length - at >= 9) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at < 9 + length) break;
      const type = bytes[at + 3]!;
      const flags = bytes[at + 4]!;
      if (type === 0) received += length;
      if (type === 4 && (flags & 1) === 0) out.push(frame(4, 1, 0, Buffer.alloc(0)));
      if (type <= 1 && (flags & 1) === 1) {
        done++;
        out.push(request());
      }
      at += 9 + length;
    }
    rest = bytes.subarray(at);
    if (received > 1_000_000) {
      const by = Buffer.alloc(4);
      by.writeUInt32BE(received);
      out.push(frame(8, 0, 0, by));
      received = 0;
    }
    if (out.length > 0) socket.write(Buffer.concat(out));
  });
  const window = Buffer.alloc(4);
  window.writeUInt32BE(16 * 1024 * 1024);
  socket.write(
    Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frame(4, 0, 0, Buffer.alloc(0)),
      frame(8, 0, 0, window),
      ...Array.from({ length: CONCURRENCY }, request),
    ]),
  );
  await new Promise((resolve) => setTimeout(resolve, ms));
  socket.destroy();
  return done;
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.on('error', reject);
  });
}

interface Row {
  readonly perSecond: number;
  readonly cpuUs: number;
}

async function measure(name: string, ms: number): Promise<Row> {
  const child = fork(fileURLToPath(import.meta.url), ['--serve', name]);
  const { port } = await message<{ port: number }>(child);
  const load = name.includes('2') ? loadGrpc : loadHttp;
  await load(port, ms / 4);
  const before = await cpu(child);
  const done = await load(port, ms);
  const after = await cpu(child);
  child.kill();
  return { perSecond: (done / ms) * 1000, cpuUs: (after - before) / done };
}

async function cpu(child: ChildProcess): Promise<number> {
  child.send('cpu');
  return (await message<{ cpu: number }>(child)).cpu;
}

function message<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (value) => resolve(value as T)));
}

async function main(): Promise<void> {
  const ms = Number(process.argv[2] ?? 3) * 1000;
  for (const [reference, ours] of [
    ['node:http', 'our HTTP/1.1'],
    ['node:http2', 'our HTTP/2'],
  ] as const) {
    const theirs = await measure(reference, ms);
    const own = await measure(ours, ms);
    for (const [name, row] of [
      [reference, theirs],
      [ours, own],
    ] as const) {
      console.log(
        `${name.padEnd(14)} ${row.perSecond.toFixed(0).padStart(7)}/s ${row.cpuUs.toFixed(1).padStart(7)} us/request`,
      );
    }
    console.log(
      `${''.padEnd(14)} ${(own.perSecond / theirs.perSecond).toFixed(2)} times the requests, ${(theirs.cpuUs / own.cpuUs).toFixed(2)} times less CPU`,
    );
  }
}

if (process.argv[2] === '--serve') {
  const port = await SERVERS[process.argv[3]!]!();
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send!({ cpu: user + system });
  });
  process.send!({ port });
} else await main();
