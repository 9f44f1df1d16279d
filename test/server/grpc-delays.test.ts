/** Environment variables of Triton's test suites that delay gRPC calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';

const MODELS = {
  ...identityModel('m', [['TYPE_INT32', '4']]),
  ...identityModel(
    'slow',
    [['TYPE_INT32', '4']],
    'max_batch_size: 8\ndynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 600000 }',
  ),
  ...identityModel('many', [['TYPE_INT32', '4']], 'max_batch_size: 8\nmodel_transaction_policy { decoupled: true }'),
};

function requestTo(model: string): Uint8Array {
  return toBinary(service.ModelInferRequest, {
    ...create(service.ModelInferRequest),
    model_name: model,
    inputs: [{ ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, 4n] }],
    raw_input_contents: [new Uint8Array(16)],
  });
}

/** Runs `use` against a server that started with these variables. */
async function withServer(
  variables: Readonly<Record<string, string>>,
  use: (server: TestServer, client: TestGrpcClient) => Promise<void>,
): Promise<void> {
  const repository = makeRepository(MODELS);
  Object.assign(process.env, variables);
  const server = await startTestServer([repository.path], ['--log-verbose=1']);
  for (const name of Object.keys(variables)) delete process.env[name];
  const client = new TestGrpcClient(server.grpc);
  try {
    await use(server, client);
  } finally {
    client.close();
    await server.stop();
    repository.remove();
  }
}

async function milliseconds(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

/** A call of ModelInfer that is cancelled after `ms`, or once `when` has happened. */
async function cancelled(client: TestGrpcClient, model: string, when: () => Promise<void>): Promise<number> {
  const identity = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
  const method = '/inference.GRPCInferenceService/ModelInfer';
  return new Promise((resolve, reject) => {
    const call = client.client.makeUnaryRequest(method, identity, identity, requestTo(model), (error) =>
      resolve(error?.code ?? 0),
    );
    when().then(() => call.cancel(), reject);
  });
}

test('TRITONSERVER_SERVER_DELAY_GRPC_RESPONSE_SEC delays responses of all methods but inference', async () => {
  await withServer({ TRITONSERVER_SERVER_DELAY_GRPC_RESPONSE_SEC: '1' }, async (_server, client) => {
    const empty = new Uint8Array(0);
    const both = await milliseconds(() =>
      Promise.all([client.callBytes('ServerLive', empty), client.callBytes('ServerMetadata', empty)]),
    );
    // Each call waits by itself.
    assert.ok(both >= 990 && both < 1900, `${both} ms`);
    const unknown = toBinary(service.ModelMetadataRequest, { ...create(service.ModelMetadataRequest), name: 'no' });
    const failed = await milliseconds(() => assert.rejects(client.callBytes('ModelMetadata', unknown)));
    assert.ok(failed >= 990, `${failed} ms`);
    assert.ok((await milliseconds(() => client.callBytes('ModelInfer', requestTo('m')))) < 900);
  });
});

test('TRITONSERVER_DELAY_GRPC_PROCESS: a call that is cancelled meanwhile is not executed', async () => {
  await withServer({ TRITONSERVER_DELAY_GRPC_PROCESS: '500' }, async (server, client) => {
    const time = await milliseconds(() => client.callBytes('ModelInfer', requestTo('m')));
    assert.ok(time >= 490, `${time} ms`);
    assert.match(server.logText(), /"Delaying the Process execution by 500 ms\.\.\."/);
    const code = await cancelled(client, 'm', () => server.logged('Delaying the Process execution', 2));
    assert.equal(code, 1);
    await server.logged('Cancellation notification received for ModelInferHandler, rpc_ok=1, context 0 step START');
    assert.equal(server.engine.metrics().find(({ name }) => name === 'm')?.loaded?.inferenceCount, 1);
  });
});

test('TRITONSERVER_DELAY_GRPC_NOTIFICATION and _ENQUEUE: a cancellation comes late, and the request ends late', async () => {
  const variables = { TRITONSERVER_DELAY_GRPC_NOTIFICATION: '1500', TRITONSERVER_DELAY_GRPC_ENQUEUE: '300' };
  await withServer(variables, async (server, client) => {
    const slow = () => server.engine.metrics().find(({ name }) => name === 'slow')?.loaded;
    await cancelled(client, 'slow', async () => {
      while (slow()?.pending !== 1) await new Promise((resolve) => setTimeout(resolve, 1));
    });
    // The model has executed the request before the notification.
    await server.logged('Delaying PutTaskBackToQueue by 300 ms...');
    assert.equal(slow()?.inferenceCount, 1);
    assert.doesNotMatch(server.logText(), /Cancellation notification/);
    await server.logged('Cancellation notification received for ModelInferHandler, rpc_ok=1');
  });
});

test('a cancellation is in the verbose log', async () => {
  await withServer({}, async (server, client) => {
    const slow = () => server.engine.metrics().find(({ name }) => name === 'slow')?.loaded;
    await cancelled(client, 'slow', async () => {
      while (slow()?.pending !== 1) await new Promise((resolve) => setTimeout(resolve, 1));
    });
    await server.logged('Cancellation notification received for ModelInferHandler, rpc_ok=1');
    assert.match(server.logText(), / infer_handler\.cc:3\] "Cancellation notification/);
  });
});

test('TRITONSERVER_DELAY_GRPC_RESPONSE and _COMPLETE delay the responses of decoupled models in streams', async () => {
  const variables = { TRITONSERVER_DELAY_GRPC_RESPONSE: '400', TRITONSERVER_DELAY_GRPC_COMPLETE: '500' };
  await withServer(variables, async (server, client) => {
    const exchange = async (model: string): Promise<readonly number[]> => {
      const start = performance.now();
      const stream = client.stream();
      const times: number[] = [];
      stream.on('data', () => times.push(performance.now() - start));
      stream.write(requestTo(model));
      stream.end();
      await new Promise((resolve, reject) => stream.on('status', resolve).on('error', reject));
      return [...times, performance.now() - start];
    };
    const plain = await exchange('m');
    assert.ok(plain[1]! < 390, `${plain}`);
    const [response, end] = await exchange('many');
    assert.ok(response! >= 390 && end! >= 890, `${response} ${end}`);
    assert.match(server.logText(), /Delaying the write of the response by 400 ms\.\.\./);
  });
});
