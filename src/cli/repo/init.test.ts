import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CATALOGUE } from '../../backends/catalogue.js';
import { describeOnnx } from '../../backends/onnxruntime/describe/describe-onnx.js';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';
import { validateModelIO } from '../../modelconfig/rules/validate.js';
import { checkOnnxAgainstConfig } from '../../onnx/check-config.js';

const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'repo-init-'));
after(() => rmSync(root, { recursive: true }));

function init(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [TRITON, 'repo', 'init', ...args], { cwd: root, encoding: 'utf8' });
}

const MODELS = [
  'densenet_onnx',
  'simple',
  'simple_dyna_sequence',
  'simple_identity',
  'simple_int8',
  'simple_sequence',
  'simple_string',
];

describe('triton repo init', () => {
  test('makes the example repository', async () => {
    const { status, stdout, stderr } = init('models');
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(
      stdout,
      /^Made the repository 'models' with 7 models: densenet_onnx, .*\n.*triton serve --model-repository models\n$/,
    );
    assert.deepEqual(readdirSync(join(root, 'models')).sort(), MODELS);
    for (const name of MODELS) {
      const folder = join(root, 'models', name);
      const { config, errors } = readPbtxt(readFileSync(join(folder, 'config.pbtxt')));
      assert.deepEqual([config.name, errors, validateModelIO(config, CATALOGUE)], [name, [], []]);
      const files = readdirSync(join(folder, '1'));
      assert.deepEqual(files, name === 'simple_identity' ? [] : ['model.onnx']);
      if (files.length === 0) continue;
      const { model, doubt } = await describeOnnx(join(folder, '1', 'model.onnx'));
      assert.deepEqual([checkOnnxAgainstConfig(config, model), doubt], [[], undefined]);
    }
    const labels = readFileSync(join(root, 'models', 'densenet_onnx', 'densenet_labels.txt'), 'utf8').trimEnd();
    const { config } = readPbtxt(readFileSync(join(root, 'models', 'densenet_onnx', 'config.pbtxt')));
    assert.equal(labels.split('\n').length, Number(config.output[0]?.dims[0]));
  });

  test('overwrites nothing', async () => {
    writeFileSync(join(root, 'file'), '');
    const before = readdirSync(root).sort();
    assert.deepEqual(
      [init('.'), init('file'), init('file/x')].map(({ status, stderr }) => [status, stderr]),
      [
        [1, "triton repo init: '.' is not empty and nothing is overwritten; name a new or empty directory\n"],
        [1, "triton repo init: 'file' is a file or lies below one; name a new or empty directory\n"],
        [1, "triton repo init: 'file/x' is a file or lies below one; name a new or empty directory\n"],
      ],
    );
    assert.deepEqual(readdirSync(root).sort(), before);
  });

  test('wants one folder', () => {
    assert.equal(init().status, 2);
    assert.equal(init('a', 'b').status, 2);
    assert.equal(init('--help').status, 0);
  });
});
