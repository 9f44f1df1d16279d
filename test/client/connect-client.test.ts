/** A gRPC client that is neither grpc-js nor Python's, and knows the protocol only from the server's reflection. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createFileRegistry, type DescService, fromBinary as fromProto } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { FileDescriptor } from '../../src/protocol/proto/descriptor.js';
import { serviceFiles } from '../../src/protocol/proto/service/service-files.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const repository = makeRepository(identityModel('numbers', [['TYPE_INT32', '-1']]));
let server: TestServer;
/** Methods by local name; what they take and give is known at run time only. */
let client: Record<
  string,
  (request: unknown, options?: unknown) => Promise<Record<string, unknown>> & AsyncIterable<Record<string, unknown>>
>;

before(async () => {
  server = await startTestServer([repository.path]);
  const files = serviceFiles().map((file) => Buffer.from(toBinary(FileDescriptor, file)));
  // A FileDescriptorSet is a list of files in field 1.
  const set = fromProto(
    FileDescriptorSetSchema,
    Buffer.concat(files.flatMap((file) => [varintField(file.length), file])),
  );
  const service = createFileRegistry(set).getService('inference.GRPCInferenceService') as DescService;
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpc}` });
  client = createClient(service, transport) as unknown as typeof client;
});
after(async () => {
  await server.stop();
  repository.remove();
});

function varintField(length: number): Buffer {
  const bytes = [10];
  let rest = length;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function inferRequest(values: readonly number[], id = '') {
  return {
    modelName: 'numbers',
    id,
    inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1n, BigInt(values.length)] }],
    rawInputContents: [new Uint8Array(Int32Array.from(values).buffer)],
  };
}

const numbersOf = (response: Record<string, unknown>) => {
  const [raw] = response['rawOutputContents'] as Uint8Array[];
  return [...new Int32Array(Uint8Array.from(raw ?? []).buffer)];
};

test('unary calls', async () => {
  assert.equal((await client['serverLive']?.({}))?.['live'], true);
  const response = await client['modelInfer']?.(inferRequest([1, -2, 3], 'a'));
  assert.equal(response?.['id'], 'a');
  assert.deepEqual(numbersOf(response ?? {}), [1, -2, 3]);
  const config = (await client['modelConfig']?.({ name: 'numbers' }))?.['config'] as { maxBatchSize: number };
  assert.equal(config.maxBatchSize, 8);
});

test('a large tensor goes both ways', async () => {
  const values = Array.from({ length: 500_000 }, (_, i) => i);
  assert.deepEqual(numbersOf((await client['modelInfer']?.(inferRequest(values))) ?? {}), values);
});

test('a stream responds in order', async () => {
  async function* requests() {
    for (let i = 0; i < 20; i++) yield inferRequest([i], String(i));
  }
  const ids: unknown[] = [];
  for await (const { inferResponse } of client['modelStreamInfer']?.(requests()) ?? []) {
    ids.push((inferResponse as { id: string }).id);
  }
  assert.deepEqual(
    ids,
    Array.from({ length: 20 }, (_, i) => String(i)),
  );
});

test('errors have their code and text', async () => {
  const failed = async (request: unknown) => {
    const reason = await client['modelInfer']?.(request).then(() => undefined, ConnectError.from);
    return [reason?.code, reason?.rawMessage];
  };
  const [code, text] = await failed({ modelName: 'nosuch' });
  assert.deepEqual([code, /unknown model/.test(String(text))], [Code.NotFound, true]);
  const wrong = inferRequest([1]);
  wrong.inputs[0]!.datatype = 'FP32';
  assert.deepEqual((await failed(wrong))[0], Code.InvalidArgument);
});
