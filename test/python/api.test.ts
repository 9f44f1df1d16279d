/** The Python module that models import, tested in Python itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pythonWithNumpy } from '../support/programs/python.js';

const SCRIPT = fileURLToPath(new URL('../../../test/python/test_api.py', import.meta.url));
const python = pythonWithNumpy();

test('triton_python_backend_utils', { skip: python === undefined }, () => {
  const { status, stderr } = spawnSync(python!, ['-B', SCRIPT], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
