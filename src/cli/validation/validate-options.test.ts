import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readOptions } from '../../base/options/read-options.js';
import { defaultServerFlags, SERVER_FLAGS, validateOptions } from './validate-options.js';

function hostOf(...args: string[]) {
  const options = { server: defaultServerFlags() };
  assert.equal(readOptions(['--gpus', '', ...args], SERVER_FLAGS, { options }).kind, 'read');
  return validateOptions(options.server).host;
}

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
