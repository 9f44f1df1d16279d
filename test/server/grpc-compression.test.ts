/** Compression of gRPC messages: requests of any method, responses of inference at the level of the option. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { test } from 'node:test';
import { gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { makeTensor } from '../../src/client/index.js';
import { decodeGrpcInferResponse, encodeGrpcInferRequest } from '../../src/client/infer/grpc-codec.js';
import { fromBinary } from '../../src/protocol/proto/codec.js';
import { SERVICE_PATH, ServerMetadataResponse } from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

/** What a server answered: its encoding, whether the message was compressed, and the message in its own form. */
interface Answer {
  readonly encoding: string | undefined;
  readonly compressed: boolean;
  readonly message: Buffer;
}

/** One call over HTTP/2 as it stands on the wire. */
async function call(
  server: TestServer,
  method: string,
  message: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const session = http2.connect(`http://127.0.0.1:${server.grpc}`);
  try {
    const stream = session.request({
      ':method': 'POST',
      ':path': SERVICE_PATH + method,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const compress = headers['grpc-encoding'] === 'gzip';
    const payload = compress ? gzipSync(message) : message;
    const prefix = Buffer.alloc(5);
    prefix[0] = compress ? 1 : 0;
    prefix.writeUInt32BE(payload.length, 1);
    stream.end(Buffer.concat([prefix, payload]));
    const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    const trailers = once(stream, 'trailers');
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    assert.equal(((await trailers)[0] as http2.IncomingHttpHeaders)['grpc-status'], '0');
    const body = Buffer.concat(chunks);
    const encoding = head['grpc-encoding'] as string | undefined;
    const compressed = body[0] === 1;
    const data = body.subarray(5);
    if (!compressed) return { encoding, compressed, message: data };
    return { encoding, compressed, message: encoding === 'gzip' ? gunzipSync(data) : inflateSync(data) };
  } finally {
    session.close();
  }
}

const repository = makeRepository(identityModel('m', [['TYPE_INT32', '[ -1 ]']], 'max_batch_size: 0'));
const input = makeTensor('INPUT0', 'INT32', new Int32Array(1000).fill(7));
const request = Buffer.concat(encodeGrpcInferRequest({ modelName: 'm', inputs: [input] }));
const BOTH = 'identity, deflate, gzip';

for (const [level, accepted, encoding] of [
  ['none', BOTH, undefined],
  ['low', BOTH, 'gzip'],
  ['high', BOTH, 'deflate'],
  ['low', 'deflate', 'deflate'],
  ['high', 'gzip', 'gzip'],
  ['high', 'identity', undefined],
  ['high', undefined, undefined],
] as const) {
  test(`level ${level} for a peer that accepts ${accepted ?? 'nothing'}: ${encoding ?? 'none'}`, async (t) => {
    const server = await startTestServer([repository.path], [`--grpc-infer-response-compression-level=${level}`]);
    t.after(() => server.stop());
    const headers = accepted === undefined ? {} : { 'grpc-accept-encoding': accepted };
    const answer = await call(server, 'ModelInfer', request, headers);
    assert.deepEqual([answer.encoding, answer.compressed], [encoding, encoding !== undefined]);
    assert.deepEqual(Buffer.from(decodeGrpcInferResponse(answer.message).outputs[0]!.data), Buffer.from(input.data));
    const metadata = await call(server, 'ServerMetadata', Buffer.alloc(0), headers);
    assert.equal(metadata.compressed, false);
  });
}

test('compressed requests are read, of inference and of every other method', async (t) => {
  const server = await startTestServer([repository.path]);
  t.after(() => server.stop());
  t.after(() => repository.remove());
  const answer = await call(server, 'ModelInfer', request, { 'grpc-encoding': 'gzip' });
  assert.equal(decodeGrpcInferResponse(answer.message).outputs[0]!.data.length, 4000);
  const metadata = await call(server, 'ServerMetadata', Buffer.alloc(0), { 'grpc-encoding': 'gzip' });
  assert.equal(fromBinary(ServerMetadataResponse, metadata.message).name, 'triton');
});
