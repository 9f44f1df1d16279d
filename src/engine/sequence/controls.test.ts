import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';
import type { Tensor } from '../../protocol/tensor.js';
import { SequenceControls } from './controls.js';

function controls(text: string, batches = true): SequenceControls {
  const { config } = readPbtxt(`name: "m" sequence_batching { ${text} }`);
  return new SequenceControls(config.sequence_batching!, batches);
}

const id = (type: string) =>
  controls(`control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${type} } }`);
const bytesOf = (made: SequenceControls, correlationId: bigint | string): number[] => {
  const tensors: Tensor[] = [];
  made.add(tensors, true, true, false, made.idTensor(correlationId));
  return [...tensors[0]!.data];
};

describe('correlation ids', () => {
  for (const [type, value, bytes] of [
    ['TYPE_UINT64', 0x0102030405060708n, [8, 7, 6, 5, 4, 3, 2, 1]],
    ['TYPE_UINT64', 2n ** 64n - 1n, [255, 255, 255, 255, 255, 255, 255, 255]],
    ['TYPE_INT64', 5n, [5, 0, 0, 0, 0, 0, 0, 0]],
    ['TYPE_UINT32', 2n ** 40n + 5n, [5, 0, 0, 0]],
    ['TYPE_INT32', 2n ** 40n + 5n, [5, 0, 0, 0]],
    ['TYPE_STRING', 'a1', [2, 0, 0, 0, 97, 49]],
    ['TYPE_STRING', 12n, [2, 0, 0, 0, 49, 50]],
    // Null rows.
    ['TYPE_STRING', 0n, [0, 0, 0, 0]],
    // Strings in numbers, as Triton lays them there.
    ['TYPE_UINT64', 's1', [2, 0, 0, 0, 115, 49, 0, 0]],
    ['TYPE_INT64', 'abcdefghij', [10, 0, 0, 0, 97, 98, 99, 100]],
    ['TYPE_INT32', 'abcdefghij', [10, 0, 0, 0]],
  ] as const) {
    test(`${value} as ${type}`, () => assert.deepEqual(bytesOf(id(type), value), bytes));
  }
});

test('flags have the type and the values that are configured, and a batch dimension where the model has one', () => {
  const text = `
    control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [7, 8] } }
    control_input { name: "R" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [0.5, 1.5] } }
    control_input { name: "E" control { kind: CONTROL_SEQUENCE_END bool_false_true: [true, false] } }`;
  const tensors: Tensor[] = [];
  controls(text).add(tensors, true, false, true, undefined);
  assert.deepEqual(tensors, [
    { name: 'S', datatype: 'INT32', shape: [1, 1], data: new Uint8Array(Int32Array.of(8).buffer) },
    { name: 'R', datatype: 'FP32', shape: [1, 1], data: new Uint8Array(Float32Array.of(0.5).buffer) },
    { name: 'E', datatype: 'BOOL', shape: [1, 1], data: Uint8Array.of(0) },
  ]);
  const plain: Tensor[] = [];
  controls(text, false).add(plain, true, false, true, undefined);
  assert.deepEqual(plain[0]!.shape, [1]);
});
