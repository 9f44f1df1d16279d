import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { CATALOGUE } from '../backends/catalogue.js';
import { BackendRegistry } from '../backends/registry.js';
import { reportJson } from '../cli/validation/json-report.js';
import { reportText } from '../cli/validation/text-report.js';
import type { ValidateOptions } from './validate-model.js';
import { validateRepositories } from './validate-repository.js';

const registry = new BackendRegistry();
const OPTIONS: ValidateOptions = {
  backends: CATALOGUE,
  autoComplete: true,
  host: {
    backends: CATALOGUE,
    gpus: [],
    hasBackend: (name) => ['identity', 'python', 'onnxruntime'].includes(name),
    supportsOptionalInputs: () => false,
    backendDirectory: '/b',
  },
  backendConfig: () => new Map(),
  findExaminer: (backend) => registry.examiner(backend),
  run: { upTo: 'nothing', completionSeconds: 0, startSeconds: 0 },
};
const IO = 'input { name: "I" data_type: TYPE_FP32 dims: 4 } output { name: "O" data_type: TYPE_FP32 dims: 4 }';
const IDENTITY = `backend: "identity" max_batch_size: 4 ${IO}`;

let root = '';
before(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'validate-'));
});
after(() => rm(root, { recursive: true }));

let made = 0;

/** Makes a repository; a path that ends in `/` is a directory. */
async function repository(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = path.join(root, `r${made++}`);
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(name.endsWith('/') ? file : path.dirname(file), { recursive: true });
    if (!name.endsWith('/')) await writeFile(file, content);
  }
  return folder;
}

/** Findings without the repository's path: `error m: message`. */
async function findings(files: Readonly<Record<string, string | Uint8Array>>, options: Partial<ValidateOptions> = {}) {
  const folder = await repository(files);
  const report = await validateRepositories([folder], { ...OPTIONS, ...options });
  return report.findings.map(
    ({ severity, model, message }) => `${severity} ${model}: ${message.replaceAll(folder, 'R')}`,
  );
}

/** Layouts and what is said of them. */
const CASES: readonly (readonly [name: string, files: Record<string, string>, ...findings: string[]])[] = [
  ['an empty repository and files at its top are not findings', { 'README.md': 'x' }],
  ['a good model', { 'm/config.pbtxt': IDENTITY, 'm/1/': '' }],
  [
    'no version directory',
    { 'm/config.pbtxt': IDENTITY },
    "error m: at least one version must be available under the version policy of model 'm'",
  ],
  [
    'directories that are not versions, and versions that are missing',
    {
      'm/config.pbtxt': `${IDENTITY} version_policy { specific { versions: [ 1, 3 ] } }`,
      'm/1/': '',
      'm/02/': '',
      'm/abc/': '',
      'm/configs/': '',
      'm/warmup/': '',
    },
    "warning m: ignore version directory '02' which contains leading zeros in its directory name",
    "warning m: ignore version directory 'abc' which fails to convert to integral number",
    "warning m: version 3 is specified for model 'm', but the version directory is not present",
  ],
  [
    'nothing says which backend',
    { 'm/1/': '' },
    "error m: Invalid model name: Could not determine backend for model 'm' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.",
  ],
  [
    'a hidden directory is a model',
    { '.git/config.pbtxt/': '', '.git/1/': '' },
    "warning .git: '.git' is probably not a model, but a server takes every directory for one",
    'error .git: failed to open text file for read R/.git/config.pbtxt: Is a directory',
  ],
  [
    'the backend in the name',
    { 'm.identity/1/': '' },
    "error m.identity: model configuration is not provided for model 'm.identity'",
  ],
  [
    'a backend that is not here, and its file',
    { 'm/1/model.plan': '' },
    "error m: unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration.",
    "error m: model file 'R/m/1/model.plan' is empty",
    "error m: model configuration is not provided for model 'm'",
  ],
  [
    'runtime',
    { 'm/config.pbtxt': `${IDENTITY} runtime: "x.so"`, 'm/1/': '' },
    "error m: unable to find backend library 'x.so' for model 'm', searched: 'R/m/1' 'R/m' '/b/identity' ",
  ],
  [
    'runtime outside of where it is searched',
    { 'm/config.pbtxt': `${IDENTITY} runtime: "../x/lib.so"`, 'm/1/': '', 'm/x/lib.so': '' },
    "warning m: ignore version directory 'x' which fails to convert to integral number",
    "error m: backend library name '../x/lib.so' escapes backend directory 'R/m/1', for model 'm', check model config runtime field",
  ],
  [
    'an optional input of a backend that wants all',
    {
      'm/config.pbtxt': 'backend: "identity" input { name: "I" data_type: TYPE_FP32 dims: 4 optional: true }',
      'm/1/': '',
    },
    "error m: 'optional' is set to true for input 'I' while the backend model doesn't support optional input",
  ],
  [
    'the name of another model',
    { 'm/config.pbtxt': `name: "n" ${IDENTITY}`, 'm/1/': '' },
    "error m: unexpected directory name 'm' for model 'n', directory name must equal model name",
  ],
  [
    'label files',
    {
      'm/config.pbtxt': `backend: "identity" ${IO} output { name: "P" data_type: TYPE_FP32 dims: 1 label_filename: "../l" } output { name: "Q" data_type: TYPE_FP32 dims: 1 label_filename: "l" }`,
      'm/1/': '',
    },
    "error m: label file path 'R/m/../l' for output 'P' in model 'm' is outside model directory",
    'error m: failed to open text file for read R/m/l: No such file or directory',
  ],
  [
    'a Python model without its class',
    { 'm/config.pbtxt': `backend: "python" ${IO}`, 'm/1/model.py': 'x = 1\n' },
    "error m: AttributeError: module '1.model' has no attribute 'TritonPythonModel'",
  ],
  [
    'a Python model that completes itself is not judged by its tensors',
    { 'm/1/model.py': 'class TritonPythonModel:\n  @staticmethod\n  def auto_complete_config(c): return c\n' },
  ],
  [
    'an empty ONNX file',
    { 'm/1/model.onnx': '' },
    'error m: onnx runtime error 1: Load model from R/m/1/model.onnx failed:ModelProto does not have a graph.',
  ],
  [
    'warm-up data',
    {
      'm/config.pbtxt': `${IDENTITY} model_warmup { name: "w" batch_size: 1 inputs { key: "I" value { data_type: TYPE_FP32 dims: 4 input_data_file: "d" } } }`,
      'm/1/': '',
      'm/warmup/d': 'abc',
    },
    'error m: [request id: <id_unknown>] warmup setting expects 16 bytes, but the data provided from donly has 3 bytes',
  ],
  [
    'initial states',
    {
      'm/config.pbtxt': `${IDENTITY} sequence_batching { state { input_name: "S" output_name: "T" data_type: TYPE_INT32 dims: 1 initial_state { name: "s" data_type: TYPE_INT32 dims: 2 zero_data: true } } }`,
      'm/1/': '',
    },
    "error m: 'initial_state' dim for input name 'S' doesn't match 'state' dim description. 2 != 1",
  ],
  [
    'an ensemble with a response cache over a decoupled member, also by way of another ensemble',
    {
      'd/config.pbtxt': `${IDENTITY} model_transaction_policy { decoupled: true }`,
      'd/1/': '',
      'e/config.pbtxt': `platform: "ensemble" ${IO} ensemble_scheduling { step { model_name: "d" model_version: -1 input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } } }`,
      'e/1/': '',
      'f/config.pbtxt': `platform: "ensemble" ${IO} response_cache { enable: true } ensemble_scheduling { step { model_name: "e" model_version: -1 input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } } }`,
      'f/1/': '',
    },
    "error f: Response Cache does not currently support model f with 'decoupled' transaction policy. Please disable the response cache.",
  ],
  [
    'an ensemble and its members',
    {
      'a/config.pbtxt': IDENTITY,
      'a/1/': '',
      'e/config.pbtxt': `platform: "ensemble" max_batch_size: 8 ${IO} ensemble_scheduling { step { model_name: "a" input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } } }`,
      'e/1/': '',
      'f/config.pbtxt': `platform: "ensemble" ${IO} ensemble_scheduling { step { model_name: "g" model_version: -1 input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } } }`,
      'f/1/': '',
    },
    "error e: ensemble 'e' depends on 'a' whose required version 0 is not loaded.",
    'error e: ensemble e allows maximum batch size 8, but it contains model a which only allows maximum batch size to be 4',
    'error f: ensemble f contains models that are not available or ambiguous: g',
  ],
];

/** Two tensors of one name. */
const TWICE = 'input { name: "I" data_type: TYPE_FP32 dims: 4 }';

test('two inputs of one name are an error, two outputs a warning', async () => {
  assert.deepEqual(
    await findings({
      'm/config.pbtxt': `${IDENTITY} ${TWICE}`,
      'm/1/': '',
      'n/config.pbtxt': `${IDENTITY} ${TWICE.replace('input', 'output').replace('"I"', '"O"')}`,
      'n/1/': '',
    }),
    [
      "error m: two inputs are called 'I', so that no request can be complete: a request has one input of a name",
      "warning n: two outputs are called 'O', so that clients cannot ask for one of them",
    ],
  );
});

const resource = (name: string, count: number, global = false) =>
  `${IDENTITY} instance_group { kind: KIND_CPU count: 2 rate_limiter { resources { name: "${name}" count: ${count} global: ${global} } } }`;

test('with the rate limiter, resources that are missing and such as exclude each other are errors', async () => {
  const files = {
    'a/config.pbtxt': resource('R', 4),
    'a/1/': '',
    'b/config.pbtxt': resource('R', 2),
    'b/1/': '',
    'c/config.pbtxt': resource('R', 1, true),
    'c/1/': '',
    'e/config.pbtxt': `platform: "ensemble" ${IO} ensemble_scheduling { step { model_name: "a" model_version: -1 input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } } }`,
    'e/1/': '',
  };
  assert.deepEqual(await findings(files), []);
  const limited = await findings(files, { rateLimit: [{ name: 'R', count: 3, device: -1 }] });
  assert.equal(
    limited[0],
    'error a: Resource count for "R" is limited to 3 which will prevent scheduling of one or more model instances, the minimum required count is 4',
  );
  assert.equal(
    limited[1],
    'error c: Resource "R" is present as both global and device-specific resource in the model configuration.',
  );
  assert.match(limited[2] ?? '', /^error e: ensemble 'e' depends on 'a' which has no loaded version/);
  const unlimited = await findings(files, { rateLimit: [] });
  assert.ok(!unlimited.some((finding) => finding.startsWith('error a:')));
});

test('--load-model: those models and the members of their ensembles are judged', async () => {
  const broken = { 'x/config.pbtxt': 'backend: "none"', 'x/1/': '' };
  const ensemble = `platform: "ensemble" ${IO} ensemble_scheduling { step { model_name: "x" model_version: -1 input_map { key: "I" value: "I" } output_map { key: "O" value: "O" } } }`;
  const files = { ...broken, 'e/config.pbtxt': ensemble, 'e/1/': '', 'm/config.pbtxt': IDENTITY, 'm/1/': '' };
  assert.deepEqual(await findings(files, { loadModels: ['m', 'absent'] }), [
    "error absent: failed to load 'absent', failed to poll from model repository",
  ]);
  const found = await findings(files, { loadModels: ['e'] });
  assert.ok(found.some((finding) => finding.startsWith('error x:')));
});

for (const [name, files, ...expected] of CASES) {
  test(name, async () => assert.deepEqual(await findings(files), expected));
}

test('strict mode: configurations must be there and complete', async () => {
  assert.deepEqual(
    await findings(
      { 'm/1/': '', 'n/config.pbtxt': 'backend: "identity" input { name: "I" }', 'n/1/': '' },
      { autoComplete: false },
    ),
    [
      'error m: failed to open text file for read R/m/config.pbtxt: No such file or directory',
      "error n: model input 'I' must specify 'data_type' for n",
      "error n: model input 'I' must specify 'dims' for n",
    ],
  );
});

test('--model-config-name takes configs/<name>.pbtxt where it exists', async () => {
  const files = { 'm/configs/x.pbtxt': IDENTITY, 'm/1/': '', 'n/config.pbtxt': IDENTITY, 'n/1/': '' };
  assert.deepEqual(await findings(files, { configName: 'x' }), []);
});

test('a model in two repositories is refused, the same repository twice is one', async () => {
  const first = await repository({ 'm/config.pbtxt': IDENTITY, 'm/1/': '' });
  const second = await repository({ 'm/config.pbtxt': IDENTITY, 'm/1/': '' });
  const both = await validateRepositories([second, first, first], OPTIONS);
  assert.deepEqual(
    both.findings.map(({ message }) => message),
    ["failed to poll model 'm': not unique across all model repositories"],
  );
  assert.deepEqual((await validateRepositories([first, first], OPTIONS)).findings, []);
});

test('repositories that cannot be listed', async () => {
  const folder = await repository({ file: 'x' });
  await symlink('nowhere', path.join(folder, 'dangling'));
  const messages = async (place: string) =>
    (await validateRepositories([place], OPTIONS)).findings.map(({ message }) => message.replaceAll(folder, 'R'));
  assert.deepEqual(await messages(`${folder}/none`), ['failed to stat file R/none']);
  assert.deepEqual(await messages(`${folder}/file`), ['repository path is not a valid directory']);
  assert.deepEqual(await messages(folder), ['failed to stat file R/dangling']);
});

test('the text form shows the line, a caret and the remedy', async () => {
  const config = `name: "m"\n\tmax_batch_size: "é8"\n`;
  const folder = await repository({ 'm/config.pbtxt': config, 'n/config.pbtxt': `${IDENTITY}\nmax_batch_size: -1` });
  const report = await validateRepositories([folder], OPTIONS);
  const text = (await reportText(report)).replaceAll(folder, 'R');
  assert.equal(
    text,
    [
      'R/m/config.pbtxt:2:25: error: Expected integer, got: "é8" [config-syntax]',
      '            max_batch_size: "é8"',
      '                            ^',
      '  server: failed to read text proto from R/m/config.pbtxt',
      '  help: Write the number without quotes.',
      'R/n/config.pbtxt:2:1: error: Non-repeated field "max_batch_size" is specified multiple times. [config-syntax]',
      '    max_batch_size: -1',
      '    ^',
      '  server: failed to read text proto from R/n/config.pbtxt',
      "  help: Keep one 'max_batch_size'.",
      '2 models: 2 errors, 0 warnings',
      '',
    ].join('\n'),
  );
  const json = JSON.parse(reportJson(report)) as { errors: number; findings: { line: number; column: number }[] };
  assert.equal(json.errors, 2);
  assert.deepEqual([json.findings[0]?.line, json.findings[0]?.column], [2, 25]);
});

test('remedies name what is there: a file outside the version directory, a near backend, an input that is not one', async () => {
  const io = 'input { name: "A" data_type: TYPE_FP32 dims: 4 } output { name: "B" data_type: TYPE_FP32 dims: 4 }';
  const sample = 'inputs { key: "X" value { data_type: TYPE_FP32 dims: 4 zero_data: true } }';
  const folder = await repository({
    'bare/model.py': '',
    'flat/config.pbtxt': `backend: "onnxruntime" ${io}`,
    'flat/net.onnx': '',
    'onnx/config.pbtxt': `backend: "onnx" ${io}`,
    'onnx/1/': '',
    'warm/config.pbtxt': `backend: "identity" max_batch_size: 2 ${io}\nmodel_warmup { name: "w" batch_size: 1 ${sample} }`,
    'warm/1/': '',
    'zero/config.pbtxt': `backend: "identity" ${io.replace('dims: 4', 'dims: [ 2, 0 ]')}`,
    'zero/1/': '',
  });
  const report = await validateRepositories([folder], OPTIONS);
  const remedies = new Map(report.findings.map(({ model, remedy }) => [model, remedy?.replaceAll(folder, 'R')]));
  assert.deepEqual(Object.fromEntries(remedies), {
    bare: 'Move R/bare/model.py into a version directory: mkdir R/bare/1 && mv R/bare/model.py R/bare/1/model.py',
    flat: 'Move R/flat/net.onnx into a version directory: mkdir R/flat/1 && mv R/flat/net.onnx R/flat/1/model.onnx',
    onnx: "Did you mean 'onnxruntime'?",
    warm: "'X' is not an input of this model, whose inputs are 'A'. Did you mean 'A'?",
    zero: '0 is not a size: write the number of elements, or -1 where it differs from request to request.',
  });
  const [warm] = report.findings.filter(({ model }) => model === 'warm');
  assert.deepEqual(warm?.position, { line: 2, column: 40 });
});

test('a directory that is a model, or lies above the repository, is named, and nobody is advised to change its files', async () => {
  const above = await repository({ 'm/simple/config.pbtxt': 'backend: "identity"', 'm/simple/1/model.onnx': '' });
  for (const [wrong, meant] of [
    [path.join(above, 'm/simple'), path.join(above, 'm')],
    [above, path.join(above, 'm')],
  ] as const) {
    const report = await validateRepositories([wrong], OPTIONS);
    const named = report.findings.filter(({ rule }) => rule === 'repository-is-model');
    assert.equal(named.length, 1);
    assert.ok(named[0]!.message.endsWith(`triton repo validate ${meant}`), named[0]!.message);
    const others = report.findings.filter(({ rule }) => rule !== 'repository-is-model');
    assert.ok(others.length > 0);
    assert.deepEqual(
      others.filter(({ remedy }) => remedy !== undefined),
      [],
    );
  }
});
