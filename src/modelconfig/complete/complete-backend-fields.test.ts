import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CATALOGUE } from '../../backends/catalogue.js';
import { readPbtxt } from '../pbtxt/read-pbtxt.js';
import { completeBackendFields, noEntries } from './complete-backend-fields.js';

/** Configuration, entries of the version directory (directories end in `/`), and `backend platform file` afterwards. */
const CASES: readonly (readonly [config: string, entries: string, completed: string])[] = [
  ['', 'model.savedmodel/', 'tensorflow tensorflow_savedmodel model.savedmodel'],
  ['', 'model.savedmodel/ model.graphdef', 'tensorflow tensorflow_graphdef model.graphdef'],
  ['', 'model.graphdef/ model.plan', 'tensorrt tensorrt_plan model.plan'],
  ['', 'model.onnx/', 'onnxruntime onnxruntime_onnx model.onnx'],
  ['', 'model.py model.onnx', 'onnxruntime onnxruntime_onnx model.onnx'],
  ['', 'model.xml', 'openvino - model.xml'],
  ['', 'model.pt', 'pytorch pytorch_libtorch model.pt'],
  ['', 'model.pt2', 'pytorch torch_aoti model.pt2'],
  ['', 'model.py', 'python - model.py'],
  ['', '', 'b.c - model.b.c'],
  ['backend: "python"', 'model.onnx', 'python - model.py'],
  ['backend: "x"', 'model.onnx', 'x - -'],
  ['platform: "onnxruntime_onnx"', '', 'onnxruntime onnxruntime_onnx model.onnx'],
  ['platform: "tensorrt_plan"', '', 'tensorrt tensorrt_plan model.plan'],
  ['platform: "libtorch"', '', 'pytorch libtorch model.pt'],
  ['platform: "ensemble"', 'model.onnx', '- ensemble -'],
  ['platform: "strange"', 'model.onnx', '- strange -'],
  ['default_model_filename: "model.onnx" platform: "strange"', '', 'onnxruntime strange model.onnx'],
  ['default_model_filename: "net.onnx"', 'net.onnx', '- - net.onnx'],
  ['backend: "onnxruntime" default_model_filename: "net.onnx"', '', 'onnxruntime onnxruntime_onnx net.onnx'],
];

for (const [text, entries, expected] of CASES) {
  test(`${text || 'no configuration'}, ${entries || 'no files'}`, () => {
    const kinds = new Map(
      entries
        .split(' ')
        .map((name) => [name.replace('/', ''), name.endsWith('/') ? ('directory' as const) : ('file' as const)]),
    );
    const { config } = readPbtxt(text);
    const completed = completeBackendFields(
      config,
      { directoryName: 'a.b.c', entries: { kindOf: (name) => kinds.get(name) } },
      CATALOGUE,
    );
    const shown = [completed.backend, completed.platform, completed.default_model_filename];
    assert.equal(shown.map((field) => field || '-').join(' '), expected);
    assert.equal(completed.name, 'a.b.c');
  });
}

test('nothing says which backend', () => {
  const place = { directoryName: 'plain', entries: noEntries };
  assert.throws(() => completeBackendFields(readPbtxt('').config, place, CATALOGUE), {
    code: 'INVALID_ARG',
    message:
      "Invalid model name: Could not determine backend for model 'plain' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.",
  });
});
