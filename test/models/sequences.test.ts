/** Sequences in a real server: NVIDIA's client library over all transports, Python models that are executed repeatedly. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { pythonWithClients, pythonWithNumpy } from '../support/programs/python.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const run = promisify(execFile);
const FIXTURES = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const numpy = pythonWithNumpy();
const HEAD = 'import json\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n';

/** Says what it was given: inputs, flags, id; SUM_OUT is a state's output. */
const DESCRIBE = `${HEAD}
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for r in requests:
            seen = {t.name(): t.as_numpy().reshape(-1).tolist() for t in r.inputs()}
            seen.update(flags=r.flags(), id=r.correlation_id())
            answers.append(pb_utils.InferenceResponse([
                pb_utils.Tensor("OUT", np.array([[json.dumps(seen)]], object)),
                pb_utils.Tensor("SUM_OUT", np.array([[5]], np.int32))]))
        return answers
`;

/** Is executed IN times for a request; its states are its own. */
const COUNT = `${HEAD}
class TritonPythonModel:
    def initialize(self, args):
        self.runs = {}
    def execute(self, requests):
        answers = []
        for r in requests:
            wanted = int(pb_utils.get_input_tensor_by_name(r, "IN").as_numpy()[0, 0])
            seen = self.runs.setdefault(r.correlation_id(), [])
            seen.append(r.flags())
            if len(seen) < wanted:
                r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
                answers.append(None)
            else:
                answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[json.dumps(seen)]], object))]))
        return answers
`;

/** Sends one response per execution, as generative models do. */
const GENERATE = `${HEAD}
class TritonPythonModel:
    def initialize(self, args):
        self.left = {}
    def execute(self, requests):
        for r in requests:
            if r.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                self.left[r.correlation_id()] = int(pb_utils.get_input_tensor_by_name(r, "IN").as_numpy()[0, 0])
            left = self.left[r.correlation_id()] = self.left[r.correlation_id()] - 1
            sender = r.get_response_sender()
            text = json.dumps([left, len(requests)])
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[text]], object))]))
            if left > 0:
                r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            else:
                sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
`;

const config = (more: string) => `backend: "python" max_batch_size: 4
  input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_STRING dims: [1] }
  instance_group { count: 1 kind: KIND_CPU } ${more}`;
const STATE = `state { input_name: "SUM" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [1]
  initial_state { name: "n" data_type: TYPE_INT32 dims: [1] data_file: "nine" } }`;
const CORRID = 'control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }';

describe('Python models', { skip: numpy === undefined }, () => {
  const repository = makeRepository({
    'described/config.pbtxt': config(`sequence_batching { direct {} ${CORRID} ${STATE} }`),
    'described/1/model.py': DESCRIBE,
    'described/initial_state/nine': Uint8Array.from([9, 0, 0, 0]),
    'counted/config.pbtxt': config('sequence_batching { iterative_sequence: true }'),
    'counted/1/model.py': COUNT,
    'counted_plainly/config.pbtxt': config(''),
    'counted_plainly/1/model.py': COUNT,
    'generated/config.pbtxt': config(
      'model_transaction_policy { decoupled: true } sequence_batching { iterative_sequence: true }',
    ),
    'generated/1/model.py': GENERATE,
  });
  let server: TestServer | undefined;

  before(async () => {
    process.env['TRITON_PYTHON'] = numpy;
    server = await startTestServer([repository.path]);
  });
  after(async () => {
    await server?.stop();
    repository.remove();
  });

  const infer = async (model: string, value: number, parameters = {}) => {
    const inputs = [{ name: 'IN', datatype: 'INT32', shape: [1, 1], data: [value] }];
    const body = JSON.stringify({ inputs, outputs: [{ name: 'OUT' }], parameters });
    const { status, json } = await httpRequest(server!.http, 'POST', `/v2/models/${model}/infer`, body);
    const { outputs, error } = json as { outputs?: { data: string[] }[]; error?: string };
    return { status, error, seen: outputs === undefined ? undefined : (JSON.parse(outputs[0]!.data[0]!) as unknown) };
  };

  test('are fed the first state always: what they put out is not a state, and is reported to nobody', async () => {
    for (const [flags, parameters] of [
      [1, { sequence_start: true }],
      [0, {}],
      [2, { sequence_end: true }],
    ] as const) {
      const { seen } = await infer('described', 1, { sequence_id: 7, ...parameters });
      assert.deepEqual(seen, { IN: [1], ID: [7], SUM: [9], flags, id: 7 });
    }
  });

  test('see a text id in a number control as Triton puts it there', async () => {
    const { seen } = await infer('described', 1, { sequence_id: 's1', sequence_start: true, sequence_end: true });
    assert.deepEqual(seen, { IN: [1], ID: [0x317300000002], SUM: [9], flags: 3, id: 's1' });
  });

  test('put requests back until they are done', async () => {
    assert.deepEqual((await infer('counted', 3)).seen, [1, 0, 0]);
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((count) => infer('counted', count)));
    assert.deepEqual(
      answers.map(({ seen }) => (seen as number[]).length),
      [1, 2, 3, 4, 5, 6],
    );
  });

  test('cannot do that where the model is not an iterative sequence', async () => {
    const { status, error } = await infer('counted_plainly', 2);
    assert.equal(status, 400);
    assert.equal(
      error,
      'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.',
    );
  });

  test('answer bit by bit, one response for each execution', async () => {
    const body = JSON.stringify({ IN: [[3]] });
    const target = '/v2/models/generated/generate_stream';
    const { text } = await httpRequest(server!.http, 'POST', target, body);
    const outputs = [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => JSON.parse(line!) as { OUT: string });
    assert.deepEqual(
      outputs.map(({ OUT }) => JSON.parse(OUT) as unknown),
      [
        [2, 1],
        [1, 1],
        [0, 1],
      ],
    );
  });
});

/** What the SDK's sequence examples do: two sequences by turns, integers and texts as ids, sync and over one stream. */
const CLIENT = `
import queue, sys
import numpy as np
import tritonclient.grpc as tg
import tritonclient.http as th
http, grpc = sys.argv[1:]
values = [11, 7, 5, 3, 2, 0, 1]

def expected(model, sequence, index, value):
    total = value + (index == 0)
    if model == "simple_dyna_sequence" and index == len(values) - 1 and isinstance(sequence, int):
        total += sequence
    return total

def tensors(t, value):
    i = t.InferInput("INPUT", [1, 1], "INT32")
    i.set_data_from_numpy(np.full((1, 1), value, np.int32))
    return [i]

def flags(index):
    return {"sequence_start": index == 0, "sequence_end": index == len(values) - 1}

def usable(model, ids):
    return ids if model == "simple_sequence" else ids[:2]

models = ["simple_sequence", "simple_dyna_sequence"]
for number, (t, url) in enumerate([(th, http), (tg, grpc)]):
    with t.InferenceServerClient(url) as client:
        for model in models:
            ids = usable(model, [1000 + number, 2000 + number, "text%d" % number])
            for index, value in enumerate(values):
                for id in ids:
                    sign = -1 if id == ids[1] else 1
                    result = client.infer(model, tensors(t, sign * value), sequence_id=id, **flags(index))
                    got = int(result.as_numpy("OUTPUT")[0, 0])
                    assert got == expected(model, id, index, sign * value), (model, id, index, got)
            try:
                client.infer(model, tensors(t, 1), sequence_id=ids[0])
                raise SystemExit("a sequence went on after its end")
            except t.InferenceServerException if hasattr(t, "InferenceServerException") else Exception as error:
                assert "must specify the START flag" in str(error), error

with tg.InferenceServerClient(grpc) as client:
    for model in models:
        answers = queue.Queue()
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        ids = usable(model, [3000, 4000, "streamed"])
        sent = {}
        for index, value in enumerate(values):
            for id in ids:
                key = "%s_%d" % (id, index)
                sent[key] = expected(model, id, index, value)
                client.async_stream_infer(model, tensors(tg, value), request_id=key, sequence_id=id, **flags(index))
        order = {}
        for _ in sent:
            result, error = answers.get(timeout=30)
            assert error is None, error
            key = result.get_response().id
            assert int(result.as_numpy("OUTPUT")[0, 0]) == sent[key], key
            order.setdefault(key.split("_")[0], []).append(int(key.split("_")[1]))
        assert all(seen == list(range(len(values))) for seen in order.values()), order
        client.stop_stream()
print("fine")
`;

test("NVIDIA's client library runs sequences over HTTP, gRPC and a stream", async (t) => {
  const python = pythonWithClients();
  if (python === undefined) return t.skip('no tritonclient');
  const only = ['simple_sequence', 'simple_dyna_sequence'].map((name) => `--load-model=${name}`);
  const server = await startTestServer([FIXTURES], ['--model-control-mode=explicit', ...only]);
  try {
    const urls = [server.http, server.grpc].map((port) => `127.0.0.1:${port}`);
    const { stdout } = await run(python, ['-c', CLIENT, ...urls], { timeout: 100_000 });
    assert.equal(stdout.trim(), 'fine');
  } finally {
    await server.stop();
  }
});
