import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readOptions } from '../../base/options/read-options.js';
import { SERVER_FLAGS, serverFlagsContext, validateOptions } from './validate-options.js';

function optionsOf(...args: string[]) {
  const context = serverFlagsContext();
  assert.equal(readOptions(['--gpus', '', ...args], SERVER_FLAGS, context).kind, 'read');
  return validateOptions(context.options);
}

const hostOf = (...args: string[]) => optionsOf(...args).host;

test("the server's options that decide what is loaded are taken, the others are read and change nothing", () => {
  const options = optionsOf(
    ...['--rate-limit=execution_count', '--rate-limit-resource=R:2', '--model-completion-timeout=7'],
    ...['--model-control-mode=explicit', '--load-model=a', '--http-port=0', '--exit-on-error=false'],
    ...['--disable-auto-complete-config', '--strict-model-config=false'],
  );
  assert.deepEqual(options.rateLimit, [{ name: 'R', count: 2, device: -1 }]);
  assert.deepEqual(options.run, { upTo: 'completion', completionSeconds: 7, startSeconds: 0 });
  assert.deepEqual(options.loadModels, ['a']);
  assert.equal(options.autoComplete, false);
  assert.equal(optionsOf('--rate-limit-resource=R:2').rateLimit, undefined);
  assert.equal(optionsOf('--no-run').run.upTo, 'nothing');
  assert.throws(() => optionsOf('--load-model=a'), /--load-model needs --model-control-mode=explicit/);
});

test('the backends that a server has are known: its own, Python models in its folder, assumed ones', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'triton-backends-'));
  try {
    mkdirSync(path.join(folder, 'mine'));
    writeFileSync(path.join(folder, 'mine/model.py'), '');
    const names = ['onnxruntime', 'identity', 'python', 'repeat', 'mine', 'tensorrt'];
    const known = (...args: string[]) => {
      const host = hostOf(...args);
      return names.filter((name) => host.hasBackend(name));
    };
    assert.deepEqual(known(), names.slice(0, 4));
    assert.deepEqual(known('--backend-directory', folder), names.slice(0, 5));
    assert.deepEqual(known('--assume-backend', 'tensorrt'), [...names.slice(0, 4), 'tensorrt']);
    const host = hostOf('--backend-directory', folder);
    assert.deepEqual(
      names.filter((name) => host.supportsOptionalInputs?.(name)),
      ['onnxruntime', 'python', 'mine'],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
