import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));
const IO = 'input { name: "I" data_type: TYPE_FP32 dims: 4 } output { name: "O" data_type: TYPE_FP32 dims: 4 }';

let root = '';
before(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'repo-validate-'));
  await mkdir(path.join(root, 'm', '1'), { recursive: true });
  await mkdir(path.join(root, 'm', '01'));
  await writeFile(path.join(root, 'm', 'config.pbtxt'), `backend: "identity" ${IO}`);
});
after(() => rm(root, { recursive: true }));

function validate(...args: string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [TRITON, 'repo', 'validate', ...args], {
    encoding: 'utf8',
  });
  return { status, out: stdout.replaceAll(root, 'R'), err: stderr };
}

test('0 when a server would bring every model up, warnings allowed', () => {
  assert.deepEqual(validate(root), {
    status: 0,
    out: [
      "R/m/config.pbtxt: warning: ignore version directory '01' which contains leading zeros in its directory name [version-directory]",
      '  help: Version directories are named by plain numbers: 1, 2, 10.',
      '1 model: 0 errors, 1 warning',
      '',
    ].join('\n'),
    err: '',
  });
});

test('1 when warnings fail, and when there is nothing at that place', () => {
  assert.equal(validate(root, '--strict').status, 1);
  const { status, out } = validate(path.join(root, 'none'), '--format', 'json');
  assert.equal(status, 1);
  assert.deepEqual(JSON.parse(out), {
    repositories: ['R/none'],
    models: 0,
    notRun: 0,
    errors: 1,
    warnings: 0,
    findings: [{ severity: 'error', rule: 'repository', message: 'failed to stat file R/none', file: 'R/none' }],
  });
});

test('backends that are built in are known, without a file too', async () => {
  const repository = path.join(root, 'repeat', 'repository');
  const tensor = (name: string, type: string, dim: number) => `{ name: "${name}" data_type: ${type} dims: [ ${dim} ] }`;
  const inputs = [tensor('IN', 'TYPE_INT32', -1), tensor('DELAY', 'TYPE_UINT32', -1), tensor('WAIT', 'TYPE_UINT32', 1)];
  const outputs = [tensor('OUT', 'TYPE_INT32', 1), tensor('IDX', 'TYPE_UINT32', 1)];
  await mkdir(path.join(repository, 'm', '1'), { recursive: true });
  await writeFile(
    path.join(repository, 'm', 'config.pbtxt'),
    `backend: "repeat" input [ ${inputs.join()} ] output [ ${outputs.join()} ]`,
  );
  const { status, out } = validate(repository);
  await rm(path.join(root, 'repeat'), { recursive: true });
  assert.deepEqual([status, out], [0, '1 model: 0 errors, 0 warnings\n']);
});

test('2 for unusable arguments', () => {
  const cases = [[], [root, '--format', 'xml'], [root, '--formt=json'], [root, '--gpus', 'x']];
  for (const args of cases) {
    const { status, err } = validate(...args);
    assert.equal(status, 2, args.join(' '));
    assert.match(err, /^triton repo validate: .*[.?] Run 'triton repo validate --help' for details\.\n$/);
  }
});
