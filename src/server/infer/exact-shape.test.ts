import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactShape } from './exact-shape.js';

test('dimensions beyond 2^53 are those of the configuration', () => {
  const huge = 2n ** 53n + 1n;
  const configured = [{ name: 'X', dims: [huge, 2n] }];
  const tensor = (shape: number[]) => ({ name: 'X', datatype: 'FP32' as const, shape });
  assert.deepEqual(exactShape(tensor([-1, Number(huge), 2]), configured), [-1n, huge, 2n]);
  assert.deepEqual(exactShape(tensor([-1, 3]), configured), [-1n, 3n]);
  assert.deepEqual(exactShape(tensor([4]), []), [4n]);
});
