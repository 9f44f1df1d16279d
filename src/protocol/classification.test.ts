import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { classifySteps, parseClassification } from './classification.js';
import { atOnce } from './steps.js';
import { makeTensor, tensorStrings } from './tensor-values.js';

const classify = (...args: Parameters<typeof classifySteps>) => atOnce(classifySteps(...args));

describe('classifySteps', () => {
  const scores = makeTensor('O', 'FP32', [0.5, -1.25, 10, 0.5, Number.NaN, Number.POSITIVE_INFINITY], [2, 3]);

  test('gives the highest of each batch entry', () => {
    const result = classify(scores, 2, true, ['zero', '', 'two']);
    assert.deepEqual([result.name, result.datatype, result.shape], ['O', 'BYTES', [2, 2]]);
    assert.deepEqual(tensorStrings(result), ['10.000000:2:two', '0.500000:0:zero', 'inf:2:two', '0.500000:0:zero']);
  });

  test('takes the whole tensor without a batch, and no more classes than there are', () => {
    const result = classify(scores, 100, false, undefined);
    assert.deepEqual(result.shape, [6]);
    assert.deepEqual(tensorStrings(result), [
      'inf:5',
      '10.000000:2',
      '0.500000:0',
      '0.500000:3',
      '-1.250000:1',
      'nan:4',
    ]);
  });

  test('sorts many classes as few', () => {
    const values = Array.from({ length: 500 }, (_, i) => (i * 7919) % 101);
    const tensor = makeTensor('O', 'INT16', values);
    const all = tensorStrings(classify(tensor, 500, false, undefined));
    assert.deepEqual(tensorStrings(classify(tensor, 64, false, undefined)), all.slice(0, 64));
    assert.deepEqual(
      all.map((text) => Number(text.split(':')[0])),
      values.toSorted((a, b) => b - a),
    );
  });

  test('orders equal values as Triton does, when they compete for a rank', () => {
    const values = new Array<number>(1001).fill(0);
    values[304] = 1;
    const tensor = makeTensor('O', 'UINT8', values);
    assert.deepEqual(tensorStrings(classify(tensor, 3, false, undefined)), ['1:304', '0:666', '0:673']);
    assert.deepEqual(tensorStrings(classify(tensor, 1, false, undefined)), ['1:304']);
  });

  test('compares 64-bit integers exactly', () => {
    const tensor = makeTensor('O', 'UINT64', [2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]);
    assert.deepEqual(tensorStrings(classify(tensor, 2, false, undefined)), [
      '18446744073709551615:2',
      '9007199254740993:1',
    ]);
  });

  test('refuses other datatypes and large tensors', () => {
    for (const datatype of ['BOOL', 'FP16', 'BF16', 'BYTES'] as const) {
      assert.throws(() => classify({ name: 'O', datatype, shape: [0], data: new Uint8Array(0) }, 1, false, undefined), {
        code: 'INVALID_ARG',
        message: `class result not available for output due to unsupported type '${datatype}'`,
      });
    }
    assert.throws(
      () =>
        classify(
          { name: 'O', datatype: 'UINT8', shape: [1_000_001], data: new Uint8Array(1_000_001) },
          1,
          false,
          undefined,
        ),
      {
        code: 'INVALID_ARG',
        message: 'classification output tensor too large',
      },
    );
  });
});

describe('parseClassification', () => {
  test('takes texts with and without label apart', () => {
    assert.deepEqual(parseClassification('0.5:3:COFFEE MUG'), { value: '0.5', index: 3, label: 'COFFEE MUG' });
    assert.deepEqual(parseClassification('nan:0'), { value: 'nan', index: 0, label: '' });
    assert.deepEqual(parseClassification('1:2:a:b'), { value: '1', index: 2, label: 'a:b' });
  });

  test('refuses anything else', () => {
    for (const text of ['', '1', '1:x', 'a']) assert.throws(() => parseClassification(text), { code: 'INVALID_ARG' });
  });
});
