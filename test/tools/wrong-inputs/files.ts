/** What the command lines of the table find in their working directory. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Files } from '../../support/machine/temporary-directory.js';
import { block, externalTensor, node, onnxModel } from '../../support/repositories/onnx-builder.js';

const FIXTURES = fileURLToPath(new URL('../../../../fixtures', import.meta.url));
const fixture = (file: string): Buffer => readFileSync(path.join(FIXTURES, file));
const ONNX = fixture('models/simple/1/model.onnx');
const SIMPLE = { 'config.pbtxt': fixture('models/simple/config.pbtxt'), '1/model.onnx': ONNX };
const POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n';

const IDENTITY = `backend: "identity"
max_batch_size: 4
input { name: "I" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "O" data_type: TYPE_FP32 dims: [ 4 ] }
`;
const TENSOR = { dims: [undefined, 4] };
const graph = (type: number) => ({
  inputs: [{ name: 'I', type, ...TENSOR }],
  outputs: [{ name: 'O', type, ...TENSOR }],
});

/** Models with one fault each, as users make them; each is a repository `bad/NAME` of the model `m`. */
const BAD: Readonly<Record<string, Files>> = {
  'no-version': { 'model.onnx': ONNX },
  'near-backend': { 'config.pbtxt': 'backend: "onnx"\n', '1/model.onnx': ONNX },
  'zero-dim': { 'config.pbtxt': IDENTITY.replace('[ 4 ]', '[ 0 ]'), '1/': '' },
  'short-type': { 'config.pbtxt': IDENTITY.replace('TYPE_FP32', 'FP32'), '1/': '' },
  'open-brace': { 'config.pbtxt': IDENTITY.replace(' }\noutput', '\noutput'), '1/': '' },
  parameters: { 'config.pbtxt': `${IDENTITY}parameters { "depth": "4" }\n`, '1/': '' },
  'other-name': { 'config.pbtxt': `name: "n"\n${IDENTITY}`, '1/': '' },
  'warm-up': {
    'config.pbtxt': `${IDENTITY}model_warmup { name: "w" batch_size: 1 inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } }\n`,
    '1/': '',
  },
  labels: { 'config.pbtxt': IDENTITY.replace(/ \}\n$/, ' label_filename: "names.txt" }\n'), '1/': '' },
  pointer: { '1/model.onnx': POINTER },
  'wrong-input': {
    ...SIMPLE,
    'config.pbtxt': String(SIMPLE['config.pbtxt'])
      .replace(/name: "simple"\n/, '')
      .replaceAll('INPUT', 'INPUT_'),
  },
  'new-ir': { '1/model.onnx': onnxModel({ irVersion: 99, ...graph(1) }) },
  bfloat16: { '1/model.onnx': onnxModel(graph(16)) },
  'no-weights': {
    '1/model.onnx': onnxModel({
      ...graph(1),
      graph: [node('Add', ['I', 'w'], ['O']), block(5, externalTensor('w', [4], 'weights.bin'))],
    }),
  },
};

const below = (directory: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${directory}/${name}`, content]));

export const FILES: Files = {
  ...below('models/simple', SIMPLE),
  ...Object.assign({}, ...Object.entries(BAD).map(([name, files]) => below(`bad/${name}/m`, files))),
  'a.txt': 'not a model\n',
  'empty/': '',
  'empty.onnx': '',
  'simple.onnx': ONNX,
  'mug.jpg': fixture('images/mug.jpg'),
  'wrong-name.json': '{"data":[{"INPUT_0":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}]}',
  'too-short.json': '{"data":[{"INPUT0":[1,2,3],"INPUT1":[1,2,3]}]}',
};
