import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { SHIPPED_MODELS } from '../../base/package.js';

const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));
const IO = 'input { name: "I" data_type: TYPE_FP32 dims: 4 }\noutput { name: "O" data_type: TYPE_FP32 dims: 4 }\n';
const SIMPLE = path.join(SHIPPED_MODELS, 'simple', '1', 'model.onnx');

let root = '';
before(() => {
  root = mkdtempSync(path.join(tmpdir(), 'reports-'));
  put('my models/bad/config.pbtxt', `# é, 100%\n\tmax_batch: 4, backend: "identity"\n`);
  put(
    'my models/dims/config.pbtxt',
    'platform: "onnxruntime_onnx"\nmax_batch_size: 8\noutput { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 17 ] }\n',
  );
  put('my models/dims/1/model.onnx', '');
  spawnSync('cp', [SIMPLE, path.join(root, 'my models/dims/1/model.onnx')]);
  put('my models/none/1/file', '');
  put('good/simple/1/model.onnx', '');
  spawnSync('cp', [SIMPLE, path.join(root, 'good/simple/1/model.onnx')]);
  put('good/identity/config.pbtxt', `backend: "identity"\nmax_batch_size: 4\n${IO}dynamic_batching { }\n`);
  mkdirSync(path.join(root, 'good/identity/1'));
});
after(() => rmSync(root, { recursive: true }));

function put(name: string, content: string): void {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function validate(...args: string[]): { status: number | null; out: string } {
  const run = spawnSync(process.execPath, [TRITON, 'repo', 'validate', ...args], { cwd: root, encoding: 'utf8' });
  assert.equal(run.stderr, '');
  return { status: run.status, out: run.stdout };
}

describe('the text form', () => {
  test('shows both shapes with the axis that differs, near names, and what to do', () => {
    const { status, out } = validate('my models');
    assert.equal(status, 1);
    assert.equal(
      out,
      [
        `my models/bad/config.pbtxt:2:9: error: Message type "inference.ModelConfig" has no field named "max_batch". [config-syntax]`,
        '            max_batch: 4, backend: "identity"',
        '            ^',
        '  server: failed to read text proto from my models/bad/config.pbtxt',
        "  help: Did you mean 'max_batch_size'?",
        "my models/dims/config.pbtxt:3:48: error: model 'dims', tensor 'OUTPUT0': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 2 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,17]) [onnx-dims-mismatch]",
        '    output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 17 ] }',
        '                                                   ^',
        '  model:         [-1, 16]',
        '  configuration: [-1, 17]',
        '                      ^^',
        '  help: Write dims: [ 16 ].',
        "my models/none: error: Invalid model name: Could not determine backend for model 'none' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'. [backend-unknown]",
        "  help: Write 'backend' into config.pbtxt, or put the model's file (model.onnx, model.py) into the version's directory.",
        '3 models: 3 errors, 0 warnings',
        '',
      ].join('\n'),
    );
  });
});

describe('--show-effective', () => {
  test('says what was added, and why, as text', () => {
    const { status, out } = validate('good', '--show-effective');
    assert.equal(status, 0);
    assert.match(
      out,
      /^# identity: good\/identity\/config\.pbtxt, completed\nname: "identity" {2}# added: the name of the model's directory\n/,
    );
    assert.match(out, /\n {2}preferred_batch_size: 4 {2}# added: default, as max_batch_size\n/);
    assert.match(out, /\n# simple: no configuration of its own\n/);
    assert.match(
      out,
      /\nmax_batch_size: 4 {2}# added: read from the model's file; the default of a model that batches\n/,
    );
    assert.match(out, /\ninput \{ {2}# added: read from the model's file\n {2}name: "INPUT0"\n/);
    assert.match(out, /\n2 models: 0 errors, 0 warnings\n$/);
  });

  test('is a member of the JSON form, and no part of the others', () => {
    const { out } = validate('good', '--show-effective', '--format', 'json');
    const { effective } = JSON.parse(out) as {
      effective: { model: string; generated: boolean; config: { backend: string }; added: { field: string }[] }[];
    };
    assert.deepEqual(
      effective.map(({ model, generated, config }) => [model, generated, config.backend]),
      [
        ['identity', false, 'identity'],
        ['simple', true, 'onnxruntime'],
      ],
    );
    const fields = effective[0]?.added.map(({ field }) => field);
    assert.deepEqual(fields, [
      'name',
      'version_policy',
      'optimization',
      'dynamic_batching.preferred_batch_size',
      'instance_group',
    ]);
    const refused = spawnSync(
      process.execPath,
      [TRITON, 'repo', 'validate', 'good', '--show-effective', '--format', 'sarif'],
      { cwd: root },
    );
    assert.equal(refused.status, 2);
  });
});

describe('the form for GitHub', () => {
  test('makes an annotation of each finding, escaped, at its line and column', () => {
    const { status, out } = validate('my models', '--format', 'github');
    assert.equal(status, 1);
    const lines = out.trimEnd().split('\n');
    assert.equal(lines.length, 3);
    assert.match(
      lines[0] ?? '',
      /^::error file=my models\/bad\/config\.pbtxt,line=2,col=2,title=config-syntax::Message type "inference\.ModelConfig" has/,
    );
    assert.match(
      lines[1] ?? '',
      /%0Amodel: {9}\[-1, 16\]%0Aconfiguration: \[-1, 17\]%0A.*\^\^%0Ahelp: Write dims: \[ 16 \]\.$/,
    );
    assert.match(lines[2] ?? '', /^::error file=my models\/none,title=backend-unknown::/);
    assert.equal(validate('good', '--format', 'github').out, '');
  });
});

describe('SARIF', () => {
  test('keeps to the essentials of the published schema of version 2.1.0', () => {
    const { status, out } = validate('my models', '--format', 'sarif');
    assert.equal(status, 1);
    const log = JSON.parse(out) as Json;
    checkSarif(log);
    const [run] = log['runs'] as Json[];
    const results = run?.['results'] as Json[];
    assert.deepEqual(
      results.map(({ ruleId }) => ruleId),
      ['config-syntax', 'onnx-dims-mismatch', 'backend-unknown'],
    );
    const [first] = (results[0]?.['locations'] ?? []) as { physicalLocation: Json }[];
    assert.deepEqual(first?.physicalLocation, {
      artifactLocation: { uri: 'my%20models/bad/config.pbtxt', uriBaseId: 'SRCROOT' },
      region: { startLine: 2, startColumn: 2, snippet: { text: '\tmax_batch: 4, backend: "identity"' } },
    });
    const bases = run?.['originalUriBaseIds'] as { SRCROOT: { uri: string } };
    assert.equal(bases.SRCROOT.uri, `${pathToFileURL(root).href}/`);
  });

  test('is complete without any findings too', () => {
    const { status, out } = validate('good', '--format', 'sarif');
    assert.equal(status, 0);
    checkSarif(JSON.parse(out) as Json);
  });
});

type Json = Record<string, unknown>;

/** Required members, closed sets of values and cross references of the schema, for the parts that are written. */
function checkSarif(log: Json): void {
  assert.equal(log['version'], '2.1.0');
  assert.match(String(log['$schema']), /^https:\/\/.*sarif.*2\.1\.0.*json$/);
  only(log, ['$schema', 'version', 'runs']);
  const [run, ...others] = log['runs'] as Json[];
  assert.ok(run !== undefined && others.length === 0);
  only(run, ['tool', 'columnKind', 'originalUriBaseIds', 'invocations', 'results']);
  assert.ok(['utf16CodeUnits', 'unicodeCodePoints'].includes(run['columnKind'] as string));
  for (const { uri } of Object.values(run['originalUriBaseIds'] as Record<string, { uri: string }>)) {
    assert.ok(URL.canParse(uri) && uri.endsWith('/'), uri);
  }
  const driver = (run['tool'] as { driver: Json }).driver;
  only(driver, ['name', 'semanticVersion', 'rules']);
  assert.match(String(driver['semanticVersion']), /^\d+\.\d+\.\d+/);
  const rules = driver['rules'] as { id: string; shortDescription: { text: string }; help: { text: string } }[];
  assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
  for (const rule of rules) {
    only(rule as unknown as Json, ['id', 'shortDescription', 'help']);
    assert.ok(rule.shortDescription.text.length > 0 && rule.help.text.length > 0);
  }
  for (const result of run['results'] as Json[]) {
    only(result, ['ruleId', 'ruleIndex', 'level', 'message', 'locations', 'properties']);
    assert.ok(['none', 'note', 'warning', 'error'].includes(result['level'] as string));
    assert.equal(rules[result['ruleIndex'] as number]?.id, result['ruleId']);
    assert.ok((result['message'] as { text: string }).text.length > 0);
    for (const location of result['locations'] as Json[]) {
      only(location, ['physicalLocation', 'logicalLocations']);
      const { artifactLocation, region } = location['physicalLocation'] as { artifactLocation: Json; region?: Json };
      only(artifactLocation, ['uri', 'uriBaseId']);
      assert.doesNotMatch(String(artifactLocation['uri']), /[ \\]/);
      if (region === undefined) continue;
      only(region, ['startLine', 'startColumn', 'snippet']);
      for (const key of ['startLine', 'startColumn'])
        assert.ok(Number.isInteger(region[key]) && (region[key] as number) >= 1);
    }
  }
}

function only(value: Json, members: readonly string[]): void {
  assert.deepEqual(
    Object.keys(value).filter((key) => !members.includes(key)),
    [],
  );
}
