import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatG } from './format-g.js';

const CASES: readonly [number, string][] = [
  [1234.5678, '1234.57'],
  [1234567, '1.23457e+06'],
  [20, '20'],
  [2.5, '2.5'],
  [1e-7, '1e-07'],
  [123456789, '1.23457e+08'],
  [1e10, '1e+10'],
  [Math.PI, '3.14159'],
  [-0, '-0'],
  [Number.NaN, 'nan'],
  [Number.NEGATIVE_INFINITY, '-inf'],
  [0, '0'],
  [0.997301, '0.997301'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [999999.5, '1e+06'],
  [100000, '100000'],
  [-2.5, '-2.5'],
  [Number.POSITIVE_INFINITY, 'inf'],
];

test('numbers of another precision', () => {
  assert.equal(formatG(0.1, 16), '0.1');
  assert.equal(formatG(1 / 3, 16), '0.3333333333333333');
  assert.equal(formatG(1e16, 16), '1e+16');
});

test('numbers have six significant digits and no trailing zeros', () => {
  for (const [value, shown] of CASES) assert.equal(formatG(value), shown);
});
