/** The gRPC client against a server of grpc-js: calls, errors, limits, streams. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type handleBidiStreamingCall,
  type handleUnaryCall,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { TritonError } from '../../src/base/error.js';
import type { InferCall, InferenceServerClient, StreamEvent } from '../../src/client/api/client.js';
import { createGrpcClient } from '../../src/client/grpc/grpc-client.js';
import { fromBinary, toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import {
  ModelInferRequest,
  ModelInferResponse,
  ModelReadyResponse,
  ModelStatisticsResponse,
  ModelStreamInferResponse,
  RepositoryModelLoadRequest,
} from '../../src/protocol/proto/service/service.js';
import { makeTensor, tensorStrings, tensorValues } from '../../src/protocol/tensor-values.js';

const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
const received: { path: string; message: Buffer; metadata: Metadata }[] = [];
let client: InferenceServerClient;
let url: string;

before(async () => {
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  url = `127.0.0.1:${port}`;
  client = createGrpcClient({ url });
});

after(async () => {
  await client.close();
  server.forceShutdown();
});

const identity = (bytes: Buffer): Buffer => bytes;

function serve(rpc: string, handler: handleUnaryCall<Buffer, Buffer>): void {
  const path = `/inference.GRPCInferenceService/${rpc}`;
  server.unregister(path);
  const recording = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    received.push({ path: rpc, message: call.request, metadata: call.metadata });
    handler(call, callback);
  };
  server.register(path, recording, identity, identity, 'unary');
}

function serveStream(handler: handleBidiStreamingCall<Buffer, Buffer>): void {
  const path = '/inference.GRPCInferenceService/ModelStreamInfer';
  server.unregister(path);
  server.register(path, handler, identity, identity, 'bidi');
}

/** The response to a request: its inputs as outputs. */
function echo(message: Buffer): ReturnType<typeof create<(typeof ModelInferResponse)['fields']>> {
  const request = fromBinary(ModelInferRequest, message);
  const response = create(ModelInferResponse);
  response.model_name = request.model_name;
  response.model_version = request.model_version || '1';
  response.id = request.id;
  response.outputs = request.inputs.map(({ name, datatype, shape }) => ({
    name,
    datatype,
    shape,
    parameters: new Map(),
    contents: undefined,
  }));
  response.raw_output_contents = request.raw_input_contents;
  return response;
}

const call: InferCall = {
  modelName: 'm',
  id: '7',
  inputs: [makeTensor('I', 'INT64', [1n, -2n], [1, 2]), makeTensor('S', 'BYTES', ['a', ''], [2])],
};

test('tensors go out and come back', async () => {
  serve('ModelInfer', (call, callback) =>
    callback(null, Buffer.from(toBinary(ModelInferResponse, echo(call.request)))),
  );
  const result = await client.infer(call);
  assert.deepEqual([result.modelName, result.modelVersion, result.id], ['m', '1', '7']);
  assert.deepEqual(tensorValues(result.output('I')!), [1n, -2n]);
  assert.deepEqual(tensorStrings(result.output('S')!), ['a', '']);
  assert.equal(result.output('none'), undefined);
});

test('a prepared request can be sent again and is decoded on demand', async () => {
  serve('ModelInfer', (call, callback) =>
    callback(null, Buffer.from(toBinary(ModelInferResponse, echo(call.request)))),
  );
  const data = new Uint8Array([1, 2, 3]);
  const prepared = client.prepare({ modelName: 'm', inputs: [{ name: 'I', datatype: 'UINT8', shape: [3], data }] });
  data.fill(9);
  for (let i = 0; i < 3; i++) {
    const raw = await client.inferPrepared(prepared);
    assert.deepEqual([...raw.decode().outputs[0]!.data], [1, 2, 3]);
    const { sendStartNs, sendEndNs, receiveStartNs, receiveEndNs } = raw.timing;
    assert.ok(sendStartNs <= sendEndNs && sendEndNs <= receiveStartNs && receiveStartNs <= receiveEndNs);
  }
  const other = { protocol: 'http', byteLength: 0 } as const;
  await assert.rejects(client.inferPrepared(other), { code: 'INVALID_ARG' });
});

test('messages of many megabytes pass', async () => {
  serve('ModelInfer', (call, callback) =>
    callback(null, Buffer.from(toBinary(ModelInferResponse, echo(call.request)))),
  );
  const data = Buffer.alloc(20 << 20, 7);
  const result = await client.infer({
    modelName: 'm',
    inputs: [{ name: 'I', datatype: 'UINT8', shape: [data.length], data }],
  });
  assert.ok(data.equals(result.outputs[0]!.data));
});

test('a status becomes an error with code, text and status', async () => {
  serve('ModelInfer', (_, callback) => callback({ code: 3, details: "unexpected inference input 'X' for model 'm'" }));
  await assert.rejects(client.infer(call), (error: TritonError) => {
    assert.ok(error instanceof TritonError);
    assert.deepEqual(
      [error.code, error.status, error.message],
      ['INVALID_ARG', 3, "unexpected inference input 'X' for model 'm'"],
    );
    return true;
  });
  serve('ModelReady', (_, callback) => callback({ code: 14, details: 'Server exiting' }));
  await assert.rejects(client.isModelReady('m'), { code: 'UNAVAILABLE', message: 'Server exiting', status: 14 });
});

test('a malformed response is an error', async () => {
  serve('ModelInfer', (_, callback) => callback(null, Buffer.from([0xff, 0xff])));
  await assert.rejects(client.infer(call), { code: 'INTERNAL', message: 'Unable to parse response' });
});

test('headers arrive as metadata, names in lower case', async () => {
  serve('ModelReady', (_, callback) => callback(null, Buffer.from(toBinary(ModelReadyResponse, { ready: true }))));
  assert.equal(await client.isModelReady('m', '', { headers: { 'X-Key': 'v w' } }), true);
  assert.deepEqual(received.at(-1)?.metadata.get('x-key'), ['v w']);
  await assert.rejects(client.isModelReady('m', '', { headers: { 'bad name': 'v' } }), { code: 'INVALID_ARG' });
});

test('a call ends at its limit and when its caller gives up', async () => {
  serve('ModelInfer', () => {});
  await assert.rejects(client.infer(call, { timeoutMs: 20 }), {
    code: 'UNAVAILABLE',
    message: 'Deadline Exceeded',
    status: 4,
  });
  const controller = new AbortController();
  const pending = client.infer(call, { signal: controller.signal });
  controller.abort();
  await assert.rejects(pending, { code: 'CANCELLED' });
  await assert.rejects(client.infer(call, { signal: controller.signal }), { code: 'CANCELLED' });
});

test('statistics keep 64 bits and fill in what is absent', async () => {
  const response = create(ModelStatisticsResponse);
  response.model_stats.push({
    name: 'm',
    version: '1',
    last_inference: 2n ** 63n,
    inference_count: 5n,
    execution_count: 0n,
    inference_stats: undefined,
    batch_stats: [],
    memory_usage: [],
    response_stats: new Map(),
  });
  serve('ModelStatistics', (_, callback) => callback(null, Buffer.from(toBinary(ModelStatisticsResponse, response))));
  const [statistics] = await client.modelStatistics();
  assert.equal(statistics?.last_inference, 2n ** 63n);
  assert.deepEqual(statistics.inference_stats.queue, { count: 0n, ns: 0n });
});

test('a load sends configuration and files', async () => {
  serve('RepositoryModelLoad', (_, callback) => callback(null, Buffer.alloc(0)));
  await client.loadModel('m', { config: '{}', files: new Map([['1/model.onnx', Uint8Array.of(1, 2)]]) });
  const { model_name, parameters } = fromBinary(RepositoryModelLoadRequest, received.at(-1)!.message);
  assert.equal(model_name, 'm');
  assert.equal(parameters.get('config')?.string_param, '{}');
  assert.deepEqual([...parameters.get('file:1/model.onnx')!.bytes_param!], [1, 2]);
});

test('nothing listening: the address and the reason, in the words of the client library of Triton', async () => {
  const closed = createGrpcClient({ url: '127.0.0.1:1' });
  await assert.rejects(closed.isServerLive(), {
    code: 'UNAVAILABLE',
    message:
      'failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused',
  });
  await closed.close();
});

async function collect(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

type Peer = ServerDuplexStream<Buffer, Buffer>;

function writeEcho(peer: Peer, message: Buffer, error = ''): void {
  const infer_response = echo(message);
  peer.write(Buffer.from(toBinary(ModelStreamInferResponse, { error_message: error, infer_response })));
}

test('a stream carries results and in-band errors, and ends after end()', async () => {
  serveStream((peer: Peer) => {
    let count = 0;
    peer.on('data', (message: Buffer) => writeEcho(peer, message, count++ === 1 ? 'no good' : ''));
    peer.on('end', () => peer.end());
  });
  const stream = client.stream();
  for (const id of ['a', 'b', 'c']) await stream.send({ ...call, id });
  stream.end();
  const events = await collect(stream);
  assert.deepEqual(
    events.map((event) => (event.result ? event.result.id : `${event.id}: ${event.error}`)),
    ['a', 'b: no good', 'c'],
  );
  await assert.rejects(stream.send(call), { code: 'INVALID_ARG' });
});

test('a reader that is slow gets everything in order', async () => {
  const count = 500;
  serveStream((peer: Peer) => {
    peer.on('data', (message: Buffer) => {
      for (let i = 0; i < count; i++) writeEcho(peer, message);
    });
    peer.on('end', () => peer.end());
  });
  const stream = client.stream();
  await stream.send(call);
  stream.end();
  let seen = 0;
  for await (const event of stream) {
    if (seen++ % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(event.result?.id, '7');
  }
  assert.equal(seen, count);
});

test('a stream that the server ends with a status throws it after what came before', async () => {
  serveStream((peer: Peer) => {
    peer.on('data', (message: Buffer) => {
      writeEcho(peer, message);
      peer.emit('error', { code: 14, details: 'gone' });
    });
  });
  const stream = client.stream();
  await stream.send(call);
  const events: StreamEvent[] = [];
  await assert.rejects(
    async () => {
      for await (const event of stream) events.push(event);
    },
    { code: 'UNAVAILABLE', message: 'gone' },
  );
  assert.equal(events.length, 1);
});

test('cancel ends a stream quietly, leaving the loop cancels it at the server', async () => {
  const cancelled: Promise<void>[] = [];
  serveStream((peer: Peer) => {
    cancelled.push(new Promise((resolve) => peer.on('cancelled', () => resolve())));
    peer.on('data', (message: Buffer) => writeEcho(peer, message));
  });
  const first = client.stream();
  await first.send(call);
  first.cancel();
  await collect(first);
  const second = client.stream();
  await second.send(call);
  for await (const event of second) {
    assert.equal(event.final, true);
    break;
  }
  await Promise.all(cancelled);
  assert.equal(cancelled.length, 2);
});
