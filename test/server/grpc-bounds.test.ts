/** What clients of the gRPC port can make a server echo, build and hold. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const repository = makeRepository({});
let server: TestServer;
let session: http2.ClientHttp2Session;

before(async () => {
  server = await startTestServer([repository.path], ['--exit-timeout-secs=30']);
  session = http2.connect(`http://127.0.0.1:${server.grpc}`);
});
after(async () => {
  session.destroy();
  await server.stop();
  repository.remove();
});

/** Status and message of a unary call. */
async function call(method: string, body: Uint8Array): Promise<[status: string, message: string]> {
  const stream = session.request({
    ':method': 'POST',
    ':path': service.SERVICE_PATH + method,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  stream.write(prefix);
  stream.end(body);
  const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
  stream.close();
  return [String(head['grpc-status']), String(head['grpc-message'])];
}

test('names of any size come back cut, and readable', async () => {
  const name = 'é'.repeat(20_000_000);
  const request = toBinary(service.ModelInferRequest, { ...create(service.ModelInferRequest), model_name: name });
  const [status, message] = await call('ModelInfer', request);
  assert.equal(status, '5');
  assert.ok(message.length <= 4096, `${message.length} bytes of grpc-message`);
  assert.match(
    decodeURIComponent(message),
    /^Request for unknown model: 'é+ \.\.\. \[cut: \d+ characters\] \.\.\. é+' is not found$/,
  );
  const metadata = toBinary(service.ModelMetadataRequest, { ...create(service.ModelMetadataRequest), name });
  assert.ok((await call('ModelMetadata', metadata))[1].length <= 4096);
});

test('lists of millions of empty elements are refused before they are built', async () => {
  // Each element is two bytes on the wire, and was about 200 in memory: together more than the heap.
  const count = 20_000_000;
  const before = process.memoryUsage().heapUsed;
  for (const [field, what] of [
    [0x2a, 'inputs'],
    [0x32, 'outputs'],
    [0x3a, 'raw_input_contents'],
  ] as const) {
    const [status, message] = await call('ModelInfer', Buffer.alloc(2 * count, Buffer.of(field, 0)));
    assert.notEqual(status, '0', what);
    assert.notEqual(message, 'undefined');
  }
  const [status, message] = await call('LogSettings', Buffer.alloc(2 * count, Buffer.of(0x0a, 0)));
  assert.deepEqual([status, message], ['13', 'Unable to parse request']);
  assert.ok(process.memoryUsage().heapUsed - before < 500_000_000);
  assert.equal((await httpRequest(server.http, 'GET', '/v2/health/ready')).status, 200);
});

test('a stop takes no longer for peers that do nothing', async () => {
  const stopping = await startTestServer([repository.path], ['--exit-timeout-secs=30']);
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const peers = [
    Buffer.alloc(0),
    preface.subarray(0, 10),
    Buffer.concat([preface, Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]),
  ].map((bytes) => {
    const socket = net.connect({ port: stopping.grpc, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write(bytes);
    socket.resume();
    return socket;
  });
  await Promise.all(peers.map((socket) => once(socket, 'connect')));
  // A stream on which nobody asks anything.
  const idle = http2.connect(`http://127.0.0.1:${stopping.grpc}`);
  const stream = idle.request({
    ':method': 'POST',
    ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const ended = once(stream, 'response');
  await new Promise((resolve) => setTimeout(resolve, 200));
  const start = performance.now();
  await stopping.stop();
  const took = performance.now() - start;
  for (const socket of peers) socket.destroy();
  assert.equal(((await ended)[0] as http2.IncomingHttpHeaders)['grpc-status'], '14');
  idle.destroy();
  assert.ok(took < 10_000, `the stop took ${took} ms`);
});
