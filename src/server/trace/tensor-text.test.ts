import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Datatype } from '../../protocol/datatype.js';
import { makeTensor, type TensorValue } from '../../protocol/tensor-values.js';
import { sixDigits, tensorText } from './tensor-text.js';

test('numbers have six significant digits, as the original prints them', () => {
  const cases: [value: number, text: string][] = [
    [1, '1'],
    [2.5, '2.5'],
    [1e-7, '1e-07'],
    [123456789, '1.23457e+08'],
    [0.1, '0.1'],
    [1e10, '1e+10'],
    [Math.PI, '3.14159'],
    [123456.789, '123457'],
    [999999.5, '1e+06'],
    [0.0001, '0.0001'],
    [0, '0'],
    [-0, '-0'],
    [Number.NaN, 'nan'],
    [Number.NEGATIVE_INFINITY, '-inf'],
  ];
  for (const [value, text] of cases) assert.equal(sixDigits(value), text);
});

test('elements by datatype', () => {
  const cases: [datatype: Datatype, values: TensorValue[], text: string][] = [
    ['INT32', [1, -2], '1,-2'],
    ['INT64', [2n ** 62n, -1n], '4611686018427387904,-1'],
    ['UINT8', [65, 200], '65,200'],
    ['BOOL', [true, false], '1,0'],
    ['FP32', [0.1, 1e10], '0.1,1e+10'],
    ['FP16', [1, 2], ''],
    ['BYTES', ['ab', 'c"d', ''], '"ab","c"d",""'],
  ];
  for (const [datatype, values, text] of cases) assert.equal(tensorText(makeTensor('x', datatype, values)), text);
});
