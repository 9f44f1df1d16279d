import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SHIPPED_MODELS } from '../../base/package.js';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';

const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));
const SIMPLE = join(SHIPPED_MODELS, 'simple', '1', 'model.onnx');
const root = mkdtempSync(join(tmpdir(), 'repo-add-'));
after(() => rmSync(root, { recursive: true }));

function add(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [TRITON, 'repo', 'add', ...args], { cwd: root, encoding: 'utf8' });
}

describe('triton repo add', () => {
  test('says what it made and what to do next', () => {
    const { status, stdout, stderr } = add(SIMPLE, '--name', 'sum', '--repository', 'my models', '--max-batch-size=16');
    assert.deepEqual([status, stderr], [0, '']);
    assert.equal(
      stdout,
      `Added the model 'sum' as 'my models/sum': config.pbtxt, 1/model.onnx.

# Made by 'triton repo add' from "model.onnx".
name: "sum"
platform: "onnxruntime_onnx"
max_batch_size: 16
input {
  name: "INPUT0"
  data_type: TYPE_INT32
  dims: 16
}
input {
  name: "INPUT1"
  data_type: TYPE_INT32
  dims: 16
}
output {
  name: "OUTPUT0"
  data_type: TYPE_INT32
  dims: 16
}
output {
  name: "OUTPUT1"
  data_type: TYPE_INT32
  dims: 16
}
dynamic_batching {
}

It takes batches of up to 16 requests; change max_batch_size in config.pbtxt to allow more.
Check it with: triton repo validate 'my models'
Serve it with: triton serve --model-repository 'my models'
`,
    );
    const { errors } = readPbtxt(readFileSync(join(root, 'my models', 'sum', 'config.pbtxt')));
    assert.deepEqual([errors, readdirSync(root)], [[], ['my models']]);
  });

  test('has one status for failures and another for unusable arguments', () => {
    const missing = add('none.onnx', '--repository', 'r');
    assert.deepEqual(
      [missing.status, missing.stderr],
      [1, "triton repo add: no such file or directory: 'none.onnx'\n"],
    );
    const text = add(fileURLToPath(import.meta.url), '--repository', 'r', '--name', 'x');
    assert.equal(text.status, 1);
    assert.match(text.stderr, /^triton repo add: '.*' is not an ONNX model \(/);
    for (const args of [[], [SIMPLE], [SIMPLE, '--repository', 'r', '--max-batch-size', '-1'], ['--nonsense']]) {
      assert.deepEqual([add(...args).status, add(...args).stdout], [2, '']);
    }
    assert.deepEqual(readdirSync(root), ['my models']);
  });
});

describe('triton repo add where nothing can be made', () => {
  test('ends with an error, also where the system reports ENOENT for ever', () => {
    for (const repository of ['/proc/x', '/proc/x/y', '/dev/null/x']) {
      const { status, stderr } = spawnSync(
        process.execPath,
        [TRITON, 'repo', 'add', SIMPLE, '--repository', repository],
        { cwd: root, encoding: 'utf8', timeout: 60_000 },
      );
      assert.equal(status, 1, repository);
      assert.match(stderr, /^triton repo add: .+\n$/);
    }
  });

  test('refuses a pipe and a device in place of the model', () => {
    spawnSync('mkfifo', [join(root, 'pipe.onnx')]);
    for (const file of ['pipe.onnx', '/dev/zero']) {
      const { status, stderr } = spawnSync(
        process.execPath,
        [TRITON, 'repo', 'add', file, '--name', 'x', '--repository', 'r'],
        {
          cwd: root,
          encoding: 'utf8',
          timeout: 60_000,
        },
      );
      assert.equal(status, 1);
      assert.match(stderr, /is not a regular file/);
    }
  });
});
