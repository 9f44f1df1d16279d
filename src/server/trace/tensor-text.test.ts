import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Datatype } from '../../protocol/datatype.js';
import { makeTensor, type TensorValue } from '../../protocol/tensor-values.js';
import { tensorText } from './tensor-text.js';

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
