/**
 * Two models in a pipeline: a client program on OpenCV and NVIDIA's client library calls one after the other, and the same
 * pipeline is an ensemble on the server. The two models are stand-ins (pipeline-models.ts).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { pythonWithPictures, runPython } from '../support/programs/python.js';
import { runTriton } from '../support/programs/run-triton.js';
import { httpPort, type ServeProgram, serveProgram } from '../support/programs/serve-program.js';
import { detectionModel, recognitionModel } from './pipeline-models.js';

const PROGRAMS = fileURLToPath(new URL('../../../test/scenarios/pipeline', import.meta.url));
const program = (name: string): string => path.join(PROGRAMS, name);
const python = pythonWithPictures();

const pythonStep = (name: string): Record<string, string> => ({
  [`${name}/1/model.py`]: readFileSync(program(`${name}.py`), 'utf8'),
  [`${name}/1/steps.py`]: readFileSync(program('steps.py'), 'utf8'),
});

const ENSEMBLE = {
  ...pythonStep('detection_preprocessing'),
  'detection_preprocessing/config.pbtxt': `name: "detection_preprocessing"
backend: "python"
max_batch_size: 0
input [ { name: "detection_preprocessing_input" data_type: TYPE_UINT8 dims: [ -1, -1 ] } ]
output [ { name: "detection_preprocessing_output" data_type: TYPE_FP32 dims: [ -1, -1, -1, 3 ] } ]
`,
  ...pythonStep('detection_postprocessing'),
  'detection_postprocessing/config.pbtxt': `name: "detection_postprocessing"
backend: "python"
max_batch_size: 0
input [
  { name: "detection_postprocessing_input_1" data_type: TYPE_FP32 dims: [ -1, -1, -1, 1 ] },
  { name: "detection_postprocessing_input_2" data_type: TYPE_FP32 dims: [ -1, -1, -1, 5 ] },
  { name: "detection_postprocessing_input_3" data_type: TYPE_FP32 dims: [ -1, -1, -1, 3 ] }
]
output [ { name: "detection_postprocessing_output" data_type: TYPE_FP32 dims: [ 1, 1, 32, 100 ] } ]
`,
  ...pythonStep('recognition_postprocessing'),
  'recognition_postprocessing/config.pbtxt': `name: "recognition_postprocessing"
backend: "python"
max_batch_size: 0
input [ { name: "recognition_postprocessing_input" data_type: TYPE_FP32 dims: [ 1, 26, 37 ] } ]
output [ { name: "recognition_postprocessing_output" data_type: TYPE_STRING dims: [ -1 ] } ]
`,
  'ensemble_model/1/': '',
  'ensemble_model/config.pbtxt': `name: "ensemble_model"
platform: "ensemble"
max_batch_size: 0
input [ { name: "input_image" data_type: TYPE_UINT8 dims: [ -1, -1 ] } ]
output [ { name: "recognized_text" data_type: TYPE_STRING dims: [ -1 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "detection_preprocessing"
      model_version: -1
      input_map { key: "detection_preprocessing_input" value: "input_image" }
      output_map { key: "detection_preprocessing_output" value: "preprocessed_image" }
    },
    {
      model_name: "text_detection"
      model_version: -1
      input_map { key: "input_images:0" value: "preprocessed_image" }
      output_map { key: "feature_fusion/Conv_7/Sigmoid:0" value: "Sigmoid:0" },
      output_map { key: "feature_fusion/concat_3:0" value: "concat_3:0" }
    },
    {
      model_name: "detection_postprocessing"
      model_version: -1
      input_map { key: "detection_postprocessing_input_1" value: "Sigmoid:0" }
      input_map { key: "detection_postprocessing_input_2" value: "concat_3:0" }
      input_map { key: "detection_postprocessing_input_3" value: "preprocessed_image" }
      output_map { key: "detection_postprocessing_output" value: "cropped_images" }
    },
    {
      model_name: "text_recognition"
      model_version: -1
      input_map { key: "input.1" value: "cropped_images" }
      output_map { key: "307" value: "recognition_output" }
    },
    {
      model_name: "recognition_postprocessing"
      model_version: -1
      input_map { key: "recognition_postprocessing_input" value: "recognition_output" }
      output_map { key: "recognition_postprocessing_output" value: "recognized_text" }
    }
  ]
}
`,
};

describe('two models in a pipeline', { skip: python === undefined }, () => {
  const directory = temporaryDirectory({
    'text_detection.onnx': detectionModel(),
    'text_recognition.onnx': recognitionModel(),
  });
  const { file } = directory;
  const repository = file('model_repository');
  let server: ServeProgram | undefined;
  let url = '';

  async function serve(models: string, ...args: string[]): Promise<void> {
    await stop();
    server = serveProgram(models, [`--backend-config=python,python-executable=${python}`, ...args]);
    await server.printed(/Started Metrics Service/);
    url = `127.0.0.1:${await httpPort(server)}`;
  }

  async function stop(): Promise<void> {
    server?.kill('SIGTERM');
    await server?.ended();
    server = undefined;
  }

  before(async () => {
    await runPython(python!, [program('make_image.py'), file('sign.png'), 'stop', 'main7street']);
  });

  after(async () => {
    await stop();
    directory.remove();
  });

  test('one command lays each bare .onnx file out as a model, with a configuration that needs no change', async () => {
    for (const name of ['text_detection', 'text_recognition']) {
      const run = await runTriton(['repo', 'add', file(`${name}.onnx`), '--repository', repository]);
      assert.equal(run.status, 0, run.stderr);
      assert.deepEqual(readFileSync(path.join(repository, name, '1/model.onnx')), readFileSync(file(`${name}.onnx`)));
    }
    const { status, stdout } = await runTriton(['repo', 'validate', repository, '--strict']);
    assert.equal(status, 0, stdout);
  });

  test('a client program on OpenCV and tritonclient[http] calls one model after the other', async () => {
    await serve(repository);
    assert.equal(await runPython(python!, [program('client.py'), url, file('sign.png')]), 'stop\nmain7street\n');
  });

  test('the same pipeline on the server, as an ensemble with Python models between the two', async () => {
    await stop();
    directory.write(Object.fromEntries(Object.entries(ENSEMBLE).map(([name, of]) => [`model_repository/${name}`, of])));
    const { status, stdout } = await runTriton(['repo', 'validate', repository], { env: { TRITON_PYTHON: python } });
    assert.equal(status, 0, stdout);
    await serve(repository);
    assert.equal(await runPython(python!, [program('ensemble_client.py'), url, file('sign.png')]), 'stop\n');
  });

  test('models that this machine cannot run are judged and named in one line each, and the others come up', async () => {
    directory.write({
      'formats/traced/1/model.pt': 'x',
      'formats/traced/config.pbtxt': 'platform: "pytorch_libtorch"',
      'formats/inception_graphdef/1/model.graphdef': 'x',
      'formats/inception_graphdef/config.pbtxt': 'platform: "tensorflow_graphdef"',
      'formats/plan/1/model.plan': 'x',
      'formats/plan/config.pbtxt': 'platform: "tensorrt_plan"',
      'formats/text_recognition/1/model.onnx': recognitionModel(),
    });
    const judged = await runTriton(['repo', 'validate', file('formats')]);
    assert.equal(judged.status, 1);
    for (const name of ['traced', 'inception_graphdef', 'plan']) {
      assert.match(judged.stdout, new RegExp(`${name}/config\\.pbtxt:\\d+:\\d+: error: .*\\[\\S+\\]$`, 'm'));
    }
    await serve(file('formats'), '--exit-on-error=false');
    for (const [name, missing = ''] of [
      ['traced', 'TorchScript needs libtorch'],
      ['inception_graphdef', 'TensorFlow models need TensorFlow'],
      ['plan', 'TensorRT plans need an NVIDIA GPU and TensorRT'],
    ]) {
      const lines = server!.output().match(new RegExp(`^W.*model '${name}' cannot run here: .*$`, 'gm'));
      assert.equal(lines?.length, 1);
      assert.ok(lines?.[0]?.includes(missing), lines?.[0]);
    }
    assert.match(server!.output(), /^\| text_recognition +\| 1 +\| READY/m);
  });
});
