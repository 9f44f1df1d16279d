/** SIGTERM under load: every accepted request gets its response and the exit status is 0. */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { grpcPort, httpPort, metricsPort, serveProgram } from '../support/programs/serve-program.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { httpRequest } from '../support/wire/http-request.js';

const CONCURRENCY = 16;

const BODY = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data: [1, 2, 3, 4] }] });
const REQUEST = `POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const GRPC_REQUEST = toBinary(service.ModelInferRequest, {
  ...create(service.ModelInferRequest),
  model_name: 'm',
  inputs: [{ ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, 4n] }],
  raw_input_contents: [new Uint8Array(16)],
});

/** Sends requests one after the other on one connection until the server ends it; counts how many had no response. */
function httpLane(port: number, count: { answered: number; lost: number }): Promise<void> {
  return new Promise((resolve) => {
    let waiting = true;
    let closing = false;
    let buffer = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(REQUEST));
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      buffer += chunk;
      const end = buffer.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(buffer)?.[1]);
      if (buffer.length < end + 4 + length) return;
      assert.match(buffer, /^HTTP\/1\.1 200 /);
      closing = /connection: close/i.test(buffer.slice(0, end));
      buffer = '';
      count.answered++;
      waiting = !closing;
      if (!closing) socket.write(REQUEST);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (waiting) count.lost++;
      resolve();
    });
  });
}

test('HTTP: no accepted request is lost', async () => {
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '4']]));
  try {
    for (let round = 0; round < 3; round++) {
      const program = serveProgram(repository.path);
      const port = await httpPort(program);
      await metricsPort(program);
      const count = { answered: 0, lost: 0 };
      const lanes = Array.from({ length: CONCURRENCY }, () => httpLane(port, count));
      while (count.answered < 500) await new Promise((resolve) => setTimeout(resolve, 5));
      program.kill('SIGTERM');
      await Promise.all(lanes);
      const { status, output } = await program.ended();
      assert.deepEqual([status, count.lost], [0, 0], output);
    }
  } finally {
    repository.remove();
  }
});

test('gRPC: every call gets its response, or an error that says that it did not start', async () => {
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '4']]));
  try {
    for (let round = 0; round < 3; round++) {
      const program = serveProgram(repository.path);
      const client = new TestGrpcClient(await grpcPort(program));
      await metricsPort(program);
      let answered = 0;
      let stopping = false;
      const failures: string[] = [];
      const lane = async (): Promise<void> => {
        for (;;) {
          try {
            await client.callBytes('ModelInfer', GRPC_REQUEST);
            answered++;
          } catch (reason) {
            const { code, details } = reason as { code: number; details: string };
            if (!stopping || code !== 14) failures.push(`${code} ${details}`);
            return;
          }
        }
      };
      const lanes = Array.from({ length: CONCURRENCY }, lane);
      while (answered < 500) await new Promise((resolve) => setTimeout(resolve, 5));
      stopping = true;
      program.kill('SIGTERM');
      await Promise.all(lanes);
      const { status, output } = await program.ended();
      client.close();
      assert.deepEqual([status, failures], [0, []], output);
    }
  } finally {
    repository.remove();
  }
});

test('requests in the queue get their responses before the server ends', async () => {
  const batching =
    'max_batch_size: 8\ndynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 300000 }';
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '4']], batching));
  const server = await startTestServer([repository.path]);
  const client = new TestGrpcClient(server.grpc);
  try {
    const http = httpRequest(server.http, 'POST', '/v2/models/m/infer', BODY);
    const grpc = client.callBytes('ModelInfer', GRPC_REQUEST);
    while (server.engine.metrics()[0]?.loaded?.pending !== 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const stopped = server.stop();
    assert.equal((await http).status, 200);
    assert.equal((await grpc).length > 0, true);
    assert.equal(await stopped, true);
    assert.match(server.logText(), /Timeout \d+: Found 1 HTTP service connections/);
    assert.match(server.logText(), /Timeout \d+: Found 0 live models and 0 in-flight non-inference requests/);
  } finally {
    client.close();
    repository.remove();
  }
});

test('an idle stream does not hold up the stop', async () => {
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '4']]));
  const server = await startTestServer([repository.path]);
  const client = new TestGrpcClient(server.grpc);
  try {
    const stream = client.stream();
    const answered = new Promise<void>((resolve) => {
      stream.once('data', () => resolve());
    });
    const ended = new Promise<{ code: number; details: string }>((resolve) => {
      stream.on('status', resolve);
      stream.on('error', () => {});
    });
    stream.write(GRPC_REQUEST);
    await answered;
    assert.equal(await server.stop(), true);
    const { code, details } = await ended;
    assert.deepEqual([code, details], [14, 'GRPC server is shutting down and has stopped accepting new requests.']);
  } finally {
    client.close();
    repository.remove();
  }
});

test('a sequence that has begun ends before the server does, although the server is not ready any more', async () => {
  const more = 'max_batch_size: 8\nsequence_batching { max_sequence_idle_microseconds: 60000000 }';
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '4']], more));
  const server = await startTestServer([repository.path]);
  // One connection that stays open, as clients of sequences use.
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const call = (method: string, path: string, body?: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const request = http.request({ agent, host: '127.0.0.1', port: server.http, method, path }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode!, text }));
      });
      request.on('error', reject).end(body);
    });
  const step = (id: number, flags: object) =>
    call(
      'POST',
      '/v2/models/m/infer',
      JSON.stringify({ ...JSON.parse(BODY), parameters: { sequence_id: id, ...flags } }),
    );
  try {
    assert.equal((await step(7, { sequence_start: true })).status, 200);
    const stopped = server.stop();
    assert.deepEqual(await call('GET', '/v2/health/ready'), { status: 503, text: '{"error":"Server exiting"}' });
    const refused = await step(8, { sequence_start: true });
    assert.equal(refused.status, 503);
    assert.match(refused.text, /Server is stopping, scheduler for model has stopped accepting new inference requests/);
    assert.equal((await step(7, {})).status, 200);
    assert.equal((await step(7, { sequence_end: true })).status, 200);
    assert.equal(await stopped, true);
    assert.match(server.logText(), /Timeout \d+: Found 1 HTTP service connections/);
  } finally {
    agent.destroy();
    repository.remove();
  }
});

test('a client that leaves takes its queued request with it', async () => {
  const batching =
    'max_batch_size: 8\ndynamic_batching { preferred_batch_size: 2 max_queue_delay_microseconds: 60000000\n' +
    'default_queue_policy { max_queue_size: 9 } }';
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '4']], batching));
  const server = await startTestServer([repository.path]);
  try {
    const socket = net.connect(server.http, '127.0.0.1', () => socket.write(REQUEST));
    const pending = () => server.engine.metrics()[0]!.loaded!.pending;
    while (pending() !== 1) await new Promise((resolve) => setTimeout(resolve, 1));
    socket.resetAndDestroy();
    await new Promise((resolve) => socket.once('close', resolve));
    // Once the server has answered another client it has seen that one go.
    await httpRequest(server.http, 'GET', '/v2/health/live');
    // The next two make a batch; the one whose client is gone is not in it.
    const answers = await Promise.all([1, 2].map(() => httpRequest(server.http, 'POST', '/v2/models/m/infer', BODY)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const [model] = server.engine.metrics();
    assert.equal(model!.failures.CANCELED, 1);
    assert.equal(model!.loaded!.inferenceCount, 2);
  } finally {
    await server.stop();
    repository.remove();
  }
});

test('SIGUSR1 opens no debugger', { skip: process.platform === 'win32' }, async () => {
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '-1']]));
  const program = serveProgram(repository.path);
  try {
    const port = await httpPort(program);
    program.kill('SIGUSR1');
    // Node's debugger reports its address on standard error at once.
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal((await httpRequest(port, 'GET', '/v2/health/live')).status, 200);
    assert.doesNotMatch(program.output(), /debugger/i);
  } finally {
    program.kill('SIGTERM');
    await program.ended();
    repository.remove();
  }
});
