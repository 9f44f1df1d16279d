/**
 * What requests to Python models share (shared memory, buffers, keys) never shows: every response carries values that only
 * its own request can have, and many threads of the model send at once.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { InferenceServerClient } from '../../src/client/api/client.js';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor, tensorValues } from '../../src/protocol/tensor-values.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const python = pythonWithNumpy();

/** TRITON_TEST_FULL=1: as many requests as showed the faults that this file is about. */
const FULL = process.env['TRITON_TEST_FULL'] === '1';
const CLIENTS = 20;
const ROUNDS = FULL ? 1000 : 60;

/** FP32 elements of a tensor: 64 KB, which travel in shared memory. */
const ELEMENTS = 1 << 14;
const FINAL = 'pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL';
const HEAD = `import threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import triton_python_backend_utils as pb_utils

def answer(array):
    return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", array)])

class TritonPythonModel:
`;
const TENSORS = `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }`;
const DECOUPLED = 'model_transaction_policy { decoupled: true }';

/** Name -> configuration and the class's body. */
const MODELS: Readonly<Record<string, readonly [config: string, body: string]>> = {
  // A thread for each request answers it after execute has returned.
  threads: [
    '',
    `
    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.work, args=(request.get_response_sender(), int(request.inputs()[0].as_numpy()[0]))).start()
    def work(self, sender, seed):
        sender.send(answer(np.full(${ELEMENTS}, seed, np.int32)), ${FINAL})
`,
  ],
  // Eight threads send the ten responses of each request.
  senders: [
    DECOUPLED,
    `
    def initialize(self, args):
        self.pool = ThreadPoolExecutor(8)
    def execute(self, requests):
        for request in requests:
            seed, sender = int(request.inputs()[0].as_numpy()[0]), request.get_response_sender()
            left = [10, threading.Lock()]
            for i in range(10):
                self.pool.submit(self.work, sender, seed * 10 + i, left)
    def work(self, sender, value, left):
        array = np.full(${ELEMENTS}, value, np.int32)
        sender.send(answer(array))
        with left[1]:
            left[0] -= 1
            if left[0] == 0:
                sender.send(flags=${FINAL})
`,
  ],
  // A pool of threads calls another model, each with values of its own.
  caller: [
    '',
    `
    def initialize(self, args):
        self.pool = ThreadPoolExecutor(8)
    def execute(self, requests):
        responses = []
        for request in requests:
            seed = int(request.inputs()[0].as_numpy()[0])
            results = list(self.pool.map(self.call, range(seed * 16, seed * 16 + 16)))
            wrong = sum(results)
            responses.append(answer(np.array([seed, wrong], np.int32)))
        return responses
    def call(self, value):
        array = np.full(${ELEMENTS}, value, np.int32)
        request = pb_utils.InferenceRequest(model_name="negated", requested_output_names=["OUT"], inputs=[pb_utils.Tensor("IN", array)])
        out = request.exec().output_tensors()[0].as_numpy()
        return 0 if out.shape == (${ELEMENTS},) and (out == -value).all() else 1
`,
  ],
  negated: [
    'instance_group { count: 2 kind: KIND_CPU }',
    `
    def execute(self, requests):
        return [answer(-request.inputs()[0].as_numpy()) for request in requests]
`,
  ],
  // The input itself is changed and sent ten times.
  counting: [
    DECOUPLED,
    `
    def execute(self, requests):
        for request in requests:
            sender, array = request.get_response_sender(), request.inputs()[0].as_numpy()
            for i in range(10):
                array += 1
                sender.send(answer(array))
            sender.send(flags=${FINAL})
`,
  ],
  // The first input is kept and changed by every request after it.
  adding: [
    '',
    `
    def initialize(self, args):
        self.sum = None
    def execute(self, requests):
        responses = []
        for request in requests:
            array = request.inputs()[0].as_numpy()
            if self.sum is None:
                self.sum = array
            else:
                self.sum += array
            responses.append(answer(self.sum))
        return responses
`,
  ],
  // What one execution returned is changed by the next one.
  changing: [
    '',
    `
    def initialize(self, args):
        self.kept = []
    def execute(self, requests):
        for array in self.kept:
            array[:] = -1
        self.kept = [request.inputs()[0].as_numpy() for request in requests]
        return [answer(array) for array in self.kept]
`,
  ],
  // The input goes back as it came, which needs no copy.
  same: [
    '',
    `
    def execute(self, requests):
        return [answer(request.inputs()[0].as_numpy()) for request in requests]
`,
  ],
};

const repository = makeRepository(
  Object.fromEntries(
    Object.entries(MODELS).flatMap(([name, [config, body]]) => [
      [`${name}/config.pbtxt`, `backend: "python" max_batch_size: 0 ${TENSORS} ${config}`],
      [`${name}/1/model.py`, HEAD + body.slice(1)],
    ]),
  ),
);

/** The one value that all elements have; fails where they differ. */
function uniform(values: ArrayLike<unknown>): number {
  assert.equal(values.length, ELEMENTS);
  const first = values[0];
  for (let i = 1; i < values.length; i++) {
    if (values[i] !== first) assert.fail(`element ${i} is ${values[i]}, the first one is ${first}`);
  }
  return first as number;
}

function filled(value: number) {
  return makeTensor('IN', 'INT32', new Int32Array(ELEMENTS).fill(value), [ELEMENTS]);
}

describe('what requests to Python models share', { skip: python === undefined }, () => {
  let server: TestServer;
  const clients: InferenceServerClient[] = [];

  before(async () => {
    server = await startTestServer([repository.path], [`--backend-config=python,python-executable=${python}`]);
    for (let i = 0; i < CLIENTS; i++) {
      clients.push(await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` }));
    }
  });

  after(async () => {
    for (const client of clients) await client.close();
    await server?.stop();
    repository.remove();
  });

  /** Every client sends `rounds` requests one after the other; seeds are never used twice. */
  async function each(
    rounds: number,
    one: (client: InferenceServerClient, seed: number) => Promise<void>,
  ): Promise<void> {
    await Promise.all(
      clients.map(async (client, i) => {
        for (let round = 0; round < rounds; round++) await one(client, 1 + round * CLIENTS + i);
      }),
    );
  }

  async function values(client: InferenceServerClient, modelName: string, input: ReturnType<typeof filled>) {
    const { outputs } = await client.infer({ modelName, inputs: [input] });
    return tensorValues(outputs[0]!);
  }

  /** All responses of a decoupled model to one request, sorted. */
  async function streamed(client: InferenceServerClient, modelName: string, input: ReturnType<typeof filled>) {
    const calls = client.stream();
    await calls.send({ modelName, inputs: [input] }, { enableEmptyFinalResponse: true });
    const got: number[] = [];
    for await (const { error, result, final } of calls) {
      assert.equal(error, undefined);
      if (result !== undefined && result.outputs.length > 0) got.push(uniform(tensorValues(result.outputs[0]!)));
      if (final) calls.end();
    }
    return got.sort((a, b) => a - b);
  }

  test('threads that answer at once send what they computed', async () => {
    await each(ROUNDS, async (client, seed) => {
      assert.equal(uniform(await values(client, 'threads', makeTensor('IN', 'INT32', [seed], [1]))), seed);
    });
  });

  test('decoupled senders in many threads: no response is wrong, lost or doubled', async () => {
    await each(Math.ceil(ROUNDS / 10), async (client, seed) => {
      const expected = Array.from({ length: 10 }, (_, i) => seed * 10 + i);
      assert.deepEqual(await streamed(client, 'senders', makeTensor('IN', 'INT32', [seed], [1])), expected);
    });
  });

  test('calls of other models from many threads get their own responses', async () => {
    await each(Math.ceil(ROUNDS / 10), async (client, seed) => {
      assert.deepEqual([...(await values(client, 'caller', makeTensor('IN', 'INT32', [seed], [1])))], [seed, 0]);
    });
  });

  test('a response is what the tensor held when it was sent, although it is an input that changes', async () => {
    const expected = (seed: number) => Array.from({ length: 10 }, (_, i) => seed * 100 + i + 1);
    await each(3, async (client, seed) => {
      assert.deepEqual(await streamed(client, 'counting', filled(seed * 100)), expected(seed));
    });
  });

  test('a sum that began as an input is whole in every response', async () => {
    const sums: number[] = [];
    await each(ROUNDS, async (client) => {
      sums.push(uniform(await values(client, 'adding', filled(1))));
    });
    sums.sort((a, b) => a - b);
    assert.deepEqual(
      sums,
      Array.from({ length: CLIENTS * ROUNDS }, (_, i) => i + 1),
    );
  });

  test('an execution that changes what the one before has returned changes no response', async () => {
    await each(ROUNDS, async (client, seed) => {
      assert.equal(uniform(await values(client, 'changing', filled(seed))), seed);
    });
  });

  test('inputs that go back unchanged are those of their own request', async () => {
    await each(ROUNDS, async (client, seed) => {
      assert.equal(uniform(await values(client, 'same', filled(seed))), seed);
    });
  });
});
