/** Ensembles in a real server: decoupled ones over streams, Python models as steps and as callers, the response cache. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createGrpcClient } from '../../src/client/grpc/grpc-client.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const numpy = pythonWithNumpy();

function io(kind: 'input' | 'output', tensors: Readonly<Record<string, string>>): string {
  return Object.entries(tensors)
    .map(
      ([name, type]) =>
        `${kind} { name: "${name}" data_type: ${type} dims: ${name === 'IN' || name === 'DELAY' ? -1 : 1} }`,
    )
    .join(' ');
}

function step(model: string, from: Readonly<Record<string, string>>, to: Readonly<Record<string, string>>): string {
  const map = (kind: string, names: Readonly<Record<string, string>>): string =>
    Object.entries(names)
      .map(([key, value]) => `${kind} { key: "${key}" value: "${value}" }`)
      .join(' ');
  return `step { model_name: "${model}" model_version: -1 ${map('input_map', from)} ${map('output_map', to)} }`;
}

const REPEAT_INPUTS = { IN: 'TYPE_INT32', DELAY: 'TYPE_UINT32', WAIT: 'TYPE_UINT32' };

const STREAMING = {
  'repeat/config.pbtxt': `backend: "repeat" max_batch_size: 0 model_transaction_policy { decoupled: true }
    ${io('input', REPEAT_INPUTS)} ${io('output', { OUT: 'TYPE_INT32', IDX: 'TYPE_UINT32' })}`,
  'repeat/1/.keep': '',
  ...identityModel('plain', [['TYPE_INT32', '[1]']], 'max_batch_size: 0'),
  'stream/config.pbtxt': `platform: "ensemble" max_batch_size: 0 ${io('input', REPEAT_INPUTS)}
    ${io('output', { RESULT: 'TYPE_INT32' })} ensemble_scheduling {
      ${step('repeat', { IN: 'IN', DELAY: 'DELAY', WAIT: 'WAIT' }, { OUT: 'mid' })}
      ${step('plain', { INPUT0: 'mid' }, { OUTPUT0: 'RESULT' })} }`,
  'stream/1/.keep': '',
};

describe('a decoupled ensemble', () => {
  const repository = makeRepository(STREAMING);
  let server: TestServer;
  before(async () => {
    server = await startTestServer([repository.path]);
  });
  after(async () => {
    await server.stop();
    repository.remove();
  });

  test('answers once for each response of its step over a gRPC stream', async () => {
    const client = createGrpcClient({ url: `127.0.0.1:${server.grpc}` });
    const uint32 = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);
    const stream = client.stream();
    const inputs = [
      { name: 'IN', datatype: 'INT32', shape: [3], data: uint32(7, 8, 9) },
      { name: 'DELAY', datatype: 'UINT32', shape: [3], data: uint32(0, 1, 0) },
      { name: 'WAIT', datatype: 'UINT32', shape: [1], data: uint32(0) },
    ] as const;
    await stream.send({ modelName: 'stream', id: 's', inputs }, { enableEmptyFinalResponse: true });
    stream.end();
    const values: number[] = [];
    let finals = 0;
    for await (const event of stream) {
      assert.equal(event.error, undefined);
      const output = event.result.output('RESULT');
      if (output !== undefined) values.push(new Int32Array(new Uint8Array(output.data).buffer)[0]!);
      if (event.final) finals++;
    }
    assert.deepEqual(values, [7, 8, 9]);
    assert.equal(finals, 1);
    await client.close();
  });

  test('of a model that is not decoupled and answers several times, a gRPC stream gets the first response', async () => {
    const config = STREAMING['repeat/config.pbtxt'].replace(/model_transaction_policy \{.*?\}/, '');
    const plain = makeRepository({ 'plain/config.pbtxt': config, 'plain/1/.keep': '' });
    const other = await startTestServer([plain.path]);
    const client = createGrpcClient({ url: `127.0.0.1:${other.grpc}` });
    try {
      const uint32 = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);
      const inputs = [
        { name: 'IN', datatype: 'INT32', shape: [3], data: uint32(7, 8, 9) },
        { name: 'DELAY', datatype: 'UINT32', shape: [3], data: uint32(0, 1, 0) },
        { name: 'WAIT', datatype: 'UINT32', shape: [1], data: uint32(0) },
      ] as const;
      const stream = client.stream();
      await stream.send({ modelName: 'plain', id: 'a', inputs });
      await stream.send({ modelName: 'plain', id: 'b', inputs });
      stream.end();
      const seen: unknown[] = [];
      for await (const { error, result, final } of stream) {
        assert.equal(error, undefined);
        seen.push([result!.id, new Int32Array(new Uint8Array(result!.output('OUT')!.data).buffer)[0], final]);
      }
      assert.deepEqual(seen, [
        ['a', 7, false],
        ['b', 7, false],
      ]);
      // Without a stream it stays an error, as in Triton.
      await assert.rejects(client.infer({ modelName: 'plain', inputs }), {
        message: 'expected a single response, got 3',
      });
    } finally {
      await client.close();
      await other.stop();
      plain.remove();
    }
  });

  test('answers events to generate_stream', async () => {
    const body = JSON.stringify({ IN: [4, 5], DELAY: [0, 0], WAIT: 0 });
    const answer = await httpRequest(server.http, 'POST', '/v2/models/stream/generate_stream', body);
    assert.equal(answer.status, 200);
    const events = [...answer.text.matchAll(/^data: (.*)$/gm)].map(
      (match) => JSON.parse(match[1]!) as { RESULT: number },
    );
    assert.deepEqual(
      events.map(({ RESULT }) => RESULT),
      [4, 5],
    );
  });

  test('is refused by plain inference', async () => {
    const answer = await httpRequest(server.http, 'POST', '/v2/models/stream/infer', '{"inputs":[]}');
    assert.equal(answer.status, 501);
    assert.match(answer.text, /HTTP end point doesn't support models with decoupled transaction policy/);
  });
});

const ADD_ONE = `import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "A").as_numpy()
            if x[0, 0] < 0:
                raise ValueError("no negative numbers")
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("B", x + 1)]))
        return answers
`;

const CALLER = `import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "A")
            call = pb_utils.InferenceRequest(model_name="twice", requested_output_names=["B"], inputs=[x])
            answer = call.exec()
            if answer.has_error():
                answers.append(pb_utils.InferenceResponse(error=answer.error()))
            else:
                answers.append(pb_utils.InferenceResponse([pb_utils.get_output_tensor_by_name(answer, "B")]))
        return answers
`;

/** Sends as many responses as its request says and notes in a file how many have gone out. */
const PRODUCER = `import os
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.file = os.path.join(args["model_repository"], "..", "sent")
    def execute(self, requests):
        for r in requests:
            sender = r.get_response_sender()
            for i in range(int(pb_utils.get_input_tensor_by_name(r, "A").as_numpy()[0, 0])):
                with open(self.file + ".new", "w") as f:
                    f.write(str(i + 1))
                os.replace(self.file + ".new", self.file)
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("B", np.array([[i]], np.int32))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
`;

/** Says how far the producer is ahead of the response that it works on. */
const CONSUMER = `import os, time
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.file = os.path.join(args["model_repository"], "..", "sent")
    def execute(self, requests):
        answers = []
        for r in requests:
            i = int(pb_utils.get_input_tensor_by_name(r, "A").as_numpy()[0, 0])
            time.sleep(0.01)
            ahead = int(open(self.file).read()) - i
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("B", np.array([[ahead]], np.int32))]))
        return answers
`;

describe('Python models and ensembles', { skip: numpy === undefined }, () => {
  const types = `${io('input', { A: 'TYPE_INT32' })} ${io('output', { B: 'TYPE_INT32' })}`;
  const repository = makeRepository({
    'add_one/config.pbtxt': `backend: "python" max_batch_size: 8 ${types}`,
    'add_one/1/model.py': ADD_ONE,
    'twice/config.pbtxt': `platform: "ensemble" max_batch_size: 8 ${types} response_cache { enable: true }
      ensemble_scheduling { ${step('add_one', { A: 'A' }, { B: 'mid' })} ${step('add_one', { A: 'mid' }, { B: 'B' })} }`,
    'twice/1/.keep': '',
    'producer/config.pbtxt': `backend: "python" max_batch_size: 8 ${types} model_transaction_policy { decoupled: true }`,
    'producer/1/model.py': PRODUCER,
    'consumer/config.pbtxt': `backend: "python" max_batch_size: 8 ${types}`,
    'consumer/1/model.py': CONSUMER,
    'paced/config.pbtxt': `platform: "ensemble" max_batch_size: 8 ${types} ensemble_scheduling { max_inflight_requests: 2
      ${step('producer', { A: 'A' }, { B: 'mid' })} ${step('consumer', { A: 'mid' }, { B: 'B' })} }`,
    'paced/1/.keep': '',
    'caller/config.pbtxt': `backend: "python" max_batch_size: 8 ${types}`,
    'caller/1/model.py': CALLER,
  });
  let server: TestServer;
  before(async () => {
    server = await startTestServer(
      [repository.path],
      [`--backend-config=python,python-executable=${numpy}`, '--cache-config=local,size=65536'],
    );
  });
  after(async () => {
    await server?.stop();
    repository.remove();
  });

  const infer = async (model: string, value: number) => {
    const body = JSON.stringify({ inputs: [{ name: 'A', datatype: 'INT32', shape: [1, 1], data: [value] }] });
    const answer = await httpRequest(server.http, 'POST', `/v2/models/${model}/infer`, body);
    return JSON.parse(answer.text) as { error?: string; outputs: { data: number[] }[]; parameters?: object };
  };

  test('a Python model may be several steps of one ensemble', async () => {
    const answer = await infer('twice', 5);
    assert.deepEqual(answer.outputs[0]!.data, [7]);
    assert.deepEqual(answer.parameters, { sequence_id: 0, sequence_start: false, sequence_end: false });
  });

  test('its exception comes back with the name of the ensemble in front', async () => {
    const { error } = await infer('twice', -3);
    assert.match(
      error!,
      /^in ensemble 'twice', Failed to process the request\(s\) for model 'add_one_0', message: ValueError: no negative numbers/,
    );
  });

  test('a Python model may call an ensemble', async () => {
    assert.deepEqual((await infer('caller', 1)).outputs[0]!.data, [3]);
    assert.match((await infer('caller', -1)).error!, /^in ensemble 'twice', .*no negative numbers/s);
  });

  test('a decoupled Python model waits until the next step has room', async () => {
    const body = JSON.stringify({ A: [[40]] });
    const { text } = await httpRequest(server.http, 'POST', '/v2/models/paced/generate_stream', body);
    const ahead = [...text.matchAll(/^data: (.*)$/gm)].map((match) => (JSON.parse(match[1]!) as { B: number }).B);
    assert.equal(ahead.length, 40, text);
    // The one in work, one more with a place, one that waits for it, and one noted before it was sent.
    assert.ok(Math.max(...ahead) <= 4, String(ahead));
  });

  test('the cache answers for the whole ensemble, and the metrics say so', async () => {
    await infer('twice', 100);
    const executions = async () => {
      const text = (await httpRequest(server.http, 'GET', '/v2/models/add_one/stats')).text;
      return (JSON.parse(text) as { model_stats: { execution_count: number }[] }).model_stats[0]!.execution_count;
    };
    const before = await executions();
    const again = await infer('twice', 100);
    assert.deepEqual(again.outputs[0]!.data, [102]);
    assert.equal(await executions(), before);
    const { text } = await httpRequest(server.metrics, 'GET', '/metrics');
    assert.match(text, /^nv_cache_num_hits_per_model\{model="twice",version="1"\} [1-9]/m);
    assert.match(text, /^nv_cache_num_hits [1-9]/m);
    assert.match(text, /^nv_cache_num_entries [1-9]/m);
    assert.doesNotMatch(text, /nv_cache_num_hits_per_model\{model="add_one"/);
  });
});
