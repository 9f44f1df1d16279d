import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { modelOf } from '../../test/support/repositories/onnx-model.js';
import { readPbtxt } from '../modelconfig/pbtxt/read-pbtxt.js';
import { checkOnnxAgainstConfig } from './check-config.js';
import type { OnnxModel, OnnxValue } from './onnx-file.js';

function check(text: string, model: OnnxModel) {
  const { config, errors } = readPbtxt(`name: "m" ${text}`);
  assert.deepEqual(errors, []);
  return checkOnnxAgainstConfig(config, model);
}

const BATCHING = modelOf({ x: [-1, 16] }, { y: [-1, 16] });
const FIXED = modelOf({ x: [16] }, { y: [16] });
const SEQUENCE = modelOf({ x: [-1, 1], START: [-1, 1], ID: [-1, 2] }, { y: [-1, 1] }, 6);
const OPTIONAL: OnnxModel = { ...modelOf({ x: [4] }, { y: [4] }), overridable: modelOf({ w: [4] }, {}).inputs };

const x = (rest: string) => `input { name: "x" ${rest} }`;
const y = (rest: string) => `output { name: "y" ${rest} }`;
const F16 = 'data_type: TYPE_FP32 dims: 16';
const BOTH = `${x(F16)} ${y(F16)}`;
const CONTROL = (name: string, rest: string) => `control_input { name: "${name}" control { ${rest} } }`;
const BATCH_WORDS =
  '(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape';

describe('checkOnnxAgainstConfig', () => {
  test('finds nothing where configuration and model agree', () => {
    const agreeing: [string, OnnxModel][] = [
      [BOTH, FIXED],
      [`max_batch_size: 4 ${BOTH}`, BATCHING],
      [`${x('data_type: TYPE_FP32 dims: [-1, 16]')} ${y('data_type: TYPE_FP32 dims: [-1, 16]')}`, BATCHING],
      [`max_batch_size: 4 ${x('data_type: TYPE_FP32 dims: [4, 4] reshape { shape: 16 }')}`, BATCHING],
      [x('data_type: TYPE_FP32 dims: [1, 1]'), modelOf({ x: [] }, {})],
      [x(F16), modelOf({ x: [-1] }, { y: [16] })],
      [`max_batch_size: 4 ${x('data_type: TYPE_FP32 dims: 4 allow_ragged_batch: true')}`, modelOf({ x: [-1] }, {})],
      [
        `${x('data_type: TYPE_FP32 dims: 4')} input { name: "w" data_type: TYPE_FP32 dims: 4 optional: true }`,
        OPTIONAL,
      ],
      [
        `max_batch_size: 4 ${BOTH} batch_output { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }`,
        modelOf({ x: [-1, 16] }, { y: [7] }),
      ],
      [
        `max_batch_size: 4 sequence_batching { state { input_name: "s" output_name: "t" } } ${BOTH}`,
        modelOf({ x: [-1, 16], s: [-1, 1] }, { y: [-1, 16] }),
      ],
    ];
    for (const [text, model] of agreeing) assert.deepEqual(check(text, model), [], text);
  });

  const cases: [title: string, config: string, model: OnnxModel, message: string, code?: string][] = [
    [
      'a control tensor that the model lacks',
      `max_batch_size: 4 sequence_batching { ${CONTROL('GO', 'kind: CONTROL_SEQUENCE_READY fp32_false_true: [0, 1]')} } ${BOTH}`,
      BATCHING,
      "configuration specified sequence control 'GO', but model does not provide that input",
      'INTERNAL',
    ],
    [
      'a control tensor of two elements',
      `max_batch_size: 4 sequence_batching { ${CONTROL('ID', 'kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32')} }`,
      SEQUENCE,
      "unable to load model 'm', sequence control 'ID' in model has dims [2] but dims [1] is expected",
    ],
    [
      'a control tensor of another type; START comes before what is listed first',
      `max_batch_size: 4 sequence_batching { ${CONTROL('ID', 'kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32')}
        ${CONTROL('START', 'kind: CONTROL_SEQUENCE_START fp32_false_true: [0, 1]')} }`,
      SEQUENCE,
      "unable to load model 'm', sequence control 'START', the model expects data-type INT32 but the model configuration specifies data-type TYPE_FP32",
    ],
    ['too few inputs', y(F16), FIXED, "unable to load model 'm', configuration expects 0 inputs, model provides 1"],
    [
      'optional on a required input',
      x(`${F16} optional: true`),
      FIXED,
      "unable to load model 'm', configuration expects 0 inputs, model provides 1",
    ],
    [
      'an overridable initializer without optional',
      `${x('data_type: TYPE_FP32 dims: 4')} input { name: "w" data_type: TYPE_FP32 dims: 4 }`,
      OPTIONAL,
      "unable to load model 'm', configuration expects 2 inputs, model provides 1",
    ],
    [
      'an optional input of a batching model',
      `max_batch_size: 2 ${x(F16)} input { name: "w" data_type: TYPE_FP32 dims: 4 optional: true }`,
      { ...BATCHING, overridable: modelOf({ w: [-1, 4] }, {}).inputs },
      "unable to load model 'm', optional input 'w' is not supported for models that support batching",
    ],
    [
      'an unknown input',
      `input { name: "b" ${F16} } input { name: "X" ${F16} }`,
      modelOf({ x: [16], a: [16] }, {}),
      "unexpected inference input 'b', allowed inputs are: a, x",
    ],
    [
      'an invalid type',
      x('dims: 16'),
      FIXED,
      "unsupported datatype TYPE_INVALID for input 'x' for model 'm'",
      'INTERNAL',
    ],
    [
      'another type',
      x('data_type: TYPE_FP32 dims: 16'),
      modelOf({ x: [16] }, {}, 8),
      "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'x', model provides TYPE_BYTES",
    ],
    [
      'a ragged input of rank 2',
      `max_batch_size: 2 ${x(`${F16} allow_ragged_batch: true`)}`,
      BATCHING,
      "unable to load model 'm', configuration expects model provides input with shape [-1]  for ragged input 'x', model provides [-1,16]",
    ],
    [
      'a scalar with dims [2]',
      x('data_type: TYPE_FP32 dims: 2'),
      modelOf({ x: [] }, {}),
      "unable to load model 'm', scalar tensor 'x', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: [2].",
    ],
    [
      'batching on a fixed model',
      `max_batch_size: 2 ${BOTH}`,
      FIXED,
      "model 'm', tensor 'x': for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is [16]",
    ],
    [
      'another dimension, batching',
      `max_batch_size: 2 ${x('data_type: TYPE_FP32 dims: [-1, 8]')}`,
      BATCHING,
      `model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 3 dimensions ${BATCH_WORDS} [-1,-1,8])`,
    ],
    [
      'an input left open where the model is fixed',
      x('data_type: TYPE_FP32 dims: -1'),
      FIXED,
      "model 'm', tensor 'x': the model expects 1 dimensions (shape [16]) but the model configuration specifies 1 dimensions (shape [-1])",
    ],
    [
      'an unknown output',
      `${x(F16)} output { name: "z" ${F16} }`,
      FIXED,
      "unexpected inference output 'z', allowed outputs are: y",
    ],
    [
      'another output type',
      `${x(F16)} ${y('data_type: TYPE_INT8 dims: 16')}`,
      FIXED,
      "unable to load model 'm', configuration expects datatype TYPE_INT8 for output 'y', model provides TYPE_FP32",
    ],
    [
      'an output fixed where the model leaves it open',
      BOTH,
      modelOf({ x: [16] }, { y: [-1] }),
      "model 'm', tensor 'y': the model expects 1 dimensions (shape [-1]) but the model configuration specifies 1 dimensions (shape [16])",
    ],
  ];
  for (const [title, config, model, message, code = 'INVALID_ARG'] of cases) {
    test(title, () => {
      const [first] = check(config, model);
      assert.deepEqual([first?.message, first?.code], [message, code]);
    });
  }

  test('collects all faults with their places', () => {
    const faults = check(
      `max_batch_size: 2 ${x('data_type: TYPE_INT8 dims: 8')} output { name: "Y" ${F16} }`,
      BATCHING,
    );
    assert.deepEqual(
      faults.map(({ rule, path }) => [rule, path.join('.')]),
      [
        ['onnx-type-mismatch', 'input.0.data_type'],
        ['onnx-dims-mismatch', 'input.0.dims'],
        ['onnx-unknown-output', 'output.0.name'],
      ],
    );
    assert.equal(faults[2]?.remedy, "Did you mean 'y'?");
  });

  test('refuses what is not a tensor', () => {
    const [value] = FIXED.outputs as [OnnxValue];
    const [first] = check(x(F16), { ...FIXED, outputs: [{ ...value, kind: 'MAP' }] });
    assert.equal(first?.message, "Unsupported ONNX Type 'ONNX_TYPE_MAP' for I/O 'y', expected 'ONNX_TYPE_TENSOR'.");
    assert.equal(first?.code, 'UNSUPPORTED');
  });
});
