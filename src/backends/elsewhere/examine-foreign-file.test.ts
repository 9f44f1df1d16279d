import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { emptyModelConfig, type ModelConfig } from '../../protocol/proto/model-config.js';
import { examineForeignFile } from './examine-foreign-file.js';

const root = mkdtempSync(path.join(tmpdir(), 'foreign-'));
after(() => rmSync(root, { recursive: true }));
let made = 0;

type Files = Readonly<Record<string, string | Buffer>>;

/** Rule and message (without the directory) for a model's files. */
async function judged(config: Partial<ModelConfig>, files: Files): Promise<string> {
  const folder = path.join(root, `m${made++}`);
  mkdirSync(path.join(folder, '1'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, '1', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  const { faults } = await examineForeignFile({
    modelDirectory: folder,
    version: '1',
    config: { ...emptyModelConfig(), ...config },
    autoComplete: true,
    backendConfig: new Map(),
    run: { upTo: 'nothing', completionSeconds: 0, startSeconds: 0 },
  });
  return faults.map(({ rule, message }) => `${rule}: ${message.replaceAll(`${folder}/`, '')}`).join('\n');
}

const TORCH = { backend: 'pytorch', platform: 'pytorch_libtorch', default_model_filename: 'model.pt' };
const PLAN = { backend: 'tensorrt', platform: 'tensorrt_plan', default_model_filename: 'model.plan' };
const GRAPH = { backend: 'tensorflow', platform: 'tensorflow_graphdef', default_model_filename: 'model.graphdef' };
const SAVED = { backend: 'tensorflow', platform: 'tensorflow_savedmodel', default_model_filename: 'model.savedmodel' };
const VINO = { backend: 'openvino', default_model_filename: 'model.xml' };
/** A message with one field of five bytes. */
const GRAPHDEF = Buffer.from([0x0a, 5, 1, 2, 3, 4, 5]);

/** A zip archive of empty files. */
function zip(...names: string[]): Buffer {
  const directory = names.map((name) => {
    const entry = Buffer.alloc(46 + name.length);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(name.length, 28);
    entry.write(name, 46);
    return entry;
  });
  const size = directory.reduce((sum, entry) => sum + entry.length, 0);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(4, 16);
  return Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), ...directory, end]);
}

const CASES: readonly (readonly [
  name: string,
  config: Partial<ModelConfig>,
  files: Files,
  expected: string | RegExp,
])[] = [
  ['TorchScript', TORCH, { 'model.pt': zip('m/data.pkl', 'm/constants.pkl', 'm/code/x.py') }, ''],
  [
    'weights',
    TORCH,
    { 'model.pt': zip('archive/data.pkl', 'archive/data/0') },
    /^model-file-format: .* holds weights or an eager model/,
  ],
  ['old weights', TORCH, { 'model.pt': Buffer.from([0x80, 2, 0x8a]) }, /holds pickled weights, not TorchScript$/],
  [
    'cut TorchScript',
    TORCH,
    { 'model.pt': zip('m/constants.pkl').subarray(0, 40) },
    /^model-file-truncated: .*directory of the archive is missing$/,
  ],
  ['no TorchScript', TORCH, { 'model.pt': 'hello' }, "model-file-format: model file '1/model.pt' is not TorchScript"],
  ['missing', TORCH, {}, 'model-file-missing: failed to stat file 1/model.pt'],
  [
    'a package',
    { ...TORCH, platform: 'torch_aoti', default_model_filename: 'model.pt2' },
    { 'model.pt2': zip('a') },
    '',
  ],
  ['a plan', PLAN, { 'model.plan': 'ftrt and more' }, ''],
  ['an empty plan', PLAN, { 'model.plan': '' }, "model-file-empty: model file '1/model.plan' is empty"],
  ['no plan', PLAN, { 'model.plan': 'onnx?' }, /does not begin like a TensorRT plan$/],
  ['a web page', PLAN, { 'model.plan': '\n<!DOCTYPE html><title>' }, /it is a web page: the download went wrong$/],
  ['a pointer', PLAN, { 'model.plan': 'version https://git-lfs.github.com/spec/v1\n' }, /^model-file-lfs: /],
  ['a graph', GRAPH, { 'model.graphdef': GRAPHDEF }, ''],
  [
    'a cut graph',
    GRAPH,
    { 'model.graphdef': GRAPHDEF.subarray(0, 5) },
    /^model-file-truncated: .*is cut short: a field of 5 bytes runs past/,
  ],
  ['an archive of a graph', GRAPH, { 'model.graphdef': Buffer.from([0x1f, 0x8b, 8]) }, /it is a gzip archive$/],
  ['a SavedModel as a graph', GRAPH, { 'model.graphdef/saved_model.pb': GRAPHDEF }, /is a directory, not a GraphDef$/],
  ['a SavedModel', SAVED, { 'model.savedmodel/saved_model.pb': GRAPHDEF }, ''],
  [
    'a SavedModel one folder too deep',
    SAVED,
    { 'model.savedmodel/x/saved_model.pb': GRAPHDEF },
    /holds no saved_model\.pb$/,
  ],
  ['a graph as a SavedModel', SAVED, { 'model.savedmodel': GRAPHDEF }, /is a file, not the directory of a SavedModel$/],
  ['Keras', SAVED, { 'model.savedmodel': '\x89HDF\r\n' }, /is a file|HDF5/],
  ['OpenVINO', VINO, { 'model.xml': '<?xml version="1.0"?>\n<net name="x">\n</net>\n', 'model.bin': 'x' }, ''],
  [
    'OpenVINO without weights',
    VINO,
    { 'model.xml': '<net>\n</net>' },
    /has no weights beside it: no file '1\/model\.bin'$/,
  ],
  [
    'cut OpenVINO',
    VINO,
    { 'model.xml': '<net><layers>', 'model.bin': 'x' },
    /^model-file-truncated: .*does not end with <\/net>$/,
  ],
  ['a backend of its own', { backend: 'mine', default_model_filename: 'model.mine' }, { 'model.mine': 'x' }, ''],
];

for (const [name, config, files, expected] of CASES) {
  test(`model files of other backends: ${name}`, async () => {
    const found = await judged(config, files);
    if (typeof expected === 'string') assert.equal(found, expected);
    else assert.match(found, expected);
  });
}
