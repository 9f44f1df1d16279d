/** Verbose records that tools look for: defaults of backends, batchers, warm-up, ONNX Runtime, ensembles; and the form of all records. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SHIPPED_MODELS } from '../../src/base/package.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const WARM = `max_batch_size: 8
  dynamic_batching { } optimization { priority: PRIORITY_MIN }
  model_warmup { name: "regular sample" batch_size: 1 count: 2
    inputs { key: "INPUT0" value { data_type: TYPE_INT32 dims: 4 zero_data: true } } }`;

const TWO = `input { name: "INPUT0" data_type: TYPE_INT32 dims: 4 }
  output { name: "OUTPUT0" data_type: TYPE_INT32 dims: 4 } output { name: "OUTPUT1" data_type: TYPE_INT32 dims: 4 }`;

const PAIR = `platform: "ensemble" ${TWO}
  ensemble_scheduling { step { model_name: "m" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" }
    output_map { key: "OUTPUT0" value: "OUTPUT0" } output_map { key: "OUTPUT1" value: "OUTPUT1" } } }`;

const ARENA = ['enable_mem_arena', 'enable_mem_pattern'].map(
  (key) => `parameters { key: "${key}" value { string_value: "1" } }`,
);

const MODELS = {
  ...identityModel('warm', [['TYPE_INT32', '4']], WARM),
  'onnx/config.pbtxt': ['backend: "onnxruntime"', ...ARENA].join('\n'),
  'onnx/1/model.onnx': readFileSync(path.join(SHIPPED_MODELS, 'simple', '1', 'model.onnx')),
};

const PYTHON = pythonWithNumpy();

/** What stands before every message: level, time, process, and `file.ext:number` without a hyphen. */
const RECORD = /^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ \w+\.\w+:\d+\] /;

test('records of loads that tools look for', async () => {
  const repository = makeRepository(MODELS);
  const settings = ['--log-verbose=1', '--backend-config=onnxruntime,default-max-batch-size=6'];
  const server = await startTestServer([repository.path], settings);
  try {
    for (const text of [
      'backend_model.cc:11] "Adding default backend config setting: default-max-batch-size,4"',
      'backend_model.cc:12] "Found overwritten default setting: default-max-batch-size,6"',
      'dynamic_batch_scheduler.cc:1] "Starting dynamic-batcher thread for warm at nice 19..."',
      `"model 'warm' instance warm_0 is running warmup sample 'regular sample' for iteration 1"`,
      `"model 'warm' instance warm_0 is running warmup sample 'regular sample' for iteration 2"`,
      'onnxruntime.cc:1] "Configuring enable_mem_arena to 1"',
      'onnxruntime.cc:1] "Configuring enable_mem_pattern to 1"',
    ]) {
      assert.ok(server.logText().includes(text), `${text}\n${server.logText()}`);
    }
    const preambles = server
      .logText()
      .split('\n')
      .filter((line) => /^[IWE]\d{4} /.test(line));
    assert.deepEqual(
      preambles.filter((line) => !RECORD.test(line) && !/:\d+\] $/.test(line)),
      [],
    );
  } finally {
    await server.stop();
    repository.remove();
  }
});

test('records of a Python model, and of an ensemble whose model leaves an output out', {
  skip: PYTHON === undefined,
}, async () => {
  const source = `import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        pb_utils.Logger.log_warn("hello")
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0",
            pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy())]) for r in requests]
`;
  const repository = makeRepository({
    'm/config.pbtxt': `backend: "python" default_model_filename: "my-model.py" ${TWO}`,
    'm/1/my-model.py': source,
    'pair/config.pbtxt': PAIR,
    'pair/1/.keep': '',
  });
  const python = `--backend-config=python,python-executable=${PYTHON}`;
  const server = await startTestServer([repository.path], [python, '--log-verbose=1']);
  try {
    // The name of the file has the form that tools know.
    assert.match(server.logText(), / my_model\.py:4\] "hello"/);
    const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [4], data: [1, 2, 3, 4] }] });
    assert.equal((await httpRequest(server.http, 'POST', '/v2/models/pair/infer', body)).status, 200);
    await server.logged('ensemble_scheduler.cc:3] "Composing models did not output tensor OUTPUT1"');
  } finally {
    await server.stop();
    repository.remove();
  }
});
