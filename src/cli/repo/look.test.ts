/** The commands that look at repositories and tidy them: list, show, fmt, fetch's arguments, add --python. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SHIPPED_MODELS } from '../../base/package.js';

const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));
let root = '';
before(() => {
  root = mkdtempSync(path.join(tmpdir(), 'repo-look-'));
  cpSync(path.join(SHIPPED_MODELS, 'simple'), path.join(root, 'r/simple'), { recursive: true });
  mkdirSync(path.join(root, 'r/bad'));
  writeFileSync(path.join(root, 'r/bad/config.pbtxt'), 'backend: "identity" # no version\n');
});
after(() => rmSync(root, { recursive: true }));

function repo(args: readonly string[], input = ''): { status: number | null; out: string; complaint: string } {
  const run = spawnSync(process.execPath, [TRITON, 'repo', ...args], { cwd: root, encoding: 'utf8', input });
  return { status: run.status, out: run.stdout, complaint: run.stderr };
}

describe('triton repo list', () => {
  test('shows each model with its state, as a table and as JSON', () => {
    const { status, out, complaint } = repo(['list', 'r']);
    assert.deepEqual([status, complaint], [0, '']);
    assert.match(out, /│ bad +│ identity +│ - +│ +0 │ +\d+ B │ 1 error │/);
    assert.match(out, /│ simple │ onnxruntime │ 1 +│ +8 │ +\d+ B │ ready +│/);
    const rows = JSON.parse(repo(['list', 'r', '--format', 'json']).out) as { name: string; errors: number }[];
    assert.deepEqual(
      rows.map(({ name, errors }) => [name, errors]),
      [
        ['bad', 1],
        ['simple', 0],
      ],
    );
  });

  test('fails when there is no such repository', () => {
    const { status, complaint } = repo(['list', 'none']);
    assert.equal(status, 1);
    assert.match(complaint, /^triton repo: error: failed to stat file none/);
  });
});

describe('triton repo show', () => {
  test('shows metadata, files, the file of the model and the completed configuration', () => {
    const { status, out } = repo(['show', 'simple', '--repository', 'r']);
    assert.equal(status, 0);
    assert.match(out, /^simple: ready\n {2}directory r\/simple /);
    assert.match(out, /\n {2}onnx {6}\d+ nodes, IR version 7, opset ai\.onnx 13/);
    assert.match(out, /│ input +│ INPUT0 +│ INT32 +│ \[-1,16\] │/);
    assert.match(out, / 219 B {2}1\/model\.onnx\n/);
    assert.match(out, /\nbackend: "onnxruntime" {2}# added: /);
    const facts = JSON.parse(repo(['show', 'simple', '--repository', 'r', '--format', 'json']).out) as {
      metadata: unknown;
      config: { max_batch_size: number };
    };
    assert.deepEqual(facts.metadata, {
      name: 'simple',
      versions: ['1'],
      platform: 'onnxruntime_onnx',
      inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [-1, 16] })),
      outputs: ['OUTPUT0', 'OUTPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [-1, 16] })),
    });
    assert.equal(facts.config.max_batch_size, 8);
  });

  test('shows what is wrong with a model, and names the nearest one', () => {
    const bad = repo(['show', 'bad', '--repository', 'r']);
    assert.equal(bad.status, 1);
    assert.match(bad.out, /^bad: 1 error\n[\s\S]*error: at least one version must be available/);
    const none = repo(['show', 'simpel', '--repository', 'r']);
    assert.deepEqual(
      [none.status, none.complaint],
      [1, "triton repo show: no model 'simpel' in r; did you mean 'simple'?\n"],
    );
  });
});

describe('triton repo fmt', () => {
  test('--check reports, fmt fixes, and then there is nothing to do', () => {
    const file = path.join(root, 'f/m/config.pbtxt');
    mkdirSync(path.join(root, 'f/m/configs'), { recursive: true });
    writeFileSync(file, 'max_batch_size:8 name: "m" # ours\n');
    writeFileSync(path.join(root, 'f/m/configs/x.pbtxt'), 'name: "m"\n');
    assert.deepEqual(repo(['fmt', '--check', 'f']), {
      status: 1,
      out: 'not in canonical form: f/m/config.pbtxt\n',
      complaint: '',
    });
    assert.deepEqual(repo(['fmt', 'f/m']), { status: 0, out: 'formatted: f/m/config.pbtxt\n', complaint: '' });
    assert.equal(readFileSync(file, 'utf8'), 'name: "m"  # ours\nmax_batch_size: 8\n');
    assert.deepEqual(repo(['fmt', '--check', 'f']), { status: 0, out: '', complaint: '' });
    assert.deepEqual(readdirSync(path.join(root, 'f/m')).sort(), ['config.pbtxt', 'configs']);
  });

  test('takes a text from the standard input, and leaves alone what it cannot read', () => {
    assert.equal(repo(['fmt', '-'], 'name: "x"').out, 'name: "x"\n');
    const { status, out, complaint } = repo(['fmt', '-'], 'nam: "x"');
    assert.deepEqual([status, out], [1, '']);
    assert.match(complaint, /^-:1:1: error: .*\n {2}help: Did you mean 'name'\?\n$/);
    assert.match(repo(['fmt', 'nowhere']).complaint, /no such file or directory: 'nowhere'/);
  });
});

describe('triton repo fetch', () => {
  test('lists the models, and says what is wrong with its arguments', () => {
    const { status, out } = repo(['fetch', '--list']);
    assert.equal(status, 0);
    for (const name of ['densenet_onnx', 'inception_v1_onnx', 'inception_v2_onnx', 'inception_graphdef']) {
      assert.ok(out.includes(name), name);
    }
    const wrong = repo(['fetch', 'densnet_onnx', '--repository', 'x']);
    assert.equal(wrong.status, 2);
    assert.match(
      wrong.complaint,
      /^triton repo fetch: no published model 'densnet_onnx'\. Did you mean 'densenet_onnx'\? Run '/,
    );
  });

  test('leaves nothing when the publisher cannot be reached', () => {
    const model = {
      name: 'm',
      config: '',
      files: [{ url: 'http://127.0.0.1:9/m.onnx', bytes: 1, sha256: '0'.repeat(64), path: '1/model.onnx' }],
    };
    writeFileSync(path.join(root, 'catalog.json'), JSON.stringify([model]));
    const { status, complaint } = repo([
      'fetch',
      'm',
      '--catalog',
      'catalog.json',
      '--repository',
      'new',
      '--cache',
      'cache',
    ]);
    assert.equal(status, 1);
    assert.match(complaint, /^triton repo fetch: cannot download from 127\.0\.0\.1:9: /m);
    assert.deepEqual(
      readdirSync(root).filter((name) => name === 'new' || name.startsWith('.')),
      [],
    );
    writeFileSync(
      path.join(root, 'catalog.json'),
      JSON.stringify([{ ...model, files: [{ ...model.files[0], path: '../x' }] }]),
    );
    const refused = repo(['fetch', 'm', '--catalog', 'catalog.json', '--repository', 'new']);
    assert.match(
      refused.complaint,
      /the catalogue 'catalog\.json' is wrong: \[0\]\.files\[0\]\.path must lie in the model's directory/,
    );
  });
});

describe('triton repo add --python', () => {
  test('makes a model that validation accepts', () => {
    const { status, out } = repo(['add', '--python', '--name', 'doubler', '--repository', 'p']);
    assert.equal(status, 0);
    assert.match(out, /^Made the Python model 'p\/doubler': config\.pbtxt, 1\/model\.py\.\n/);
    assert.equal(repo(['validate', 'p', '--no-run']).status, 0);
    assert.equal(repo(['add', '--python', '--name', 'doubler', '--repository', 'p']).status, 1);
    assert.equal(repo(['add', '--python', '--repository', 'p']).status, 2);
    assert.equal(repo(['add', '--repository', 'p']).status, 2);
  });
});
