import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { fromBinary, toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../src/protocol/proto/service/reflection-messages.js';
import { REFLECTION_PATHS } from '../../src/server/grpc/handlers/reflection.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const repository = makeRepository(identityModel('numbers', [['TYPE_INT32', '4']]));
let server: TestServer;

before(async () => {
  server = await startTestServer([repository.path]);
});
after(async () => {
  await server.stop();
  repository.remove();
});

/** Asks one thing after the other on one stream. */
function reflect(
  port: number,
  questions: readonly Partial<ServerReflectionRequest>[],
  path = REFLECTION_PATHS[0] as string,
): Promise<ServerReflectionResponse[]> {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const call = client.makeBidiStreamRequest(
    path,
    (request: ServerReflectionRequest) => Buffer.from(toBinary(ServerReflectionRequest, request)),
    (bytes) => fromBinary(ServerReflectionResponse, bytes),
  );
  for (const question of questions) call.write({ ...create(ServerReflectionRequest), ...question });
  call.end();
  return new Promise<ServerReflectionResponse[]>((resolve, reject) => {
    const answers: ServerReflectionResponse[] = [];
    call.on('data', (answer) => answers.push(answer));
    call.on('error', reject);
    call.on('end', () => resolve(answers));
  }).finally(() => client.close());
}

/** Descriptors as a FileDescriptorSet, which is a list of them in field 1. */
function descriptorSet(files: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    files.flatMap((file) => {
      const length: number[] = [];
      let rest = file.length;
      for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
      return [Buffer.from([10, ...length, rest]), file];
    }),
  );
}

test('both versions of reflection list the services', async () => {
  for (const path of REFLECTION_PATHS) {
    const [answer] = await reflect(server.grpc, [{ list_services: '' }], path);
    assert.deepEqual(
      answer?.list_services_response?.service.map(({ name }) => name),
      ['inference.GRPCInferenceService', 'grpc.health.v1.Health'],
    );
  }
});

test('a client that knows no .proto file calls the server by what reflection reports', async () => {
  const [answer] = await reflect(server.grpc, [{ file_containing_symbol: 'inference.GRPCInferenceService' }]);
  const files = answer?.file_descriptor_response?.file_descriptor_proto ?? [];
  const loaded = grpc.loadPackageDefinition(
    protoLoader.loadFileDescriptorSetFromBuffer(descriptorSet(files), { keepCase: true, longs: Number }),
  ) as unknown as { inference: { GRPCInferenceService: grpc.ServiceClientConstructor } };
  const client = new loaded.inference.GRPCInferenceService(
    `127.0.0.1:${server.grpc}`,
    grpc.credentials.createInsecure(),
  ) as unknown as Record<string, (request: unknown, done: (error: unknown, answer: unknown) => void) => void> & {
    close(): void;
  };
  const call = (name: string, request: unknown) =>
    new Promise<Record<string, unknown>>((resolve, reject) =>
      client[name]?.(request, (error, result) => (error ? reject(error) : resolve(result as Record<string, unknown>))),
    );
  try {
    const answered = await call('ModelInfer', {
      model_name: 'numbers',
      // This loader sees maps as the lists of entries that they are on the wire.
      parameters: [{ key: 'note', value: { string_param: 'x' } }],
      inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], contents: { int_contents: [1, 2, 3, -4] } }],
    });
    const [output] = answered['outputs'] as { name: string; shape: number[] }[];
    assert.deepEqual([output?.name, output?.shape], ['OUTPUT0', [1, 4]]);
    const [raw] = answered['raw_output_contents'] as Buffer[];
    assert.deepEqual([raw?.readInt32LE(0), raw?.readInt32LE(12)], [1, -4]);
    const { config } = (await call('ModelConfig', { name: 'numbers' })) as {
      config: { input: { name: string; data_type: number }[]; max_batch_size: number };
    };
    assert.equal(config.max_batch_size, 8);
    assert.deepEqual([config.input[0]?.name, config.input[0]?.data_type], ['INPUT0', 8]);
  } finally {
    client.close();
  }
});

test('files and symbols are found by name, and what is not there is said', async () => {
  const answers = await reflect(server.grpc, [
    { file_by_filename: 'grpc_service.proto' },
    { file_by_filename: 'grpc/health/v1/health.proto' },
    { file_containing_symbol: 'inference.ModelInferRequest.InferInputTensor' },
    { file_containing_symbol: 'inference.ModelInstanceGroup.Kind' },
    { file_containing_symbol: 'inference.GRPCInferenceService.ModelInfer' },
    { all_extension_numbers_of_type: 'inference.ModelConfig' },
    { file_by_filename: 'nosuch.proto' },
    { file_containing_symbol: 'inference.NoSuch' },
    { file_containing_extension: { containing_type: 'inference.ModelConfig', extension_number: 7 } },
    {},
  ]);
  const counts = answers.slice(0, 5).map((a) => a.file_descriptor_response?.file_descriptor_proto.length);
  assert.deepEqual(counts, [2, 1, 2, 1, 2]);
  assert.deepEqual(answers[5]?.all_extension_numbers_response?.extension_number, []);
  assert.deepEqual(
    answers.slice(6).map((a) => a.error_response),
    [
      { error_code: 5, error_message: "file 'nosuch.proto' not found" },
      { error_code: 5, error_message: "symbol 'inference.NoSuch' not found" },
      { error_code: 5, error_message: "extension of 'inference.ModelConfig' not found" },
      { error_code: 3, error_message: 'the request asks for nothing' },
    ],
  );
});

test('--grpc-reflection=false leaves it out', async () => {
  const closed = await startTestServer([repository.path], ['--grpc-reflection=false']);
  try {
    await assert.rejects(reflect(closed.grpc, [{ list_services: '' }]), { code: grpc.status.UNIMPLEMENTED });
  } finally {
    await closed.stop();
  }
});
