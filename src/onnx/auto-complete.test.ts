import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { modelOf } from '../../test/support/repositories/onnx-model.js';
import { withSessionShapes } from '../backends/onnxruntime/session/session-shapes.js';
import { TritonError } from '../base/error.js';
import { readPbtxt } from '../modelconfig/pbtxt/read-pbtxt.js';
import { writePbtxt } from '../modelconfig/pbtxt/write-pbtxt.js';
import { autoCompleteOnnx } from './auto-complete.js';
import type { OnnxModel, OnnxValue } from './onnx-file.js';

function complete(text: string, model: OnnxModel, defaultMaxBatchSize = 4) {
  const lines: string[] = [];
  const log = {
    info: (message: string) => void lines.push(`I ${message}`),
    warning: (message: string) => void lines.push(`W ${message}`),
    error: (message: string) => void lines.push(`E ${message}`),
    verbose: () => {},
  };
  const { config, errors } = readPbtxt(`name: "m" ${text}`);
  assert.deepEqual(errors, []);
  const completed = autoCompleteOnnx(config, model, { defaultMaxBatchSize, log });
  return { text: writePbtxt(completed).replace(/\s+/g, ' ').trim(), lines };
}

const BATCHING = modelOf({ x: [-1, 16] }, { y: [-1, 16] });
const FIXED = modelOf({ x: [16] }, { y: [16] });
const X = 'input { name: "x" data_type: TYPE_FP32 dims: 16 }';
const Y = 'output { name: "y" data_type: TYPE_FP32 dims: 16 }';

const AUTOFILLED =
  "W autofilled max_batch_size to 4 for model 'm' since batching is supporrted but no max_batch_size is specified in model configuration. Must specify max_batch_size to utilize autofill with a larger max batch size";

describe('autoCompleteOnnx', () => {
  const cases: [title: string, config: string, model: OnnxModel, expected: string, defaultSize?: number][] = [
    ['a batching model', '', BATCHING, `name: "m" max_batch_size: 4 ${X} ${Y} dynamic_batching { }`],
    ['a fixed model', '', FIXED, `name: "m" ${X} ${Y}`],
    [
      'an output that does not batch',
      '',
      modelOf({ x: [-1, 16] }, { y: [1, 16] }),
      'name: "m" input { name: "x" data_type: TYPE_FP32 dims: -1 dims: 16 } output { name: "y" data_type: TYPE_FP32 dims: 1 dims: 16 }',
    ],
    ['a size of 8', 'max_batch_size: 8', BATCHING, `name: "m" max_batch_size: 8 ${X} ${Y} dynamic_batching { }`],
    ['a size of 1', 'max_batch_size: 1', BATCHING, `name: "m" max_batch_size: 1 ${X} ${Y}`],
    [
      'a default of 0',
      '',
      BATCHING,
      'name: "m" input { name: "x" data_type: TYPE_FP32 dims: -1 dims: 16 } output { name: "y" data_type: TYPE_FP32 dims: -1 dims: 16 }',
      0,
    ],
    [
      'a default below 0',
      '',
      modelOf({}, { y: [-1] }),
      'name: "m" output { name: "y" data_type: TYPE_FP32 dims: -1 }',
      -3,
    ],
    ['a default of 1', '', BATCHING, `name: "m" max_batch_size: 1 ${X} ${Y}`, 1],
    [
      'tensors of the batch dimension alone',
      '',
      modelOf({ x: [-1] }, { y: [-1] }),
      'name: "m" max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: 1 reshape { } } output { name: "y" data_type: TYPE_FP32 dims: 1 reshape { } } dynamic_batching { }',
    ],
    [
      'scalars',
      '',
      modelOf({ x: [] }, { y: [] }),
      'name: "m" input { name: "x" data_type: TYPE_FP32 dims: 1 } output { name: "y" data_type: TYPE_FP32 dims: 1 }',
    ],
    [
      'inputs given, outputs completed',
      `max_batch_size: 8 input { name: "other" data_type: TYPE_INT8 dims: 3 }`,
      BATCHING,
      `name: "m" max_batch_size: 8 input { name: "other" data_type: TYPE_INT8 dims: 3 } ${Y} dynamic_batching { }`,
    ],
    [
      'a sequence batcher',
      'sequence_batching { }',
      BATCHING,
      `name: "m" max_batch_size: 4 ${X} ${Y} sequence_batching { }`,
    ],
    ['a dynamic batcher on a fixed model', 'dynamic_batching { }', FIXED, `name: "m" ${X} ${Y} dynamic_batching { }`],
    [
      'a type that the protocol lacks',
      '',
      modelOf({ x: [1] }, { y: [1] }, 17),
      'name: "m" input { name: "x" dims: 1 } output { name: "y" dims: 1 }',
    ],
    ['a graph without inputs', '', modelOf({}, { y: [16] }), `name: "m" ${Y}`],
  ];
  for (const [title, config, model, expected, defaultSize] of cases) {
    test(title, () => assert.equal(complete(config, model, defaultSize).text, expected));
  }

  test('names every type', () => {
    const [x] = FIXED.inputs as [OnnxValue];
    const types = Array.from({ length: 18 }, (_, elementType) => {
      const { text } = complete('', { ...FIXED, inputs: [{ ...x, elementType }] });
      return /input \{ name: "x" (?:data_type: TYPE_(\w+) )?/.exec(text)?.[1] ?? '-';
    });
    assert.equal(
      types.join(' '),
      '- FP32 UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FP16 FP64 UINT32 UINT64 - - BF16 -',
    );
  });

  test('logs what it does', () => {
    assert.deepEqual(complete('', BATCHING).lines, [AUTOFILLED]);
    assert.deepEqual(complete('max_batch_size: 2', BATCHING).lines, []);
    assert.deepEqual(complete(`${X} ${Y}`, BATCHING).lines, [
      "I skipping model configuration auto-complete for 'm': inputs and outputs already specified",
    ]);
  });

  test('refuses a batch size on a model that cannot batch', () => {
    const message =
      "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified";
    for (const model of [FIXED, modelOf({ x: [] }, { y: [-1] }), modelOf({ x: [-1, 16] }, { y: [1, 16] })]) {
      assert.throws(() => complete('max_batch_size: 8', model), new TritonError('INVALID_ARG', message));
    }
  });

  test('refuses what is not a tensor', () => {
    const message = "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'y', expected 'ONNX_TYPE_TENSOR'.";
    const [y] = FIXED.outputs as [OnnxValue];
    const model: OnnxModel = { ...FIXED, outputs: [{ ...y, kind: 'SEQUENCE' }] };
    assert.throws(() => complete('', model), new TritonError('UNSUPPORTED', message));
  });

  test('goes by the shapes of the runtime', () => {
    const declared = modelOf({ x: [-1, 4] }, { y: [-1, -1] });
    const inferred = withSessionShapes(
      declared,
      [{ name: 'x', isTensor: true, type: 1, shape: [-1, 4] }],
      [{ name: 'y', isTensor: true, type: 11, shape: [-1, 3] }],
    );
    assert.match(complete('', inferred).text, /output \{ name: "y" data_type: TYPE_FP64 dims: 3 \}/);
  });
});
