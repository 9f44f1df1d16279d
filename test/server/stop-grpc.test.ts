/** gRPC clients of a server that stops while requests are in flight: they are told so, on open connections and on new ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { httpRequest } from '../support/wire/http-request.js';

const STOPPING =
  '[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests';

const SLOW = 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 3000000 }';
const ENSEMBLE = `platform: "ensemble" max_batch_size: 8
  input { name: "INPUT0" data_type: TYPE_INT32 dims: 4 } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: 4 }
  ensemble_scheduling { step { model_name: "quick" model_version: -1
    input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } }`;

const MODELS = {
  ...identityModel('slow', [['TYPE_INT32', '4']], SLOW),
  ...identityModel('quick', [['TYPE_INT32', '4']]),
  'chain/config.pbtxt': ENSEMBLE,
  'chain/1/.keep': '',
};

function requestTo(model: string): Uint8Array {
  return toBinary(service.ModelInferRequest, {
    ...create(service.ModelInferRequest),
    model_name: model,
    inputs: [{ ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, 4n] }],
    raw_input_contents: [new Uint8Array(16)],
  });
}

const HTTP_BODY = JSON.stringify({
  inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data: [1, 2, 3, 4] }],
});

/** Status and message of a call that has to fail. */
async function failure(client: TestGrpcClient, method: string, message: Uint8Array): Promise<[number, string]> {
  try {
    await client.callBytes(method, message);
  } catch (reason) {
    const { code, details } = reason as { code: number; details: string };
    return [code, details];
  }
  throw new Error('the call should have failed');
}

for (const inFlight of ['gRPC', 'HTTP']) {
  test(`new requests during a stop get UNAVAILABLE while a request over ${inFlight} is in flight`, async () => {
    const repository = makeRepository(MODELS);
    const server = await startTestServer([repository.path], ['--model-control-mode=explicit', '--load-model=*']);
    const open = new TestGrpcClient(server.grpc);
    const late = new TestGrpcClient(server.grpc, undefined, { 'grpc.use_local_subchannel_pool': 1 });
    try {
      await open.callBytes('ModelInfer', requestTo('quick'));
      const answered =
        inFlight === 'gRPC'
          ? open.callBytes('ModelInfer', requestTo('slow'))
          : httpRequest(server.http, 'POST', '/v2/models/slow/infer', HTTP_BODY);
      const slow = () => server.engine.metrics().find(({ name }) => name === 'slow')?.loaded?.pending;
      while (slow() !== 1) await new Promise((resolve) => setTimeout(resolve, 1));
      const stopped = server.stop();
      for (const client of [open, late]) {
        assert.deepEqual(await failure(client, 'ModelInfer', requestTo('quick')), [14, STOPPING]);
        assert.deepEqual(await failure(client, 'ModelInfer', requestTo('chain')), [
          14,
          `in ensemble 'chain', ${STOPPING}`,
        ]);
        assert.deepEqual(await failure(client, 'ServerReady', new Uint8Array(0)), [14, 'Server exiting']);
      }
      const load = toBinary(service.RepositoryModelLoadRequest, {
        ...create(service.RepositoryModelLoadRequest),
        model_name: 'quick',
      });
      assert.deepEqual(await failure(late, 'RepositoryModelLoad', load), [14, 'Server not ready']);
      const answer = await answered;
      if ('status' in answer) assert.equal(answer.status, 200);
      assert.equal(await stopped, true);
    } finally {
      open.close();
      late.close();
      await server.stop();
      repository.remove();
    }
  });
}
