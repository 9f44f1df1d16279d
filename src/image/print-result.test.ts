import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TritonError } from '../base/error.js';
import type { InferResult } from '../client/api/client.js';
import { DecodedInferResult } from '../client/infer/infer-result.js';
import { encodeBytes } from '../protocol/bytes.js';
import type { Tensor } from '../protocol/tensor.js';
import { imageBatches } from './build-requests.js';
import { formatResult } from './print-result.js';

function responseOf(shape: number[], texts: (string | Uint8Array)[], tensor: Partial<Tensor> = {}): InferResult {
  const output: Tensor = { name: 'out', datatype: 'BYTES', shape, data: encodeBytes(texts), ...tensor };
  return new DecodedInferResult({ modelName: 'm', modelVersion: '1', id: '0', parameters: [], outputs: [output] });
}

const expected = { output: 'out', batched: false, classes: 2, files: [Buffer.from('a/Ü.jpg')] };

test('score, index and label of every class', () => {
  const texts = ['15.346230:504:COFFEE MUG', '-1.000000:7'];
  const printed = formatResult(responseOf([2], texts), expected);
  assert.equal(printed.toString('utf8'), "Image 'a/Ü.jpg':\n    15.346230 (504) = COFFEE MUG\n    -1.000000 (7)\n");
});

test('a label ends at its first colon; its bytes pass through', () => {
  const printed = formatResult(responseOf([2], ['1:2:a:b', Buffer.from([0x31, 0x3a, 0x33, 0x3a, 0xff])]), expected);
  assert.equal(printed.toString('latin1').split('\n').slice(1).join('|'), '    1 (2) = a|    1 (3) = \xff|');
});

test('every image of a batch has its classes', () => {
  const batch = { ...expected, batched: true, classes: 1, files: [Buffer.from('x'), Buffer.from('y')] };
  const printed = formatResult(responseOf([2, 1], ['1:2', '3:4']), batch);
  assert.equal(printed.toString(), "Image 'x':\n    1 (2)\nImage 'y':\n    3 (4)\n");
});

const refused: readonly [result: InferResult | TritonError, message: string][] = [
  [new TritonError('INTERNAL', 'no'), 'inference  failed with error: no'],
  [
    new DecodedInferResult({ modelName: 'm', modelVersion: '1', id: '0', parameters: [], outputs: [] }),
    'unable to get shape for out',
  ],
  [responseOf([3], ['1:2']), 'received incorrect shape for out'],
  [responseOf([1, 2], ['1:2', '3:4']), 'received incorrect shape for out'],
  [responseOf([2], [], { datatype: 'FP32' }), 'received incorrect datatype for out: FP32'],
  [responseOf([2], [], { data: Uint8Array.of(9, 0) }), 'unable to get data for out'],
  [responseOf([2], ['1:2']), 'unexpected number of strings in the result, expected 2, got 1'],
];

for (const [result, message] of refused) {
  test(`refuses a response: ${message}`, () => {
    assert.throws(() => formatResult(result, expected), { message });
  });
}

test('images are grouped in order and wrap to the first', () => {
  assert.deepEqual(imageBatches(3, 2), [
    [0, 1],
    [2, 0],
  ]);
  assert.deepEqual(imageBatches(1, 4), [[0, 0, 0, 0]]);
  assert.deepEqual(imageBatches(2, 1), [[0], [1]]);
  assert.deepEqual(imageBatches(2, 5), [[0, 1, 0, 1, 0]]);
});
