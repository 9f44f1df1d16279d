/**
 * Dynamic batching and several instances: what they change, read from the statistics and from what `triton perf` prints.
 * No times are compared.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pythonWithNumpy } from '../support/programs/python.js';
import { runTriton } from '../support/programs/run-triton.js';
import { httpPort, type ServeProgram, serveProgram } from '../support/programs/serve-program.js';
import { makeRepository, pythonModels } from '../support/repositories/make-repository.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();
const CONCURRENCY = 16;
const REQUESTS = 320;

/** Takes its time, as a model does; so requests wait while it executes. */
const SLOW = `import time
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.005)
        tensors = [pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", tensor)]) for tensor in tensors]
`;
/** Each instance goes on only when the other one executes too. */
const MEETING = `import os
import time
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.place = os.path.join(args["model_repository"], "met")

    def execute(self, requests):
        open(os.path.join(self.place, str(os.getpid())), "w").close()
        end = time.monotonic() + 30
        while len(os.listdir(self.place)) < 2 and time.monotonic() < end:
            time.sleep(0.005)
        tensors = [pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", tensor)]) for tensor in tensors]
`;
const IO = `backend: "python"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
`;
const BATCHING = 'dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }\n';
const TWO = 'instance_group [ { count: 2 } ]\n';

interface Statistics {
  readonly inference_count: number;
  readonly execution_count: number;
  readonly batch_stats: readonly { readonly batch_size: number; readonly compute_infer: { readonly count: number } }[];
}

describe('dynamic batching and concurrent execution', { skip: python === undefined }, () => {
  const repository = makeRepository({
    ...pythonModels(IO, { plain: SLOW }),
    ...pythonModels(IO + BATCHING, { batching: SLOW }),
    ...pythonModels(IO + TWO, { two: SLOW, meeting: MEETING }),
    ...pythonModels(IO + BATCHING + TWO, { both: SLOW }),
    'meeting/met/': '',
  });
  let server: ServeProgram;
  let port = 0;

  before(async () => {
    server = serveProgram(repository.path, [`--backend-config=python,python-executable=${python}`]);
    await server.printed(/Started Metrics Service/);
    port = await httpPort(server);
  });

  after(async () => {
    server?.kill('SIGTERM');
    await server?.ended();
    repository.remove();
  });

  /** Measures a model; what perf says of the server's side, and the server's statistics. */
  async function measure(model: string): Promise<{ inferences: number; executions: number; statistics: Statistics }> {
    const load = ['--concurrency-range', `${CONCURRENCY}`, '--request-count', `${REQUESTS}`, '--async'];
    const { status, stdout, stderr } = await runTriton(['perf', '-m', model, '-u', `127.0.0.1:${port}`, ...load]);
    assert.equal(status, 0, stderr);
    const count = (what: string): number => Number(new RegExp(`^ +${what} count: (\\d+)$`, 'm').exec(stdout)?.[1]);
    const { json } = await httpRequest(port, 'GET', `/v2/models/${model}/stats`);
    const [statistics] = (json as { model_stats: [Statistics] }).model_stats;
    assert.equal(statistics.inference_count, REQUESTS);
    return { inferences: count('Inference'), executions: count('Execution'), statistics };
  }

  for (const model of ['plain', 'two']) {
    test(`${model}: without batching each request is an execution of its own`, async () => {
      const { inferences, executions, statistics } = await measure(model);
      assert.deepEqual([inferences, executions, statistics.execution_count], [REQUESTS, REQUESTS, REQUESTS]);
      assert.deepEqual(
        statistics.batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]),
        [[1, REQUESTS]],
      );
    });
  }

  for (const model of ['batching', 'both']) {
    test(`${model}: waiting requests are executed together, at most eight`, async () => {
      const { inferences, executions, statistics } = await measure(model);
      assert.deepEqual([inferences, executions], [REQUESTS, statistics.execution_count]);
      assert.ok(executions <= REQUESTS / 2, `${executions} executions of ${REQUESTS} requests`);
      const sizes = new Map(statistics.batch_stats.map((each) => [each.batch_size, each.compute_infer.count]));
      assert.ok(Math.max(...sizes.keys()) <= 8);
      const rows = [...sizes].reduce((sum, [size, count]) => sum + size * count, 0);
      assert.equal(rows, REQUESTS);
    });
  }

  test('two instances execute at the same time', async () => {
    const body = JSON.stringify({
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }],
    });
    const answers = await Promise.all([1, 2].map(() => httpRequest(port, 'POST', '/v2/models/meeting/infer', body)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const { json } = await httpRequest(port, 'GET', '/v2/models/meeting/stats');
    assert.equal((json as { model_stats: [Statistics] }).model_stats[0].execution_count, 2);
  });
});
