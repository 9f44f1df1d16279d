import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatG } from './format-number.js';

const CASES: readonly [number, string][] = [
  [1234.5678, '1234.57'],
  [1234567, '1.23457e+06'],
  [20, '20'],
  [0, '0'],
  [0.997301, '0.997301'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [999999.5, '1e+06'],
  [100000, '100000'],
  [-2.5, '-2.5'],
  [Number.POSITIVE_INFINITY, 'inf'],
];

test('numbers have six significant digits and no trailing zeros', () => {
  for (const [value, text] of CASES) assert.equal(formatG(value), text);
});
