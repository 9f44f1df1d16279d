/**
 * Both front ends and both codecs under broken input: a real server, real sockets. `FUZZ_RUNS=1000000 npm test -- fuzz`
 * sends that many inputs to each front end; a failure names the seed (`FUZZ_SEED`) that brings it back.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';
import { frame } from '../support/wire/raw-frames.js';
import { call, endedStreams, OPENING } from './grpc-frames.js';
import { HTTP_SEEDS } from './http-seeds.js';
import { mutate, Random } from './random.js';

/** Inputs for each front end; those of gRPC are four fifths calls with broken messages and one fifth broken frames. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 1250);
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Connections at a time. */
const WORKERS = 8;
/** What is not closed by then hangs; bounds the test, and is far beyond what a busy machine needs. */
const PATIENCE_MS = 30_000;
const LONG = { timeout: 4 * 3_600_000 };

const repository = makeRepository({
  ...identityModel('numbers', [['TYPE_INT32', '4']]),
  ...identityModel('floats', [['TYPE_FP32', '4']]),
  ...identityModel('text', [['TYPE_STRING', '-1']]),
});
let server: TestServer;

before(async () => {
  server = await startTestServer([repository.path], ['--log-info=false', '--log-error=false']);
});
after(async () => {
  await server.stop();
  repository.remove();
});

/** One input and what must hold for the response. */
interface Input {
  readonly bytes: Uint8Array;
  /** Whether the response is whole: only then is the connection closed. Absent: closed for writing behind the input. */
  readonly isWhole?: (answer: Buffer) => boolean;
  check(answer: Buffer): void;
}

/** Sends an input; resolves with what was answered when the connection is closed. */
function exchange(port: number, { bytes, isWhole }: Input): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error('the server neither answered nor closed'));
    }, PATIENCE_MS);
    socket.on('data', (chunk) => {
      received.push(chunk);
      if (isWhole?.(Buffer.concat(received))) socket.destroy();
    });
    // A server that closes while we still send resets the connection: that is a response too.
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(received));
    });
    if (isWhole === undefined) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** Runs inputs on several connections at a time; what goes wrong is reported with its input. */
async function fuzz(
  runs: number,
  input: (random: Random) => { bytes: Buffer; check(answer: Buffer): void },
  port: number,
) {
  let left = Math.ceil(runs);
  const worker = async (): Promise<void> => {
    while (left > 0) {
      const seed = SEED + left--;
      const made = input(new Random(seed));
      try {
        made.check(await exchange(port, made));
      } catch (reason) {
        const shown = JSON.stringify(Buffer.from(made.bytes).toString('latin1'));
        throw new Error(`FUZZ_SEED=${seed - 1} FUZZ_RUNS=1: ${String(reason)}; sent ${shown}`, { cause: reason });
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

/** The server still answers, nothing was left in flight, and no handler threw. */
async function isWell(): Promise<void> {
  const ready = await httpRequest(server.http, 'GET', '/v2/health/ready');
  assert.equal(ready.status, 200);
  assert.doesNotMatch(server.logText(), /handler failed/);
}

function memoryInUse(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('HTTP/1.1: every input ends in responses and a closed connection', LONG, async () => {
  const before = memoryInUse();
  await fuzz(
    RUNS,
    (random) => {
      const whole = random.below(10) === 0;
      const seed = random.pick(HTTP_SEEDS);
      return {
        bytes: whole ? seed : mutate(random, seed, HTTP_SEEDS),
        check(answer) {
          if (whole) assert.match(answer.toString('latin1'), /^HTTP\/1\.1 (200|501) /);
          else if (answer.length > 0) assert.match(answer.toString('latin1'), /^HTTP\/1\.[01] \d{3} /);
        },
      };
    },
    server.http,
  );
  await isWell();
  assertSettled(before);
});

const contents = { ...create(service.InferTensorContents), int_contents: [1, 2, 3, 4] };
const tensor = { ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, 4n] };
const request = { ...create(service.ModelInferRequest), model_name: 'numbers', id: 'r' };
const parameters = new Map([['p', { ...create(service.InferParameter), string_param: 'x' }]]);
const INFER_MESSAGES = [
  { ...request, inputs: [{ ...tensor, contents }] },
  { ...request, inputs: [{ ...tensor, parameters }], parameters, raw_input_contents: [Buffer.alloc(16, 3)] },
  {
    ...request,
    model_name: 'text',
    inputs: [{ ...tensor, datatype: 'BYTES' }],
    raw_input_contents: [Buffer.from('\x01\0\0\0a\0\0\0\0\x02\0\0\0bb\0\0\0\0')],
  },
].map((message) => Buffer.from(toBinary(service.ModelInferRequest, message)));
const PATHS = [
  'ModelInfer',
  'ModelInfer',
  'ModelStreamInfer',
  'ModelConfig',
  'RepositoryIndex',
  'TraceSetting',
  'NoSuch',
];

test('gRPC: every call with a broken message is ended', LONG, async () => {
  const before = memoryInUse();
  const calls = 5;
  await fuzz(
    (RUNS * 4) / 5 / calls,
    (random) => {
      const parts: Buffer[] = [OPENING];
      for (let i = 0; i < calls; i++) {
        const message = mutate(random, random.pick(INFER_MESSAGES), INFER_MESSAGES);
        parts.push(call(2 * i + 1, service.SERVICE_PATH + random.pick(PATHS), message));
      }
      return {
        bytes: Buffer.concat(parts),
        isWhole: (answer: Buffer) => endedStreams(answer).size === calls,
        check: (answer) =>
          assert.deepEqual(
            [...endedStreams(answer)].sort((a, b) => a - b),
            [1, 3, 5, 7, 9],
          ),
      };
    },
    server.grpc,
  );
  await isWell();
  assertSettled(before);
});

test('HTTP/2: broken frames end in responses or a closed connection', LONG, async () => {
  const before = memoryInUse();
  const seeds = [
    ...INFER_MESSAGES.map((message) => call(1, `${service.SERVICE_PATH}ModelInfer`, message)),
    frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 9])),
    frame(6, 0, 0, Buffer.alloc(8)),
    frame(8, 0, 0, Buffer.from([0, 0, 1, 0])),
    frame(3, 0, 1, Buffer.alloc(4)),
    frame(9, 4, 1, Buffer.alloc(3)),
  ];
  await fuzz(
    RUNS / 5,
    (random) => {
      const parts = Array.from({ length: 1 + random.below(4) }, () => random.pick(seeds));
      return {
        bytes: Buffer.concat([OPENING, mutate(random, Buffer.concat(parts), seeds)]),
        check: (answer) => assert.ok(answer.length >= 9, 'the server sends its settings at least'),
      };
    },
    server.grpc,
  );
  await isWell();
  assertSettled(before);
});

/** Memory is back to where it was, give or take what caches and the collector keep; checked only where it can be known. */
function assertSettled(before: number): void {
  if (globalThis.gc === undefined) return;
  const grown = memoryInUse() - before;
  assert.ok(grown < 64e6, `memory in use grew by ${grown} bytes`);
}
