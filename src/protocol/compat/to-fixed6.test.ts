import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { toFixed6 } from './to-fixed6.js';

describe('toFixed6', () => {
  test('prints like C', () => {
    const texts = [0.5, 1 / 128, 3 / 128, -1 / 128, 1e22, -0, -1e-9, 123456.7891235, 1e20].map(toFixed6);
    assert.deepEqual(texts, [
      '0.500000',
      '0.007812',
      '0.023438',
      '-0.007812',
      '10000000000000000000000.000000',
      '-0.000000',
      '-0.000000',
      '123456.789123',
      '100000000000000000000.000000',
    ]);
  });
});
