/** Python models in a real server: tensors, responses, calls between models, metrics, control, readiness. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { InferenceServerClient } from '../../src/client/api/client.js';
import { createClient } from '../../src/client/create-client.js';
import { DATATYPES, type Datatype, elementSize } from '../../src/protocol/datatype.js';
import { makeTensor, tensorStrings, tensorValues } from '../../src/protocol/tensor-values.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/models_python', import.meta.url));
const python = pythonWithNumpy();
const HEAD = 'import json\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n';

const typed = DATATYPES.filter((datatype) => datatype !== 'BF16');
const configType = (datatype: Datatype): string => (datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`);

/** A model whose request says as Python source what to do: `run(request, pb_utils)` returns a text. */
const SCRIPTED = `${HEAD}
class TritonPythonModel:
    def initialize(self, args):
        self.args = args
        self.kept = []
    def execute(self, requests):
        responses = []
        for request in requests:
            source = pb_utils.get_input_tensor_by_name(request, "SOURCE").as_numpy()[0].decode()
            space = {"request": request, "pb_utils": pb_utils, "np": np, "json": json, "self": self}
            try:
                exec(source, space)
                text = json.dumps(space.get("result"))
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.array([text.encode()], object))]))
        return responses
    def is_ready(self):
        return not any(item == "not ready" for item in self.kept)
`;

const repository = makeRepository({
  'echo/config.pbtxt': `backend: "python" max_batch_size: 0\n${typed
    .map(
      (datatype) =>
        `input { name: "IN_${datatype}" data_type: ${configType(datatype)} dims: [ -1 ] optional: true }\n` +
        `output { name: "OUT_${datatype}" data_type: ${configType(datatype)} dims: [ -1 ] }`,
    )
    .join('\n')}`,
  'echo/1/model.py': `${HEAD}
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT_" + t.name()[3:], t.as_numpy()) for t in r.inputs()]) for r in requests]
`,
  'scripted/config.pbtxt': `backend: "python" max_batch_size: 0
    input { name: "SOURCE" data_type: TYPE_STRING dims: [ 1 ] }
    output { name: "RESULT" data_type: TYPE_STRING dims: [ 1 ] }`,
  'scripted/1/model.py': SCRIPTED,
  'doubled/config.pbtxt': `backend: "python" max_batch_size: 0
    input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
    output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
    instance_group { count: 2 kind: KIND_CPU }`,
  'doubled/1/model.py': `${HEAD}import helper
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", helper.double(r.inputs()[0].as_numpy()))]) for r in requests]
`,
  'later/config.pbtxt': `backend: "python" max_batch_size: 0
    input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] }
    output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }`,
  'later/1/model.py': `${HEAD}import threading, time
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            value = request.inputs()[0].as_numpy()
            threading.Thread(target=self.answer, args=(request.get_response_sender(), value)).start()
        return None
    def answer(self, sender, value):
        time.sleep(0.05)
        if value[0] >= 0:
            parameters = {"count": 7, "text": "x", "yes": True}
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", value)], parameters=parameters))
`,
  'woven/config.pbtxt': `backend: "python" max_batch_size: 0
    model_transaction_policy { decoupled: true }
    input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] }
    output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }`,
  'woven/1/model.py': `${HEAD}import asyncio
class TritonPythonModel:
    async def execute(self, requests):
        for request in requests:
            value = request.inputs()[0].as_numpy()
            await asyncio.sleep(int(value[0]) / 1000)
            response = pb_utils.InferenceResponse([pb_utils.Tensor("OUT", value)])
            request.get_response_sender().send(response, pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`,
  'doubled/1/helper.py': 'def double(x):\n    return x * 2\n',
  'completed/1/model.py': `${HEAD}
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "IN", "data_type": "TYPE_INT32", "dims": [2]})
        config.add_output({"name": "OUT", "data_type": "TYPE_INT32", "dims": [2]})
        config.set_max_batch_size(4)
        config.set_dynamic_batching()
        return config
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy() + 1)]) for r in requests]
`,
});

describe('Python models', { skip: python === undefined }, () => {
  let server: TestServer;
  let client: InferenceServerClient;
  let stream: InferenceServerClient;

  before(async () => {
    server = await startTestServer(
      [FIXTURES, repository.path],
      [`--backend-config=python,python-executable=${python}`, '--model-control-mode=explicit', '--load-model=*'],
    );
    client = await createClient({ protocol: 'http', url: `127.0.0.1:${server.http}` });
    stream = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  });

  after(async () => {
    await client?.close();
    await stream?.close();
    await server?.stop();
    repository.remove();
  });

  /** Runs Python in the scripted model and returns its `result`, or the text of its exception. */
  async function run(source: string): Promise<unknown> {
    const input = makeTensor('SOURCE', 'BYTES', [source], [1]);
    const { outputs } = await client.infer({ modelName: 'scripted', inputs: [input] });
    const text = tensorStrings(outputs[0]!)[0]!.toString();
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  test('sum and difference of the example model', async () => {
    const inputs = [
      makeTensor('INPUT0', 'FP32', [1, 2, 3, 4], [1, 4]),
      makeTensor('INPUT1', 'FP32', [10, 20, 30, 40], [1, 4]),
    ];
    const result = await client.infer({ modelName: 'add_sub', inputs });
    assert.deepEqual([...tensorValues(result.output('OUTPUT0')!)], [11, 22, 33, 44]);
    assert.deepEqual([...tensorValues(result.output('OUTPUT1')!)], [-9, -18, -27, -36]);
  });

  test('texts of any bytes are turned round', async () => {
    const texts = [Buffer.from('grün'), Buffer.from([0, 255, 254]), Buffer.alloc(0), Buffer.alloc(100_000, 'ab')];
    const input = makeTensor('TEXT', 'BYTES', texts, [1, 4]);
    const { outputs } = await client.infer({ modelName: 'text_reverse', inputs: [input] });
    const expected = [Buffer.from('nürg'), Buffer.from([254, 255, 0]), Buffer.alloc(0), Buffer.alloc(100_000, 'ba')];
    const answers = tensorValues(outputs[0]!) as Uint8Array[];
    assert.deepEqual(answers.length, 4);
    answers.forEach((answer, i) => void assert.ok(Buffer.from(answer).equals(expected[i]!), `text ${i}`));
  });

  test('every datatype, small, large and empty, comes back as it went', async () => {
    for (const count of [0, 1, 7, 100_000]) {
      const inputs = typed.map((datatype) => {
        const size = datatype === 'BYTES' ? 0 : elementSize(datatype);
        const data =
          datatype === 'BYTES'
            ? Buffer.concat(
                Array.from({ length: count }, (_, i) => Buffer.from([i % 2, 0, 0, 0, ...(i % 2 ? [i & 255] : [])])),
              )
            : Buffer.from(
                Array.from({ length: count * size }, (_, i) => (datatype === 'BOOL' ? i % 2 : (i * 7) & 127)),
              );
        return { name: `IN_${datatype}`, datatype, shape: [count], data };
      });
      const result = await client.infer({ modelName: 'echo', inputs });
      for (const { name, data, shape } of inputs) {
        const output = result.output(name.replace('IN_', 'OUT_'))!;
        assert.deepEqual(output.shape, shape);
        assert.ok(Buffer.from(output.data).equals(data), `${name} of ${count}`);
      }
    }
  });

  test('inputs that are not sent are absent, and outputs that are not asked for are dropped', async () => {
    const inputs = [makeTensor('IN_INT8', 'INT8', [1, 2], [2]), makeTensor('IN_BOOL', 'BOOL', [true], [1])];
    const result = await client.infer({ modelName: 'echo', inputs, outputs: [{ name: 'OUT_BOOL' }] });
    assert.deepEqual(
      result.outputs.map(({ name }) => name),
      ['OUT_BOOL'],
    );
  });

  test('modules beside the model are found, and each instance has a process', async () => {
    const input = makeTensor('IN', 'FP32', [1, 2], [2]);
    const results = await Promise.all(
      Array.from({ length: 20 }, () => client.infer({ modelName: 'doubled', inputs: [input] })),
    );
    for (const { outputs } of results) assert.deepEqual([...tensorValues(outputs[0]!)], [2, 4]);
  });

  test('a model completes its configuration by code', async () => {
    const config = await client.modelConfig('completed');
    assert.equal(config.max_batch_size, 4);
    assert.deepEqual(config.dynamic_batching?.preferred_batch_size, [4]);
    const input = makeTensor('IN', 'INT32', [1, 2], [1, 2]);
    const { outputs } = await client.infer({ modelName: 'completed', inputs: [input] });
    assert.deepEqual([...tensorValues(outputs[0]!)], [2, 3]);
  });

  test('initialize gets its arguments as texts', async () => {
    const args = (await run('result = self.args')) as Record<string, string>;
    assert.equal(JSON.parse(args['model_config']!).input[0].data_type, 'TYPE_STRING');
    delete args['model_config'];
    assert.deepEqual(args, {
      model_instance_kind: 'CPU',
      model_instance_name: 'scripted_0',
      model_instance_device_id: '0',
      model_repository: `${repository.path}/scripted`,
      model_version: '1',
      model_name: 'scripted',
    });
    assert.equal(await run('result = pb_utils.get_model_dir()'), `${repository.path}/scripted/1`);
  });

  test('parameters keep their types, and responses may have some', async () => {
    const body = {
      id: 'r',
      parameters: { i: 2 ** 53, s: 'x"y', b: true, d: 2.5 },
      inputs: [{ name: 'SOURCE', datatype: 'BYTES', shape: [1], data: ['result = json.loads(request.parameters())'] }],
    };
    const text = JSON.stringify(body).replace('9007199254740992', '9007199254740993');
    const answer = await httpRequest(server.http, 'POST', '/v2/models/scripted/infer', text);
    const { outputs } = answer.json as { outputs: { data: string[] }[] };
    assert.equal(outputs[0]!.data[0], '{"i": 9007199254740993, "s": "x\\"y", "b": true, "d": 2.5}');
  });

  test('an input that is kept is not overwritten by later requests', async () => {
    const keep =
      'self.kept.append(np.frombuffer(request.inputs()[0].as_numpy()[0], np.uint8)); result = len(self.kept)';
    await run(`${keep}  # ${'x'.repeat(100_000)}`);
    await run(`result = 1  # ${'y'.repeat(100_000)}`);
    assert.equal(await run('result = chr(int(self.kept.pop()[-1]))'), 'x');
  });

  test('a model calls another one, and passes its errors on', async () => {
    const inputs = [
      makeTensor('A', 'FP32', [1, 2, 3, 4], [4]),
      makeTensor('B', 'FP32', [1, 1, 1, 1], [4]),
      makeTensor('WEIGHT', 'FP32', [0.5], [1]),
    ];
    const { outputs } = await client.infer({ modelName: 'weighted_sum', inputs });
    assert.deepEqual([...tensorValues(outputs[0]!)], [1.5, 2.5, 3.5, 4.5]);
    const call = (model: string) =>
      run(`r = pb_utils.InferenceRequest(model_name="${model}", inputs=[], requested_output_names=[]).exec()
result = [r.error().message(), str(r.error().code())]`);
    assert.deepEqual(await call('nowhere'), [
      "Model nowhere - Error when running inference: Failed for execute the inference request. Model 'nowhere' is not ready.",
      '__ErrorCode.INTERNAL',
    ]);
  });

  test('large tensors travel through calls', async () => {
    const source = `
x = np.arange(500000, dtype=np.float32)
for _ in range(5):
    r = pb_utils.InferenceRequest(model_name="doubled", inputs=[pb_utils.Tensor("IN", x)], requested_output_names=["OUT"]).exec()
    x = r.output_tensors()[0].as_numpy()
result = [float(x[1]), float(x[-1]), len(x)]`;
    assert.deepEqual(await run(source), [32, 499999 * 32, 500000]);
  });

  test('the responses of a decoupled model can be gone through, also a second time', async () => {
    const source = `
request = pb_utils.InferenceRequest(model_name="count_down", requested_output_names=["LEFT"],
    inputs=[pb_utils.Tensor("FROM", np.array([3], np.int32))])
responses = request.exec(decoupled=True)
def values(): return [int(t.as_numpy()[0]) for r in responses for t in r.output_tensors()]
result = [values(), values()]`;
    assert.deepEqual(await run(source), [
      [3, 2, 1, 0],
      [3, 2, 1, 0],
    ]);
  });

  test('a decoupled model answers over a stream, each response at its time', async () => {
    const calls = stream.stream();
    const inputs = [makeTensor('FROM', 'INT32', [4], [1])];
    await calls.send(
      { modelName: 'count_down', id: 'a', inputs, parameters: { pause_ms: 5n } },
      { enableEmptyFinalResponse: true },
    );
    const values: unknown[] = [];
    for await (const event of calls) {
      assert.equal(event.error, undefined);
      if (event.result !== undefined && event.result.outputs.length > 0) {
        values.push(tensorValues(event.result.outputs[0]!)[0]);
      }
      if (event.final) calls.end();
    }
    assert.deepEqual(values, [4, 3, 2, 1, 0]);
  });

  test('a model that is not decoupled may answer after execute returned, with parameters of its own', async () => {
    const inputs = [makeTensor('IN', 'INT32', [5], [1])];
    const result = await client.infer({ modelName: 'later', inputs });
    assert.deepEqual([...tensorValues(result.outputs[0]!)], [5]);
    assert.deepEqual(result.parameters, [
      ['count', 7n],
      ['text', 'x'],
      ['yes', true],
    ]);
    const error = await client.infer({ modelName: 'later', inputs: [makeTensor('IN', 'INT32', [-1], [1])] }).then(
      () => undefined,
      (reason: Error) => reason.message,
    );
    assert.equal(error, 'the model dropped the request without a response');
  });

  test('coroutines of a decoupled model run side by side', async () => {
    const calls = stream.stream();
    for (const [id, pause] of [
      ['slow', 200],
      ['quick', 1],
    ] as const) {
      await calls.send({ modelName: 'woven', id, inputs: [makeTensor('IN', 'INT32', [pause], [1])] });
    }
    calls.end();
    const order: string[] = [];
    for await (const { result } of calls) if (result !== undefined) order.push(result.id);
    assert.deepEqual(order, ['quick', 'slow']);
  });

  test('metrics of a model are shown while it holds them', async () => {
    const make = `
self.family = pb_utils.MetricFamily("test_sizes", "Sizes", pb_utils.MetricFamily.HISTOGRAM)
self.metric = self.family.Metric(labels={"b": "x", "a": "y"}, buckets=[1.0, 2.5])
for value in (0.5, 2.0, 7.0): self.metric.observe(value)`;
    assert.equal(await run(make), null);
    const lines = async () => {
      const { text } = await httpRequest(server.metrics, 'GET', '/metrics');
      return text.split('\n').filter((line) => line.includes('test_sizes'));
    };
    assert.deepEqual(await lines(), [
      '# HELP test_sizes Sizes',
      '# TYPE test_sizes histogram',
      'test_sizes_count{a="y",b="x"} 3',
      'test_sizes_sum{a="y",b="x"} 9.5',
      'test_sizes_bucket{a="y",b="x",le="1"} 1',
      'test_sizes_bucket{a="y",b="x",le="2.5"} 2',
      'test_sizes_bucket{a="y",b="x",le="+Inf"} 3',
    ]);
    const deleted = await run('self.family = None\nself.metric.observe(1)');
    assert.match(
      String(deleted),
      /^TritonModelException: Invalid metric operation as the corresponding 'MetricFamily'/,
    );
    assert.equal(await run('self.metric = None'), null);
    assert.deepEqual(await lines(), []);
  });

  test('a model loads and unloads others', async () => {
    assert.equal(await run('pb_utils.unload_model("echo"); result = pb_utils.is_model_ready("echo")'), false);
    assert.equal(await run('pb_utils.load_model("echo"); result = pb_utils.is_model_ready("echo", "1")'), true);
    assert.equal(await run('result = pb_utils.is_model_ready("echo", "7")'), false);
    assert.match(
      String(await run('pb_utils.load_model("nowhere")')),
      /^TritonModelException: Failed to load model: Failed to process the request for model 'scripted_0', message: failed to load 'nowhere'/,
    );
    assert.equal(
      await run('pb_utils.load_model("x", files=5)'),
      "TritonModelException: failed to load model 'x', files should be a dictionary of file paths and file contents",
    );
  });

  test('a model says itself whether it is ready', async () => {
    assert.equal(await client.isModelReady('scripted'), true);
    await run('self.kept.append("not ready")');
    assert.equal(await client.isModelReady('scripted'), false);
    assert.equal(await stream.isModelReady('scripted'), false);
    assert.equal(await client.isServerReady(), false);
    await run('self.kept.clear()');
    assert.equal(await client.isServerReady(), true);
  });

  test('records of a model are logged with its file and line', async () => {
    await run('pb_utils.Logger.log_warn("a warning of the model")');
    assert.match(server.logText(), /^W.* <string>:1\] "a warning of the model"$/m);
  });
});

describe('a backend that is a Python model', { skip: python === undefined }, () => {
  const folder = makeRepository({
    'backends/scaling/model.py': `${HEAD}import os
class TritonPythonModel:
    def initialize(self, args):
        with open(os.path.join(pb_utils.get_model_dir(), "factor.txt")) as file:
            self.factor = float(file.read())
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", (r.inputs()[0].as_numpy() * self.factor).astype(np.float32))]) for r in requests]
`,
    ...Object.fromEntries(
      ['2', '10'].flatMap((factor) => [
        [`models/times_${factor}/1/factor.txt`, factor],
        [
          `models/times_${factor}/config.pbtxt`,
          `backend: "scaling" max_batch_size: 0
          input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
          output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }`,
        ],
      ]),
    ),
  });

  test('serves any number of models, whose directories hold data only', async () => {
    const server = await startTestServer(
      [`${folder.path}/models`],
      [`--backend-directory=${folder.path}/backends`, `--backend-config=python,python-executable=${python}`],
    );
    try {
      const body = JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [2], data: [1, 2] }] });
      for (const factor of [2, 10]) {
        const { json, text } = await httpRequest(server.http, 'POST', `/v2/models/times_${factor}/infer`, body);
        const { outputs } = json as { outputs: { data: number[] }[] };
        assert.deepEqual(outputs?.[0]?.data, [factor, 2 * factor], text);
      }
    } finally {
      await server.stop();
      folder.remove();
    }
  });
});

describe('an execution environment of a model', { skip: python === undefined }, () => {
  const activate = 'export MARK="from the environment"\n';
  const folder = makeRepository({
    'models/marked/env/bin/activate': activate,
    'models/marked/env/bin/python3': `#!/bin/sh\nexec '${python}' "$@"\n`,
    'models/marked/1/model.py': `${HEAD}import os
class TritonPythonModel:
    def execute(self, requests):
        text = os.environ.get("MARK", "").encode()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([text], object))]) for r in requests]
`,
    'models/marked/config.pbtxt': '',
  });
  const config = (location: string): string => `backend: "python" max_batch_size: 0
    input { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] }
    output { name: "OUT" data_type: TYPE_STRING dims: [ 1 ] }
    parameters { key: "EXECUTION_ENV_PATH" value { string_value: "${location}" } }`;
  const body = JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [1], data: [0] }] });
  let server: TestServer;

  before(async () => {
    chmodSync(`${folder.path}/models/marked/env/bin/python3`, 0o755);
    execFileSync('tar', ['-czf', `${folder.path}/env.tar.gz`, '-C', `${folder.path}/models/marked/env`, '.']);
    server = await startTestServer([`${folder.path}/models`], ['--model-control-mode=explicit']);
  });

  after(async () => {
    await server?.stop();
    folder.remove();
  });

  for (const location of ['$$TRITON_MODEL_DIRECTORY/env', `${folder.path}/env.tar.gz`]) {
    test(`is used: ${location.replace(folder.path, '')}`, async () => {
      writeFileSync(`${folder.path}/models/marked/config.pbtxt`, config(location));
      const load = await httpRequest(server.http, 'POST', '/v2/repository/models/marked/load');
      assert.equal(load.status, 200, load.text);
      const { json } = await httpRequest(server.http, 'POST', '/v2/models/marked/infer', body);
      assert.deepEqual((json as { outputs: { data: string[] }[] }).outputs[0]!.data, ['from the environment']);
    });
  }

  test('that does not exist, or is not one, is refused', async () => {
    const cases = [
      ['/nowhere/env', 'Failed to get the canonical path for /nowhere/env.'],
      [
        folder.path,
        `Path ${folder.path}/bin/activate does not exist. The Python environment should contain an 'activate' script.`,
      ],
    ];
    for (const [location = '', text = ''] of cases) {
      writeFileSync(`${folder.path}/models/marked/config.pbtxt`, config(location));
      const { json } = await httpRequest(server.http, 'POST', '/v2/repository/models/marked/load');
      assert.ok((json as { error: string }).error.includes(`Internal: ${text}`), JSON.stringify(json));
    }
  });
});
