/** Wrong requests of every kind get their error over both protocols, and the server goes on serving. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { httpRequest, rawExchange } from '../support/wire/http-request.js';

const repository = makeRepository({
  ...identityModel('m', [['TYPE_INT32', '4']], 'max_batch_size: 2'),
  ...identityModel(
    'two',
    [
      ['TYPE_INT32', '1'],
      ['TYPE_STRING', '1'],
    ],
    'max_batch_size: 0',
  ),
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

const GOOD = { name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data: [1, 2, 3, 4] };

async function stillServes(): Promise<void> {
  const answer = await httpRequest(server.http, 'POST', '/v2/models/m/infer', JSON.stringify({ inputs: [GOOD] }));
  assert.equal(answer.status, 200, answer.text);
}

test('HTTP: wrong requests', async () => {
  const infer = (model: string) => `/v2/models/${model}/infer`;
  const cases: [
    path: string,
    body: string | Uint8Array,
    status: number,
    error: string,
    headers?: Record<string, string>,
  ][] = [
    [infer('nosuch'), '{}', 404, "Request for unknown model: 'nosuch' is not found"],
    ['/v2/models/m/versions/9/infer', '{}', 404, "Request for unknown model: 'm' version 9 is not found"],
    [
      '/v2/models/m/versions/99999999999999999999/infer',
      '{}',
      400,
      "failed to get model version from specified version string '99999999999999999999' (details: stol), version should be an integral value > 0",
    ],
    [infer('m'), '{"inputs":[}', 500, 'failed to parse the request JSON buffer: Invalid value. at 11'],
    [infer('m'), '{}', 500, "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    [infer('m'), '{"inputs":5}', 500, "Unable to parse 'inputs': attempt to access JSON non-array as array"],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, name: 'NOPE' }] }),
      400,
      "unexpected inference input 'NOPE' for model 'm'",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, datatype: 'FP32' }] }),
      400,
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'm' expects 'INT32'",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, datatype: 'INT99' }] }),
      400,
      'invalid datatype for input INPUT0',
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, shape: [1, 3], data: [1, 2, 3] }] }),
      400,
      "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'm'. Expected [-1,4], got [1,3]. NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, shape: [3, 4], data: Array(12).fill(0) }] }),
      400,
      "[request id: <id_unknown>] inference request batch-size must be <= 2 for 'm'",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, data: [1, 2, 3] }] }),
      500,
      "Failed to parse 'data' field: shape does not match true shape",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, data: [1, 2, 3, 4, 5] }] }),
      500,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ ...GOOD, data: ['x', 1, 2, 3] }] }),
      500,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [GOOD], outputs: [{ name: 'NOPE' }] }),
      400,
      "unexpected inference output 'NOPE' for model 'm'",
    ],
    [
      infer('two'),
      JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1], data: [1] }] }),
      400,
      "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'two'. Got input(s) ['INPUT0'], but missing required input(s) ['INPUT1']. Please provide all required input(s).",
    ],
    [
      infer('m'),
      '{}',
      400,
      'Unable to parse Inference-Header-Content-Length, got: x',
      { 'Inference-Header-Content-Length': 'x' },
    ],
    [
      infer('m'),
      '{}',
      400,
      'inference header size should be in range (0, 2), got: 3',
      { 'Inference-Header-Content-Length': '3' },
    ],
    [
      infer('m'),
      '{}',
      400,
      'inference header size should be in range (0, 2), got: -1',
      { 'Inference-Header-Content-Length': '-1' },
    ],
    [
      infer('m'),
      JSON.stringify({
        inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], parameters: { binary_data_size: 16 } }],
      }),
      400,
      "unexpected size for input 'INPUT0', expecting 16 additional bytes for model 'm'",
    ],
    [
      infer('m'),
      JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4] }] }),
      400,
      "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But no field is set",
    ],
  ];
  for (const [path, body, status, error, headers] of cases) {
    const answer = await httpRequest(server.http, 'POST', path, { body, headers });
    assert.deepEqual([answer.status, answer.json], [status, { error }], `${path} ${body}`);
  }
  await stillServes();
});

test('HTTP: broken requests close their connection only', async () => {
  for (const bytes of [
    'NONSENSE\r\n\r\n',
    'GET / HTTP/1.1\nHost: x\n\n',
    'POST /v2 HTTP/1.1\r\nContent-Length: x\r\n\r\n',
  ]) {
    assert.equal(await rawExchange(server.http, bytes), '', JSON.stringify(bytes));
  }
  await stillServes();
});

test('gRPC: wrong requests', async () => {
  const input = { ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, 4n] };
  const good: service.ModelInferRequest = {
    ...create(service.ModelInferRequest),
    model_name: 'm',
    inputs: [input],
    raw_input_contents: [new Uint8Array(16)],
  };
  const cases: [change: Partial<service.ModelInferRequest>, code: number, details: string][] = [
    [{ model_name: 'nosuch' }, 5, "Request for unknown model: 'nosuch' is not found"],
    [{ model_version: '9' }, 5, "Request for unknown model: 'm' version 9 is not found"],
    [
      { model_version: 'x' },
      3,
      "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    ],
    [{ inputs: [{ ...input, name: 'NOPE' }] }, 3, "unexpected inference input 'NOPE' for model 'm'"],
    [
      { inputs: [{ ...input, datatype: 'FP32' }] },
      3,
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'm' expects 'INT32'",
    ],
    [
      { inputs: [{ ...input, shape: [3n, 4n] }], raw_input_contents: [new Uint8Array(48)] },
      3,
      "[request id: <id_unknown>] inference request batch-size must be <= 2 for 'm'",
    ],
    [
      { raw_input_contents: [new Uint8Array(15)], id: 'x' },
      3,
      "[request id: x] input byte size mismatch for input 'INPUT0' for model 'm'. Expected 16, got 15",
    ],
    [{ raw_input_contents: [] }, 3, "unable to find data for input tensor 'INPUT0' for model 'm' in request."],
    [
      { outputs: [{ ...create(service.InferRequestedOutputTensor), name: 'NOPE' }] },
      3,
      "unexpected inference output 'NOPE' for model 'm'",
    ],
  ];
  const call = (request: service.ModelInferRequest) =>
    client.call('ModelInfer', service.ModelInferRequest, service.ModelInferResponse, request);
  for (const [change, code, details] of cases) {
    await assert.rejects(call({ ...good, ...change }), { code, details }, details);
  }
  await assert.rejects(client.callBytes('ModelInfer', Uint8Array.of(0x0a, 0xff, 0x01)), {
    code: 13,
    details: 'Unable to parse request',
  });
  assert.equal((await call(good)).model_name, 'm');
});
