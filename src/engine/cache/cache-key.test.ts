import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tensor } from '../../protocol/tensor.js';
import { cacheKey } from './cache-key.js';

const tensor = (name: string, values: number[], more: Partial<Tensor> = {}): Tensor => ({
  ...{ name, datatype: 'UINT8', shape: [values.length], data: Uint8Array.from(values) },
  ...more,
});

const A = tensor('A', [1, 2]);
const B = tensor('B', [3]);

test('the order of inputs and outputs does not matter', () => {
  assert.equal(
    cacheKey([1], { inputs: [A, B], requestedOutputs: ['X', 'Y'] }),
    cacheKey([1], { inputs: [B, A], requestedOutputs: ['Y', 'X'] }),
  );
});

test('everything else does', () => {
  const requestedOutputs = ['X'];
  const keys = [
    cacheKey([1], { inputs: [A, B], requestedOutputs }),
    cacheKey([2], { inputs: [A, B], requestedOutputs }),
    cacheKey([1, 2], { inputs: [A, B], requestedOutputs }),
    cacheKey([1], { inputs: [A, B], requestedOutputs: ['X', 'Y'] }),
    cacheKey([1], { inputs: [A], requestedOutputs }),
    // The same bytes, cut elsewhere.
    cacheKey([1], { inputs: [tensor('A', [1]), tensor('B', [2, 3])], requestedOutputs }),
    cacheKey([1], { inputs: [A, tensor('B', [4])], requestedOutputs }),
    cacheKey([1], { inputs: [A, tensor('C', [3])], requestedOutputs }),
    cacheKey([1], { inputs: [A, tensor('B', [3], { datatype: 'INT8' })], requestedOutputs }),
    cacheKey([1], { inputs: [A, tensor('B', [3], { shape: [1, 1] })], requestedOutputs }),
  ];
  assert.equal(new Set(keys).size, keys.length);
});
