/** The HTTP client against a server of node:http: requests as sent, responses, errors, limits. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { TritonError } from '../../src/base/error.js';
import type { ClientOptions, InferCall, InferenceServerClient } from '../../src/client/api/client.js';
import { createHttpClient } from '../../src/client/http/http-client.js';
import { makeTensor, tensorStrings, tensorValues } from '../../src/protocol/tensor-values.js';

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

let server: Server;
let url: string;
let client: InferenceServerClient;
let seen: Seen;
let respond: (request: Seen, response: ServerResponse) => void;

before(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = request;
    seen = { method, path, headers, body: Buffer.concat(chunks) };
    respond(seen, response);
  });
  url = await listen(server);
  client = createHttpClient({ url });
});

after(async () => {
  await client.close();
  server.closeAllConnections();
  server.close();
});

function listen(listener: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  return new Promise((resolve) => {
    listener.listen(0, '127.0.0.1', () => resolve(`127.0.0.1:${(listener.address() as AddressInfo).port}`));
  });
}

function json(status: number, value: unknown): void {
  respond = (_, response) => response.writeHead(status).end(value === undefined ? undefined : JSON.stringify(value));
}

const INT = makeTensor('I', 'INT64', [1n, -2n], [1, 2]);
const TEXT = makeTensor('S', 'BYTES', ['a', ''], [2]);
const call: InferCall = { modelName: 'm', id: '7', inputs: [INT, TEXT], outputs: [{ name: 'I' }, { name: 'S' }] };

/** Answers with the request's inputs as outputs, binary. */
function echo({ headers, body }: Seen, response: ServerResponse): void {
  const length = Number(headers['inference-header-content-length'] ?? body.length);
  const request = JSON.parse(body.subarray(0, length).toString()) as { id?: string; inputs: object[] };
  const head = Buffer.from(
    JSON.stringify({ id: request.id, model_name: 'm', model_version: '1', outputs: request.inputs }),
  );
  response.writeHead(200, { 'inference-header-content-length': head.length });
  response.end(Buffer.concat([head, body.subarray(length)]));
}

test('tensors go out in binary form and come back', async () => {
  respond = echo;
  const result = await client.infer(call);
  assert.deepEqual([seen.method, seen.path], ['POST', '/v2/models/m/infer']);
  assert.equal(Number(seen.headers['content-length']), seen.body.length);
  assert.equal(seen.headers['transfer-encoding'], undefined);
  assert.deepEqual([result.modelName, result.modelVersion, result.id], ['m', '1', '7']);
  assert.deepEqual(tensorValues(result.output('I')!), [1n, -2n]);
  assert.deepEqual(tensorStrings(result.output('S')!), ['a', '']);
});

test('large tensors pass unchanged, sent in pieces and received in many reads', async () => {
  respond = echo;
  const data = Buffer.alloc(5 << 20, 'pattern');
  const large: InferCall = {
    modelName: 'm',
    inputs: [{ name: 'I', datatype: 'UINT8', shape: [data.length], data }, INT],
  };
  const result = await client.infer(large);
  assert.equal(Number(seen.headers['content-length']), seen.body.length);
  assert.ok(data.equals(result.output('I')!.data));
  const raw = await client.inferPrepared(client.prepare(large));
  assert.ok(data.equals(raw.decode().output('I')!.data));
});

test('tensors can travel as JSON', async () => {
  const plain = createHttpClient({ url, inputFormat: 'json', outputFormat: 'json' });
  respond = echo;
  const result = await plain.infer({ modelName: 'm', inputs: [INT, TEXT], outputs: [{ name: 'I' }] });
  assert.deepEqual(JSON.parse(seen.body.toString()), {
    inputs: [
      { name: 'I', datatype: 'INT64', shape: [1, 2], data: [1, -2] },
      { name: 'S', datatype: 'BYTES', shape: [2], data: ['a', ''] },
    ],
    outputs: [{ name: 'I', parameters: { binary_data: false } }],
  });
  assert.deepEqual(tensorValues(result.output('I')!), [1n, -2n]);
  assert.deepEqual(tensorStrings(result.output('S')!), ['a', '']);
  await plain.close();
});

test('a response without an announced length is read to its end', async () => {
  respond = (_, response) => {
    response.write('{"model_name":"m","model_version":"1","outputs":[{"name":"O",');
    setImmediate(() => response.end('"datatype":"INT32","shape":[2],"data":[3,4]}]}'));
  };
  const result = await client.infer(call);
  assert.deepEqual(tensorValues(result.output('O')!), [3, 4]);
});

test('a prepared request can be sent again and keeps its data', async () => {
  respond = echo;
  const data = new Uint8Array([1, 2, 3]);
  const prepared = client.prepare({ modelName: 'm', inputs: [{ name: 'I', datatype: 'UINT8', shape: [3], data }] });
  data.fill(9);
  for (let i = 0; i < 3; i++) {
    const raw = await client.inferPrepared(prepared);
    assert.deepEqual([...raw.decode().outputs[0]!.data], [1, 2, 3]);
    const { sendStartNs, sendEndNs, receiveStartNs, receiveEndNs } = raw.timing;
    assert.ok(sendStartNs <= sendEndNs && sendEndNs <= receiveStartNs && receiveStartNs <= receiveEndNs);
  }
  await assert.rejects(client.inferPrepared({ protocol: 'grpc', byteLength: 0 }), { code: 'INVALID_ARG' });
});

for (const compression of ['gzip', 'deflate'] as const) {
  test(`${compression}: bodies are compressed, responses are asked for and decompressed`, async () => {
    const compressing = createHttpClient({ url, compression });
    respond = (request, response) => {
      assert.equal(request.headers['content-encoding'], compression);
      assert.equal(request.headers['accept-encoding'], compression);
      const body = compression === 'gzip' ? gunzipSync(request.body) : inflateSync(request.body);
      assert.ok(Number(request.headers['inference-header-content-length']) < body.length);
      const head = '{"model_name":"m","model_version":"1","outputs":[]}';
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(head));
    };
    assert.deepEqual((await compressing.infer(call)).outputs, []);
    await compressing.inferPrepared(compressing.prepare(call));
    respond = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    await assert.rejects(compressing.infer(call), {
      code: 'INTERNAL',
      message: /^the gzip data of the response is broken/,
    });
    await compressing.close();
  });
}

test('names are percent-encoded, a base path stands in front', async () => {
  const based = createHttpClient({ url: `http://${url}/base/` });
  json(200, { name: 'a b/c', versions: [], platform: '', inputs: [], outputs: [] });
  await based.modelMetadata('a b/c%ü', '2');
  assert.equal(seen.path, '/base/v2/models/a%20b%2Fc%25%C3%BC/versions/2');
  await based.close();
});

test('headers are sent with every call', async () => {
  json(200, {});
  await client.serverMetadata({ headers: { 'X-Key': 'v w' } });
  assert.equal(seen.headers['x-key'], 'v w');
  respond = echo;
  await client.infer(call, { headers: { 'X-Key': 'again' } });
  assert.equal(seen.headers['x-key'], 'again');
});

test('readiness is the status', async () => {
  for (const [status, ready] of [
    [200, true],
    [400, false],
    [503, false],
  ] as const) {
    json(status, undefined);
    assert.equal(await client.isServerLive(), ready);
    assert.equal(await client.isServerReady(), ready);
    assert.equal(await client.isModelReady('m', '1'), ready);
  }
  assert.deepEqual([seen.method, seen.path], ['GET', '/v2/models/m/versions/1/ready']);
});

test('responses of management calls, what is absent filled in', async () => {
  json(200, { name: 'triton', version: '2', extensions: ['e'] });
  assert.deepEqual(await client.serverMetadata(), { name: 'triton', version: '2', extensions: ['e'] });
  json(200, { name: 'm', versions: ['1'], platform: 'p', inputs: [{ name: 'I', datatype: 'FP32', shape: [-1, 2] }] });
  const metadata = await client.modelMetadata('m');
  assert.deepEqual(metadata.inputs, [{ name: 'I', datatype: 'FP32', shape: [-1, 2] }]);
  assert.deepEqual(metadata.outputs, []);
  json(200, { name: 'm', max_batch_size: 8, input: [{ name: 'I', data_type: 'TYPE_FP32', dims: [2] }] });
  const config = await client.modelConfig('m');
  assert.deepEqual([config.max_batch_size, config.input[0]?.dims], [8, [2n]]);
  respond = (_, response) =>
    response.end('{"model_stats":[{"name":"m","inference_stats":{"queue":{"count":2,"ns":9007199254740993}}}]}');
  const [statistics] = await client.modelStatistics();
  assert.equal(seen.path, '/v2/models/stats');
  assert.deepEqual(statistics?.inference_stats.queue, { count: 2n, ns: 2n ** 53n + 1n });
  assert.deepEqual(statistics.inference_stats.fail, { count: 0n, ns: 0n });
  json(200, [{ name: 'm' }, { name: 'n', version: '1', state: 'READY', reason: '' }]);
  assert.deepEqual(await client.repositoryIndex(true), [{ name: 'm' }, { name: 'n', version: '1', state: 'READY' }]);
  assert.deepEqual([seen.path, seen.body.toString()], ['/v2/repository/index', '{"ready":true}']);
});

test('load and unload send what they are given', async () => {
  json(200, undefined);
  await client.loadModel('m', { config: '{}', files: new Map([['1/a', Uint8Array.of(1, 2)]]) });
  assert.equal(seen.path, '/v2/repository/models/m/load');
  assert.deepEqual(JSON.parse(seen.body.toString()), { parameters: { config: '{}', 'file:1/a': 'AQI=' } });
  await client.loadModel('m');
  assert.equal(seen.body.toString(), '{}');
  await client.unloadModel('m', { unloadDependents: true });
  assert.deepEqual(JSON.parse(seen.body.toString()), { parameters: { unload_dependents: true } });
});

test('shared memory is registered, listed and unregistered', async () => {
  const { control } = client;
  json(200, undefined);
  await control.registerSystemSharedMemory({ name: 'a b', key: '/k', byteSize: 2n ** 60n + 1n });
  assert.equal(seen.path, '/v2/systemsharedmemory/region/a%20b/register');
  assert.equal(seen.body.toString(), '{"key":"/k","offset":0,"byte_size":1152921504606846977}');
  await control.registerCudaSharedMemory({ name: 'c', deviceId: 1, byteSize: 4, rawHandle: Uint8Array.of(1, 2) });
  assert.equal(seen.body.toString(), '{"raw_handle":{"b64":"AQI="},"device_id":1,"byte_size":4}');
  await control.unregisterCudaSharedMemory('c');
  assert.deepEqual([seen.path, seen.body.length], ['/v2/cudasharedmemory/region/c/unregister', 0]);
  await control.unregisterSystemSharedMemory();
  assert.equal(seen.path, '/v2/systemsharedmemory/unregister');
  json(200, [{ name: 'r', key: '/k', offset: 4, byte_size: 8 }]);
  const regions = await control.systemSharedMemory('r');
  assert.deepEqual(regions, [{ name: 'r', key: '/k', offset: 4n, byteSize: 8n }]);
  assert.equal(seen.path, '/v2/systemsharedmemory/region/r/status');
  json(200, [{ name: 'c', device_id: 1, byte_size: 4 }]);
  assert.deepEqual(await control.cudaSharedMemory(), [{ name: 'c', deviceId: 1n, byteSize: 4n }]);
});

const errors: readonly [status: number, body: string, code: string, message: string][] = [
  [400, '{"error":"no \\"x\\""}', 'INVALID_ARG', 'no "x"'],
  [404, '{"error":"Not Found"}', 'NOT_FOUND', 'Not Found'],
  [405, '{"error":"Method Not Allowed"}', 'UNSUPPORTED', 'Method Not Allowed'],
  [500, '{"error":""}', 'INTERNAL', ''],
  [501, '{"error":"u"}', 'UNSUPPORTED', 'u'],
  [503, '{"error":"Server exiting"}', 'UNAVAILABLE', 'Server exiting'],
  [400, '', 'INVALID_ARG', 'client received an empty response from the server.'],
  [502, '<html>', 'UNKNOWN', 'the server responded with HTTP status 502: <html>'],
  [500, '[1]', 'INTERNAL', 'the server responded with HTTP status 500: [1]'],
];

for (const [status, body, code, message] of errors) {
  test(`an error response: ${status} ${body || '(empty)'}`, async () => {
    respond = (_, response) => response.writeHead(status).end(body);
    const check = (error: TritonError): boolean => {
      assert.ok(error instanceof TritonError);
      assert.deepEqual([error.code, error.status, error.message], [code, status, message]);
      return true;
    };
    await assert.rejects(client.infer(call), check);
    await assert.rejects(client.modelStatistics('m'), check);
  });
}

test('responses that are not JSON name the call', async () => {
  respond = (_, response) => response.end('{');
  await assert.rejects(client.serverMetadata(), { code: 'INTERNAL', message: /^failed to parse server metadata: / });
  json(200, []);
  await assert.rejects(client.modelMetadata('m'), {
    message: 'failed to parse model metadata: attempt to access JSON non-object as object',
  });
});

test('a call ends at its limit and when its caller gives up; the next one works', async () => {
  respond = () => {};
  await assert.rejects(client.infer(call, { timeoutMs: 20 }), { code: 'UNAVAILABLE', message: 'Deadline Exceeded' });
  const controller = new AbortController();
  const pending = client.serverMetadata({ signal: controller.signal });
  controller.abort(new Error('enough'));
  await assert.rejects(pending, { code: 'CANCELLED' });
  await assert.rejects(client.infer(call, { signal: controller.signal }), { code: 'CANCELLED' });
  respond = echo;
  await client.infer(call);
});

test('calls beyond the connections wait for one; a limit counts while waiting', async () => {
  const narrow = createHttpClient({ url, maxConnections: 1 });
  let release = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    respond = (request, response) => {
      release = () => echo(request, response);
      resolve();
    };
  });
  const first = narrow.infer(call);
  await arrived;
  await assert.rejects(narrow.infer(call, { timeoutMs: 20 }), { message: 'Deadline Exceeded' });
  release();
  await first;
  respond = echo;
  await narrow.infer(call);
  await narrow.close();
});

async function withRawServer(
  onConnection: (socket: Socket) => void,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const raw = createTcpServer((socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  });
  const address = await listen(raw);
  try {
    await use(address);
  } finally {
    raw.close();
  }
}

async function failureOf(options: ClientOptions): Promise<TritonError> {
  const failing = createHttpClient(options);
  try {
    await failing.serverMetadata();
  } catch (error) {
    assert.ok(error instanceof TritonError);
    return error;
  } finally {
    await failing.close();
  }
  return assert.fail('no error');
}

test('errors below the protocol have the messages of the client library of Triton, with the reason', async () => {
  const refused = await failureOf({ url: '127.0.0.1:1' });
  assert.equal(refused.code, 'UNAVAILABLE');
  assert.equal(refused.message, "HTTP client failed: Couldn't connect to server (connect ECONNREFUSED 127.0.0.1:1)");
  const unknown = await failureOf({ url: 'no-such-host.invalid:8000' });
  assert.match(unknown.message, /^HTTP client failed: Couldn't resolve host name \(/);
  await withRawServer(
    (socket) => socket.once('data', () => socket.end()),
    async (address) => {
      const { message } = await failureOf({ url: address });
      assert.equal(message, 'HTTP client failed: Failure when receiving data from the peer (other side closed)');
    },
  );
  await withRawServer(
    (socket) => socket.once('data', () => socket.end('SSH-2.0 hello\r\n')),
    async (address) => {
      assert.match((await failureOf({ url: address })).message, /^HTTP client failed: Unsupported protocol \(/);
    },
  );
  await withRawServer(
    (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{')),
    async (address) => {
      const { code, message } = await failureOf({ url: address });
      assert.equal(code, 'UNAVAILABLE');
      assert.match(message, /^HTTP client failed: /);
    },
  );
  assert.match((await failureOf({ url: `https://${url}` })).message, /^HTTP client failed: SSL connect error \(/);
});

for (const bad of ['', 'a b', 'ftp://h:1', 'h:port', '/path']) {
  test(`no server address: '${bad}'`, () => {
    assert.throws(() => createHttpClient({ url: bad }), { code: 'INVALID_ARG' });
  });
}

test('streams are refused, with a pointer to gRPC', () => {
  assert.throws(() => client.stream(), { code: 'UNSUPPORTED', message: /use the gRPC client/ });
});
