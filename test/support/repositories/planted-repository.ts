/** A large repository of good models of every kind, with faults planted in some of them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { SHIPPED_MODELS } from '../../../src/base/package.js';
import { type Files, writeFiles } from '../machine/temporary-directory.js';

/** One planted fault: where it is and the rule that is to find it. */
export interface PlantedFault {
  readonly model: string;
  readonly rule: string;
}

/** The file of the shipped model `simple`. */
const ONNX = readFileSync(path.join(SHIPPED_MODELS, 'simple', '1', 'model.onnx'));

const IO =
  'input { name: "I" data_type: TYPE_FP32 dims: [ 4 ] }\noutput { name: "O" data_type: TYPE_FP32 dims: [ 4 ] }\n';
const PYTHON = 'class TritonPythonModel:\n    def execute(self, requests):\n        return []\n';
const COMPLETING = `class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "I", "data_type": "TYPE_FP32", "dims": [4]})
        config.add_output({"name": "O", "data_type": "TYPE_FP32", "dims": [4]})
        config.set_max_batch_size(4)
        return config
    def execute(self, requests):
        return []
`;
const SIMPLE_IO =
  'input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]\n' +
  'output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]\n';
const SIMPLE = `platform: "onnxruntime_onnx"\nmax_batch_size: 8\n${SIMPLE_IO}`;
const IDENTITY = `backend: "identity"\nmax_batch_size: 4\n${IO}`;
const simple = (config: string): Files => ({ 'config.pbtxt': config, '1/model.onnx': ONNX });
const identity = (config: string): Files => ({ 'config.pbtxt': config, '1/': '' });
const ensemble = (of: string, changes: (config: string) => string = (config) => config): Files => ({
  'config.pbtxt': changes(`platform: "ensemble"
max_batch_size: 4
${IO}ensemble_scheduling {
  step { model_name: "${of}" model_version: -1 input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } }
}
`),
  '1/': '',
});

/** Good models; an ensemble uses the identity model of the same round. */
const GOOD: readonly ((round: string) => Files)[] = [
  () => simple(SIMPLE),
  () => ({ '1/model.onnx': ONNX }),
  () => simple(`${SIMPLE}dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }\n`),
  () => ({ ...simple(`${SIMPLE}version_policy { all { } }\n`), '2/model.onnx': ONNX }),
  () => identity(IDENTITY),
  (round) => ensemble(`good_4_${round}`),
  () => identity(`${IDENTITY}instance_group [ { count: 2 kind: KIND_CPU } ]\n`),
  () => ({ 'config.pbtxt': `backend: "python"\n${IO}`, '1/model.py': PYTHON }),
  () => ({ '1/model.py': COMPLETING }),
  () => ({
    'config.pbtxt': IDENTITY.replace('dims: [ 4 ] }\n', 'dims: [ 4 ] }\n').replace(
      /\}\n$/,
      'label_filename: "labels.txt" }\n',
    ),
    'labels.txt': 'a\nb\nc\nd\n',
    '1/': '',
  }),
];

/** Faults that people make, with the rule that names each. */
const FAULTY: readonly (readonly [rule: string, files: Files])[] = [
  ['config-syntax', identity(IDENTITY.replace('max_batch_size:', 'max_batchsize:'))],
  ['config-syntax', identity(IDENTITY.replace('TYPE_FP32', 'TYPE_FLOAT'))],
  ['config-syntax', identity(IDENTITY.replace('dims: [ 4 ] }\noutput', 'dims: [ 4, ] }\noutput'))],
  ['directory-name', identity(`name: "another"\n${IDENTITY}`)],
  ['platform-unknown', { 'config.pbtxt': SIMPLE.replace('onnxruntime_onnx', 'onnxruntime'), '1/model.onnx': ONNX }],
  ['max-batch-size-negative', identity(IDENTITY.replace(': 4', ': -1'))],
  ['preferred-batch-size', identity(`${IDENTITY}dynamic_batching { preferred_batch_size: 8 }\n`)],
  ['default-priority-level', identity(`${IDENTITY}dynamic_batching { priority_levels: 2 }\n`)],
  ['tensor-data-type', identity(IDENTITY.replace(' data_type: TYPE_FP32', ''))],
  ['tensor-dims', identity(IDENTITY.replace('dims: [ 4 ]', 'dims: [ 0 ]'))],
  ['reshape-size', identity(IDENTITY.replace('dims: [ 4 ]', 'dims: [ 4 ] reshape { shape: [ 5 ] }'))],
  ['instance-group', identity(`${IDENTITY}instance_group [ { kind: KIND_CPU gpus: [ 0 ] } ]\n`)],
  ['no-version', { 'config.pbtxt': IDENTITY }],
  ['label-file', identity(IDENTITY.replace(/\}\n$/, 'label_filename: "none.txt" }\n'))],
  ['model-file-missing', { 'config.pbtxt': SIMPLE, '1/': '' }],
  ['model-file-empty', { 'config.pbtxt': SIMPLE, '1/model.onnx': '' }],
  [
    'model-file-lfs',
    { 'config.pbtxt': SIMPLE, '1/model.onnx': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n' },
  ],
  ['onnx-unknown-input', simple(SIMPLE.replace('INPUT1', 'INPUT2'))],
  ['onnx-unknown-output', simple(SIMPLE.replace('OUTPUT1', 'output1'))],
  ['onnx-type-mismatch', simple(SIMPLE.replace('TYPE_INT32', 'TYPE_FP32'))],
  ['onnx-dims-mismatch', simple(SIMPLE.replace('[ 16 ]', '[ 15 ]'))],
  ['python-class-missing', { 'config.pbtxt': `backend: "python"\n${IO}`, '1/model.py': 'x = 1\n' }],
  [
    'sequence-control',
    identity(`${IDENTITY}sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START } } }\n`),
  ],
  ['ensemble-member-missing', ensemble('good_4_00')],
  ['ensemble-input-map', ensemble('good_4_0', (config) => config.replace('dims: [ 4 ]', 'dims: [ 5 ]'))],
];

/**
 * Makes `models` models in `directory`, which must be empty, `faults` of them with one fault each; returns those. Two calls
 * make the same.
 */
export function plantRepository(directory: string, models: number, faults: number): PlantedFault[] {
  const planted: PlantedFault[] = [];
  for (let i = 0; i < faults; i++) {
    const [rule, files] = FAULTY[i % FAULTY.length] as (typeof FAULTY)[number];
    const model = `faulty_${i}`;
    writeFiles(path.join(directory, model), files);
    planted.push({ model, rule });
  }
  for (let i = 0; i < models - faults; i++) {
    const kind = i % GOOD.length;
    const round = String(Math.floor(i / GOOD.length));
    writeFiles(path.join(directory, `good_${kind}_${round}`), (GOOD[kind] as (typeof GOOD)[number])(round));
  }
  return planted;
}
