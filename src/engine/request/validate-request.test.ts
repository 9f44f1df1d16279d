import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { int32, makeRequest, strings } from '../../../test/support/engine/engine-harness.js';
import type { TritonError } from '../../base/error.js';
import type { InferenceRequest, RequestInput } from '../../contract/request.js';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';
import { compileModelPlan, type ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { validateRequest } from './validate-request.js';

function plan(text: string): ModelPlan {
  return compileModelPlan(readPbtxt(`name: "m" backend: "gated" ${text}`).config, '1');
}

const TWO = plan(`max_batch_size: 4
  input { name: "A" data_type: TYPE_INT32 dims: [2] } input { name: "B" data_type: TYPE_INT32 dims: [2] }
  output { name: "OUT" data_type: TYPE_INT32 dims: [2] }`);
const FLAT = plan(`input { name: "A" data_type: TYPE_INT32 dims: [2, -1] }
  output { name: "OUT" data_type: TYPE_INT32 dims: [2] }`);
const OPTIONAL = plan(`input { name: "A" data_type: TYPE_INT32 dims: [1] }
  input { name: "B" data_type: TYPE_INT32 dims: [1] optional: true }
  output { name: "OUT" data_type: TYPE_INT32 dims: [1] }`);
const TEXT = plan(`max_batch_size: 4 input { name: "S" data_type: TYPE_STRING dims: [2] }
  output { name: "OUT" data_type: TYPE_STRING dims: [2] }`);
const RAW_TEXT = plan(
  'input { name: "S" data_type: TYPE_STRING dims: [1] } output { name: "O" data_type: TYPE_STRING dims: [1] }',
);
const VARIABLE = plan(
  'input { name: "A" data_type: TYPE_INT32 dims: [-1, -1] } output { name: "O" data_type: TYPE_INT32 dims: [1] }',
);

const NOTE =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.';
const P = '[request id: 7] ';
const pair = (a: RequestInput, b: RequestInput) => [a, b];
const raw = (bytes: number): Partial<InferenceRequest> => ({ raw: new Uint8Array(bytes) });
const bytes = (data: number[]): RequestInput => ({
  name: 'S',
  datatype: 'BYTES',
  shape: [1, 2],
  data: Uint8Array.from(data),
});

const A = int32('A', [1, 2], [1, 2]);
const B = int32('B', [1, 2], [1, 2]);

/** Title, model, inputs, further parts of the request, the whole message. */
const REFUSED: [string, ModelPlan, RequestInput[], Partial<InferenceRequest>, string][] = [
  ['an input twice', TWO, [A, B, A], {}, `${P}input 'A' already exists in request`],
  ['an output twice', TWO, [A, B], { requestedOutputs: ['OUT', 'OUT'] }, `${P}output 'OUT' already exists in request`],
  [
    'raw for two inputs',
    TWO,
    [],
    raw(8),
    `${P}Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model configuration`,
  ],
  [
    'raw with two variable dimensions',
    VARIABLE,
    [],
    raw(8),
    `${P}The shape of the raw input 'A' can not be deduced because there are more than one variable-sized dimension`,
  ],
  [
    'raw text of two elements',
    TEXT,
    [],
    raw(8),
    `${P}For BYTE datatype raw input 'S', the model must have input shape [1]`,
  ],
  ['raw beside inputs', FLAT, [A], raw(8), `${P}raw input 'raw_input' can't be added to request with other inputs`],
  [
    'raw of a wrong size',
    FLAT,
    [],
    raw(9),
    `${P}input byte size mismatch for input 'raw_input' for model 'm'. Expected 8, got 9`,
  ],
  ['an unknown output', TWO, [A, B], { requestedOutputs: ['X'] }, "unexpected inference output 'X' for model 'm'"],
  [
    'too few inputs',
    TWO,
    [A],
    {},
    `${P}expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['A'], but missing required input(s) ['B']. Please provide all required input(s).`,
  ],
  [
    'no inputs',
    TWO,
    [],
    {},
    `${P}expected 2 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['A','B']. Please provide all required input(s).`,
  ],
  [
    'too many inputs of a model with optional ones',
    OPTIONAL,
    [int32('A', [1], [1]), int32('B', [1], [1]), int32('C', [1], [1])],
    {},
    `${P}expected number of inputs between 1 and 2 but got 3 inputs for model 'm'. Got input(s) ['B','C','A'], but missing required input(s) ]. Please provide all required input(s).`,
  ],
  ['an unknown input', TWO, [A, int32('X', [1, 2], [1, 2])], {}, "unexpected inference input 'X' for model 'm'"],
  [
    'a missing batch dimension',
    TWO,
    [A, int32('B', [], [1])],
    {},
    `${P}input 'B' has no shape but model requires batch dimension for 'm'`,
  ],
  [
    'different batch sizes',
    TWO,
    pair(A, int32('B', [2, 2], [1, 2, 3, 4])),
    {},
    `${P}input 'A' batch size does not match other inputs for 'm'`,
  ],
  [
    'a large batch',
    TWO,
    pair(int32('A', [5, 2], []), int32('B', [5, 2], [])),
    {},
    `${P}inference request batch-size must be <= 4 for 'm'`,
  ],
  [
    'a wrong datatype',
    TWO,
    pair({ ...A, datatype: 'FP32' }, B),
    {},
    `${P}inference input 'A' data-type is 'FP32', but model 'm' expects 'INT32'`,
  ],
  [
    'no datatype at all',
    TWO,
    pair({ ...A, datatype: 'int32' }, B),
    {},
    `${P}inference input 'A' data-type is '<invalid>', but model 'm' expects 'INT32'`,
  ],
  [
    'an open dimension',
    FLAT,
    [{ ...A, shape: [2, -1] }],
    {},
    `${P}All input dimensions should be specified for input 'A' for model 'm', got [2,-1]`,
  ],
  [
    'a wrong shape',
    TWO,
    pair(int32('A', [1, 3], [1, 2, 3]), B),
    {},
    `${P}unexpected shape for input 'A' for model 'm'. Expected [-1,2], got [1,3]. ${NOTE}`,
  ],
  [
    'a wrong rank without batching',
    FLAT,
    [int32('A', [2], [1, 2])],
    {},
    `${P}unexpected shape for input 'A' for model 'm'. Expected [2,-1], got [2]. `,
  ],
  ['a negative dimension', FLAT, [{ ...A, shape: [2, -2] }], {}, "tensor 'A' contains an invalid dimension [2,-2]"],
  [
    'a huge shape',
    FLAT,
    [{ ...A, shape: [2, 2 ** 62] }],
    {},
    "byte size for tensor 'A' exceeds maximum size of 9223372036854775807",
  ],
  [
    'too few bytes',
    TWO,
    pair({ ...A, data: new Uint8Array(4) }, B),
    {},
    `${P}input byte size mismatch for input 'A' for model 'm'. Expected 8, got 4`,
  ],
  [
    'a batch of none',
    TWO,
    pair(int32('A', [0, 2], []), int32('B', [0, 2], [])),
    {},
    `${P}input byte size mismatch for input 'B' for model 'm'. Expected 8, got 0`,
  ],
  [
    'a batch of none beside one of two',
    TWO,
    pair(int32('A', [0, 2], []), int32('B', [2, 2], [1, 2, 3, 4])),
    {},
    `${P}input 'A' batch size does not match other inputs for 'm'`,
  ],
  [
    'a cut length',
    TEXT,
    [bytes([1, 0, 0, 0, 65, 1, 0])],
    {},
    `${P}incomplete string length indicator for inference input 'S' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer.`,
  ],
  [
    'too many strings',
    TEXT,
    [strings('S', [1, 2], ['a', 'b', 'c'])],
    {},
    `${P}unexpected number of string elements 3 for inference input 'S' for model 'm', expecting 2`,
  ],
  [
    'too few strings',
    TEXT,
    [strings('S', [1, 2], ['a'])],
    {},
    `${P}expected 2 string elements for inference input 'S' for model 'm', got 1`,
  ],
  [
    'a cut string',
    TEXT,
    [bytes([0, 0, 0, 0, 9, 0, 0, 0, 65])],
    {},
    "incomplete string data for inference input 'S', expecting string of length 9 but only 1 bytes available",
  ],
];

describe('requests that are refused', () => {
  for (const [title, model, inputs, more, message] of REFUSED) {
    test(title, () => {
      assert.throws(
        () => validateRequest(model, makeRequest(inputs, { id: '7', ...more })),
        (error: TritonError) => {
          assert.equal(error.message, message);
          assert.equal(error.code, 'INVALID_ARG');
          return true;
        },
      );
    });
  }

  test('a request without an id says so', () => {
    assert.throws(
      () => validateRequest(TWO, makeRequest([A])),
      /^TritonError: \[request id: <id_unknown>\] expected 2/,
    );
  });
});

describe('requests that pass', () => {
  test('batch size, tensors and all outputs', () => {
    const result = validateRequest(
      TWO,
      makeRequest([int32('A', [3, 2], [1, 2, 3, 4, 5, 6]), int32('B', [3, 2], [0, 0, 0, 0, 0, 0])]),
    );
    assert.equal(result.batchSize, 3);
    assert.deepEqual(result.requestedOutputs, ['OUT']);
    assert.deepEqual(result.inputs[0]!.shape, [3, 2]);
  });

  test('a zero in another dimension than the batch', () => {
    const model = plan(
      'max_batch_size: 4 input { name: "A" data_type: TYPE_INT32 dims: [-1] } output { name: "O" data_type: TYPE_INT32 dims: [-1] }',
    );
    assert.deepEqual(validateRequest(model, makeRequest([int32('A', [1, 0], [])])).inputs[0]!.shape, [1, 0]);
  });

  test('an optional input may be missing', () => {
    assert.equal(validateRequest(OPTIONAL, makeRequest([int32('A', [1], [1])])).inputs.length, 1);
  });

  test('reshape carries variable dimensions over in their order', () => {
    const model = plan(`max_batch_size: 4
      input { name: "A" data_type: TYPE_INT32 dims: [-1, 1, -1] reshape { shape: [1, -1, -1] } }
      output { name: "O" data_type: TYPE_INT32 dims: [1] }`);
    const result = validateRequest(model, makeRequest([int32('A', [2, 3, 1, 1], [1, 2, 3, 4, 5, 6])]));
    assert.deepEqual(result.inputs[0]!.shape, [2, 1, 3, 1]);
  });

  test('a raw request deduces its variable dimension', () => {
    const result = validateRequest(FLAT, makeRequest([], { raw: new Uint8Array(24) }));
    assert.deepEqual(result.inputs[0], { name: 'A', datatype: 'INT32', shape: [2, 3], data: new Uint8Array(24) });
  });

  test('a raw text gets its length in front', () => {
    const result = validateRequest(RAW_TEXT, makeRequest([], { raw: Buffer.from('hi') }));
    assert.deepEqual([...result.inputs[0]!.data], [2, 0, 0, 0, 104, 105]);
  });
});

describe('sequence ids', () => {
  const control = (type: string) =>
    plan(`max_batch_size: 1 input { name: "A" data_type: TYPE_INT32 dims: [1] } output { name: "O" data_type: TYPE_INT32 dims: [1] }
      sequence_batching { control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${type} } } }`);
  const inputs = [int32('A', [1, 1], [1])];

  test('of a text control must be texts; a text may go to a number', () => {
    validateRequest(control('TYPE_UINT64'), makeRequest(inputs, { id: '7', correlationId: 'a' }));
    assert.throws(() => validateRequest(control('TYPE_STRING'), makeRequest(inputs, { id: '7', correlationId: 5n })), {
      message: `${P}sequence batching control 'ID' data-type is 'UINT64', but model 'm' expects 'BYTES'`,
    });
    validateRequest(control('TYPE_STRING'), makeRequest(inputs, { correlationId: 'a' }));
  });
});
