import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { fromBinary, toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import { ModelInferRequest, ModelStreamInferResponse } from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { httpRequest } from '../support/wire/http-request.js';

const ELEMENTS = 10_000;
const HOLDING =
  'max_batch_size: 64\ndynamic_batching { preferred_batch_size: 64 max_queue_delay_microseconds: 600000000\n' +
  'default_queue_policy { max_queue_size: 99 } }';

const body = (elements: number) =>
  JSON.stringify({
    inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, elements], data: new Array(elements).fill(1) }],
  });

const message = (elements: number) =>
  toBinary(ModelInferRequest, {
    ...create(ModelInferRequest),
    model_name: 'holds',
    inputs: [
      {
        ...{ name: 'INPUT0', datatype: 'INT32', shape: [1n, BigInt(elements)] },
        ...{ parameters: new Map(), contents: undefined },
      },
    ],
    raw_input_contents: [new Uint8Array(4 * elements)],
  } as never);

test('requests that the server holds have a budget over all front ends, which they give back', async () => {
  const repository = makeRepository({
    ...identityModel('holds', [['TYPE_INT32', '-1']], HOLDING),
    ...identityModel('quick', [['TYPE_INT32', '-1']]),
  });
  // Four requests of 40,000 bytes and what goes with them.
  const server = await startTestServer([repository.path], ['--request-memory-limit=190000']);
  const grpc = new TestGrpcClient(server.grpc);
  const sockets: net.Socket[] = [];
  const pending = () => server.engine.metrics().find(({ name }) => name === 'holds')!.loaded!.pending;
  const until = async (count: number) => {
    while (pending() !== count) await new Promise((resolve) => setTimeout(resolve, 2));
  };
  try {
    for (let i = 0; i < 4; i++) {
      const text = body(ELEMENTS);
      const head = `POST /v2/models/holds/infer HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n`;
      const socket = net.connect(server.http, '127.0.0.1', () => socket.write(head + text));
      socket.on('error', () => {});
      sockets.push(socket);
      await until(i + 1);
    }
    const full = /--request-memory-limit/;
    const overHttp = await httpRequest(server.http, 'POST', '/v2/models/quick/infer', body(ELEMENTS));
    assert.equal(overHttp.status, 503);
    assert.match(overHttp.text, full);
    const generate = JSON.stringify({ INPUT0: new Array(ELEMENTS).fill(1) });
    for (const method of ['generate', 'generate_stream']) {
      const answer = await httpRequest(server.http, 'POST', `/v2/models/quick/${method}`, generate);
      assert.equal(answer.status, 503, answer.text);
      assert.match(answer.text, full);
    }
    await assert.rejects(grpc.callBytes('ModelInfer', message(ELEMENTS)), { code: 14, details: full });
    const stream = grpc.stream();
    const response = new Promise<Buffer>((resolve, reject) => stream.on('data', resolve).on('error', reject));
    stream.write(message(ELEMENTS));
    // The stream's own message, or the end of the stream where its bytes had no room already.
    const text = await response.then(
      (bytes) => fromBinary(ModelStreamInferResponse, bytes).error_message,
      (error: Error) => error.message,
    );
    assert.match(text, full);
    stream.end();
    const metrics = await httpRequest(server.metrics, 'GET', '/metrics');
    assert.match(metrics.text, /\nnv_request_memory_refused [1-9]/);
    // A small one still finds room, and others when the clients of the large ones are gone.
    assert.equal((await httpRequest(server.http, 'POST', '/v2/models/quick/infer', body(10))).status, 200);
    for (const socket of sockets) socket.resetAndDestroy();
    await until(0);
    for (let i = 0; i < 20; i++) {
      assert.equal((await httpRequest(server.http, 'POST', '/v2/models/quick/infer', body(ELEMENTS))).status, 200);
    }
  } finally {
    for (const socket of sockets) socket.resetAndDestroy();
    grpc.close();
    await server.stop();
    repository.remove();
  }
});

test('a body that is larger than the budget is refused with the reason, and counted', async () => {
  const repository = makeRepository({ ...identityModel('quick', [['TYPE_INT32', '-1']]) });
  const server = await startTestServer([repository.path], ['--request-memory-limit=100000']);
  try {
    const answer = await httpRequest(server.http, 'POST', '/v2/models/quick/infer', 'x'.repeat(200_000));
    assert.equal(answer.status, 503);
    assert.match(
      answer.text,
      /--request-memory-limit allows\. Try again later, send a smaller request, or raise the limit/,
    );
    const metrics = await httpRequest(server.metrics, 'GET', '/metrics');
    assert.match(metrics.text, /\nnv_request_memory_refused 1\n/);
  } finally {
    await server.stop();
    repository.remove();
  }
});

test('tensors that are views on the message they came in are counted once', async () => {
  const repository = makeRepository({ ...identityModel('holds', [['TYPE_INT32', '-1']], HOLDING) });
  const elements = 500_000;
  // Room for nine requests of 2 MB while another one comes; counted twice, five of them would fill it.
  const server = await startTestServer([repository.path], ['--request-memory-limit=21000000']);
  const grpc = new TestGrpcClient(server.grpc);
  const sockets: net.Socket[] = [];
  const pending = () => server.engine.metrics().find(({ name }) => name === 'holds')!.loaded!.pending;
  let refused = '';
  const until = async (count: number) => {
    while (pending() !== count) {
      assert.equal(refused, '', `${pending()} of ${count} wait`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  try {
    const data = Buffer.alloc(4 * elements);
    const input = { name: 'INPUT0', datatype: 'INT32', shape: [1, elements] };
    const json = JSON.stringify({ inputs: [{ ...input, parameters: { binary_data_size: data.length } }] });
    for (let i = 0; i < 3; i++) {
      const head =
        `POST /v2/models/holds/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: ${json.length}\r\n` +
        `Content-Length: ${json.length + data.length}\r\n\r\n${json}`;
      const socket = net.connect(server.http, '127.0.0.1', () => {
        socket.write(head);
        socket.write(data);
      });
      socket.on('error', () => {}).on('data', (response) => (refused = String(response)));
      sockets.push(socket);
      await until(i + 1);
    }
    for (let i = 0; i < 3; i++) {
      grpc.callBytes('ModelInfer', message(elements)).catch((error: Error) => (refused = error.message));
      await until(4 + i);
    }
    const stream = grpc.stream();
    stream.on('data', (response) => (refused = String(response))).on('error', () => {});
    for (let i = 0; i < 3; i++) {
      stream.write(message(elements));
      await until(7 + i);
    }
    // They are counted: there is not a room for two more.
    grpc.callBytes('ModelInfer', message(2 * elements)).catch((error: Error) => (refused = error.message));
    while (refused === '') await new Promise((resolve) => setTimeout(resolve, 2));
    assert.match(refused, /--request-memory-limit/);
  } finally {
    for (const socket of sockets) socket.resetAndDestroy();
    grpc.close();
    await server.stop();
    repository.remove();
  }
});
