import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fromBinary, toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';

const repository = makeRepository({
  ...identityModel('numbers', [['TYPE_INT32', '4']]),
  ...identityModel('text', [['TYPE_STRING', '-1']]),
});
let server: TestServer;
let client: TestGrpcClient;

before(async () => {
  server = await startTestServer([repository.path]);
  client = new TestGrpcClient(server.grpc);
});

after(async () => {
  client.close();
  await server.stop();
  repository.remove();
});

function inferRequest(values: readonly number[], id = ''): service.ModelInferRequest {
  return {
    ...create(service.ModelInferRequest),
    model_name: 'numbers',
    id,
    inputs: [
      { ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, BigInt(values.length)] },
    ],
    raw_input_contents: [new Uint8Array(Int32Array.from(values).buffer)],
  };
}

const infer = (request: service.ModelInferRequest) =>
  client.call('ModelInfer', service.ModelInferRequest, service.ModelInferResponse, request);

test('health', async () => {
  assert.deepEqual(await client.call('ServerLive', service.ServerLiveRequest, service.ServerLiveResponse, {}), {
    live: true,
  });
  assert.deepEqual(await client.call('ServerReady', service.ServerReadyRequest, service.ServerReadyResponse, {}), {
    ready: true,
  });
  const ready = (name: string, version: string) =>
    client.call('ModelReady', service.ModelReadyRequest, service.ModelReadyResponse, { name, version });
  assert.deepEqual(await ready('text', ''), { ready: true });
  assert.deepEqual(await ready('text', '7'), { ready: false });
  assert.deepEqual(await ready('nosuch', ''), { ready: false });
  assert.deepEqual(await ready('', ''), { ready: false });
  await assert.rejects(ready('text', 'x'), {
    code: 3,
    details:
      "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
  });
  const check = await client.call(service.HEALTH_CHECK_PATH, service.HealthCheckRequest, service.HealthCheckResponse, {
    service: '',
  });
  assert.deepEqual(check, { status: 1 });
});

test('metadata and configuration', async () => {
  const about = await client.call('ServerMetadata', service.ServerMetadataRequest, service.ServerMetadataResponse, {});
  assert.equal(about.name, 'triton');
  const metadata = await client.call('ModelMetadata', service.ModelMetadataRequest, service.ModelMetadataResponse, {
    name: 'numbers',
    version: '',
  });
  assert.deepEqual(metadata, {
    name: 'numbers',
    versions: ['1'],
    platform: 'identity',
    inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [-1n, 4n] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'INT32', shape: [-1n, 4n] }],
  });
  const { config } = await client.call('ModelConfig', service.ModelConfigRequest, service.ModelConfigResponse, {
    name: 'numbers',
    version: '1',
  });
  assert.deepEqual([config?.name, config?.max_batch_size], ['numbers', 8]);
});

test('inference', async () => {
  const answer = await infer(inferRequest([1, -2, 3, 4], 'a'));
  assert.deepEqual([answer.model_name, answer.model_version, answer.id], ['numbers', '1', 'a']);
  assert.deepEqual([answer.outputs[0]?.name, answer.outputs[0]?.shape], ['OUTPUT0', [1n, 4n]]);
  assert.deepEqual([...new Int32Array(new Uint8Array(answer.raw_output_contents[0] ?? []).buffer)], [1, -2, 3, 4]);
  assert.equal(answer.parameters.size, 0);
});

test('typed contents are converted', async () => {
  const request = inferRequest([0, 0, 0, 0]);
  request.raw_input_contents = [];
  const input = request.inputs[0];
  if (input !== undefined) input.contents = { ...create(service.InferTensorContents), int_contents: [5, 6, 7, -8] };
  const answer = await infer(request);
  assert.deepEqual([...new Int32Array(new Uint8Array(answer.raw_output_contents[0] ?? []).buffer)], [5, 6, 7, -8]);
});

test('statistics and index', async () => {
  await infer(inferRequest([1, 2, 3, 4]));
  const { model_stats } = await client.call(
    'ModelStatistics',
    service.ModelStatisticsRequest,
    service.ModelStatisticsResponse,
    {
      name: 'numbers',
      version: '',
    },
  );
  assert.equal((model_stats[0]?.inference_count ?? 0n) > 0n, true);
  const { models } = await client.call(
    'RepositoryIndex',
    service.RepositoryIndexRequest,
    service.RepositoryIndexResponse,
    {
      repository_name: '',
      ready: true,
    },
  );
  assert.deepEqual(models, [
    { name: 'numbers', version: '1', state: 'READY', reason: '' },
    { name: 'text', version: '1', state: 'READY', reason: '' },
  ]);
});

test('load and unload are refused unless the mode is explicit', async () => {
  const load = { repository_name: '', model_name: 'text', parameters: new Map() };
  const refusal = { code: 14, details: 'explicit model load / unload is not allowed if polling is enabled' };
  await assert.rejects(
    client.call('RepositoryModelLoad', service.RepositoryModelLoadRequest, service.RepositoryModelLoadResponse, load),
    refusal,
  );
  await assert.rejects(
    client.call(
      'RepositoryModelUnload',
      service.RepositoryModelUnloadRequest,
      service.RepositoryModelUnloadResponse,
      load,
    ),
    refusal,
  );
});

test('log and trace settings', async () => {
  const { settings } = await client.call('LogSettings', service.LogSettingsRequest, service.LogSettingsResponse, {
    settings: new Map(),
  });
  assert.equal(settings.get('log_info')?.bool_param, true);
  assert.equal(settings.get('log_verbose_level')?.uint32_param, 0);
  const trace = await client.call('TraceSetting', service.TraceSettingRequest, service.TraceSettingResponse, {
    settings: new Map(),
    model_name: '',
  });
  assert.deepEqual(trace.settings.get('trace_level')?.value, ['OFF']);
  await assert.rejects(
    client.call('LogSettings', service.LogSettingsRequest, service.LogSettingsResponse, {
      settings: new Map([['log_file', { bool_param: undefined, uint32_param: undefined, string_param: 'x' }]]),
    }),
    { code: 12, details: 'log file location can not be updated through network protocol' },
  );
});

test('methods and services that do not exist', async () => {
  await assert.rejects(client.callBytes('NoSuch', new Uint8Array(0)), { code: 12, details: '' });
  await assert.rejects(client.callBytes('/grpc.health.v1.Health/Watch', new Uint8Array(0)), { code: 12 });
  await assert.rejects(client.callBytes('ServerLive', Uint8Array.of(0xff)), {
    code: 13,
    details: 'Unable to parse request',
  });
});

test('a stream answers in order, with errors in it, and ends after the half-close', async () => {
  const stream = client.stream();
  const answers: service.ModelStreamInferResponse[] = [];
  stream.on('data', (bytes: Buffer) => answers.push(fromBinary(service.ModelStreamInferResponse, bytes, 'response')));
  for (let i = 0; i < 20; i++) {
    const request = inferRequest([i, 0, 0, 0], String(i));
    if (i % 5 === 3) request.model_name = 'nosuch';
    stream.write(toBinary(service.ModelInferRequest, request));
  }
  stream.end();
  await new Promise<void>((resolve, reject) => {
    stream.on('end', resolve);
    stream.on('error', reject);
  });
  assert.deepEqual(
    answers.map(({ infer_response }) => infer_response?.id),
    Array.from({ length: 20 }, (_, i) => String(i)),
  );
  for (const [i, answer] of answers.entries()) {
    if (i % 5 === 3) {
      assert.equal(answer.error_message, "Request for unknown model: 'nosuch' is not found");
      assert.deepEqual(answer.infer_response?.outputs, []);
      assert.equal(answer.infer_response?.model_name, '');
    } else {
      assert.equal(answer.error_message, '');
      assert.equal(answer.infer_response?.parameters.get('triton_final_response')?.bool_param, true);
    }
  }
});
