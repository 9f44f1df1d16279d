import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CATALOGUE } from '../../backends/catalogue.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { normalizeInstanceGroups, normalizeModelConfig } from '../complete/normalize.js';
import { readPbtxt } from '../pbtxt/read-pbtxt.js';
import { validateForBackend, validateInstanceGroups, validateModelConfig, validateModelIO } from './validate.js';

function read(text: string): ModelConfig {
  const { config, errors } = readPbtxt(text);
  assert.deepEqual(errors, []);
  return normalizeModelConfig(config);
}

const IO = 'input { name: "I" data_type: TYPE_FP32 dims: 4 } output { name: "O" data_type: TYPE_FP32 dims: 4 }';
const MODEL = `name: "m" backend: "b" max_batch_size: 4 ${IO}`;
const START = 'kind: CONTROL_SEQUENCE_START';
const CORRID = 'kind: CONTROL_SEQUENCE_CORRID';
const corridTypes =
  'unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING';

/** Each rule of the whole configuration broken once: text, message, path. */
const MODEL_RULES: readonly (readonly [text: string, message: string, path: string])[] = [
  ['backend: "b"', "model configuration must specify 'name'", 'name'],
  ['name: "m" platform: "x"', "unexpected platform type 'x' for m", 'platform'],
  [
    'name: "m" platform: "ensemble" backend: "b"',
    "Ensemble model 'm' must have platform type 'ensemble' and empty backend type",
    'backend',
  ],
  [
    'name: "m" backend: "onnxruntime" platform: "onnxruntim"',
    "unexpected 'platform' and 'backend' pair, got:onnxruntim, onnxruntime",
    'platform',
  ],
  ['name: "m" backend: "b" max_batch_size: -1', "'max_batch_size' must be non-negative value for m", 'max_batch_size'],
  [
    `${MODEL} dynamic_batching { preferred_batch_size: [ 1, 0 ] }`,
    'dynamic batching preferred size must be positive for m',
    'dynamic_batching/preferred_batch_size/1',
  ],
  [
    `${MODEL} dynamic_batching { preferred_batch_size: 5 }`,
    'dynamic batching preferred size must be <= max batch size for m',
    'dynamic_batching/preferred_batch_size/0',
  ],
  [
    `${MODEL} dynamic_batching { priority_levels: 3 }`,
    'default priority level must be in range [1, 3] for m',
    'dynamic_batching/default_priority_level',
  ],
  [
    `${MODEL} dynamic_batching { priority_levels: 3 default_priority_level: 1 priority_queue_policy { key: 4 value { } } }`,
    'priority queue policy must have priority level in range [1, 3] for m',
    'dynamic_batching/priority_queue_policy/4',
  ],
  [
    `${MODEL} dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }`,
    "Only one priority level is allowed when 'preserve_ordering' is true for m",
    'dynamic_batching/priority_levels',
  ],
  [
    `${MODEL} dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 9 } }`,
    "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
    'dynamic_batching/default_queue_policy/timeout_action',
  ],
  [
    `${MODEL} sequence_batching { } response_cache { enable: true }`,
    'Response Cache does not currently support model m with sequence batching scheduler. Please disable the response cache.',
    'response_cache/enable',
  ],
  [
    `${MODEL} sequence_batching { control_input { } }`,
    'sequence batching control tensor must have a name for m',
    'sequence_batching/control_input/0/name',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" } control_input { name: "A" } }`,
    "sequence batching control tensor 'A' is specified for multiple control kinds for m",
    'sequence_batching/control_input/1/name',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" control [ { ${START} int32_false_true: [ 0, 1 ] }, { ${START} int32_false_true: [ 0, 1 ] } ] } }`,
    'sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m',
    'sequence_batching/control_input/0/control/1',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" control { ${START} } } }`,
    "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_START for m",
    'sequence_batching/control_input/0/control/0',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" control { ${START} int32_false_true: [ 0, 1 ] fp32_false_true: 1 } } }`,
    "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for CONTROL_SEQUENCE_START for m",
    'sequence_batching/control_input/0/control/0',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" control { ${START} fp32_false_true: 1 } } }`,
    "sequence batching control 'fp32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START for m",
    'sequence_batching/control_input/0/control/0',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" control { ${CORRID} data_type: TYPE_UINT64 bool_false_true: true } } }`,
    "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_CORRID for m",
    'sequence_batching/control_input/0/control/0',
  ],
  [
    `${MODEL} sequence_batching { control_input { name: "A" control { ${CORRID} data_type: TYPE_FP32 } } }`,
    corridTypes,
    'sequence_batching/control_input/0/control/0',
  ],
  [
    `${MODEL} sequence_batching { oldest { preferred_batch_size: -1 } }`,
    'sequence batching preferred batch size must be positive for m',
    'sequence_batching/oldest/preferred_batch_size/0',
  ],
  [
    `${MODEL} sequence_batching { oldest { preferred_batch_size: 8 } }`,
    'sequence batching preferred batch size must be <= max batch size for m',
    'sequence_batching/oldest/preferred_batch_size/0',
  ],
  [
    `${MODEL} sequence_batching { direct { minimum_slot_utilization: 1.5 } }`,
    'sequence batching minimum slot utilization must be in range (0.0, 1.0] for m',
    'sequence_batching/direct/minimum_slot_utilization',
  ],
  [
    `${MODEL} model_transaction_policy { decoupled: true } response_cache { enable: true }`,
    "Response Cache does not currently support model m with 'decoupled' transaction policy. Please disable the response cache.",
    'response_cache/enable',
  ],
  [
    `${MODEL} model_metrics { metric_control { } }`,
    "metric control must specify 'metric_identifier'",
    'model_metrics/metric_control/0',
  ],
  [
    `${MODEL} model_metrics { metric_control { metric_identifier { } } }`,
    "metric identifier must specify non-empty 'family'",
    'model_metrics/metric_control/0',
  ],
  [
    `${MODEL} model_metrics { metric_control { metric_identifier { family: "f" } } }`,
    "metric control must specify 'histogram_options'",
    'model_metrics/metric_control/0',
  ],
  [
    `${MODEL} model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { } } }`,
    "histogram options must specify non-empty 'buckets'",
    'model_metrics/metric_control/0',
  ],
  [
    `${MODEL} metric_tags { key: "a-b" value: "c" }`,
    "metric tag 'a-b' is not a valid label name for m",
    'metric_tags/a-b',
  ],
  // ensembles
  [
    'name: "e" platform: "ensemble"',
    'ensemble scheduling must be set for ensemble e whose platform is ensemble',
    'platform',
  ],
  [
    `${MODEL} ensemble_scheduling { step { model_name: "a" input_map { key: "X" value: "I" } output_map { key: "Y" value: "O" } } }`,
    "ensemble scheduling cannot be set for model 'm' whose platform is not ensemble",
    'ensemble_scheduling',
  ],
  [ensemble('I->O', 'instance_group { }'), "instance group should not be specified for ensemble 'e'", 'instance_group'],
  [ensemble('I->O', 'optimization { }'), "optimization should not be specified for ensemble 'e'", 'optimization'],
  [ensemble('I->O', 'model_warmup { }'), "model_warmup can not be specified for ensemble 'e'", 'model_warmup'],
  [
    'name: "e" platform: "ensemble" ensemble_scheduling { }',
    "must specify 'step' for ensemble 'e'",
    'ensemble_scheduling',
  ],
  [
    'name: "e" platform: "ensemble" ensemble_scheduling { step { input_map { key: "X" value: "I" } output_map { key: "Y" value: "O" } } }',
    "must specify 'model_name' in step 0 of ensemble 'e'",
    'ensemble_scheduling/step/0',
  ],
  [ensemble('->O'), "must specify 'input_map' in step 0 of ensemble 'e'", 'ensemble_scheduling/step/0'],
  [ensemble('I->'), "must specify 'output_map' in step 0 of ensemble 'e'", 'ensemble_scheduling/step/0'],
  [
    ensemble('I->O I->O'),
    "ensemble tensor 'O' can appear in an output map only once for ensemble 'e' step 1",
    'ensemble_scheduling/step/1/output_map/k0',
  ],
  [ensemble('x->O'), "ensemble input 'I' for ensemble e' is not used", 'input/0/name'],
  [ensemble('I->x'), "ensemble output 'O' for ensemble e' is not used", 'output/0/name'],
  [
    ensemble('I,t->u u->t,O'),
    "output 'O' for ensemble 'e' is not written: at least one of its depending tensors, 't', is not connected",
    'output/0/name',
  ],
  [ensemble('I->O,x'), "ensemble tensor 'x' is unused in ensemble 'e'", 'ensemble_scheduling'],
];

/** An ensemble from I to O whose steps are written `from,from->to,to`. */
function ensemble(steps: string, more = ''): string {
  const entries = (field: string, tensors = '') =>
    tensors
      .split(',')
      .filter(Boolean)
      .map((tensor, i) => `${field} { key: "k${i}" value: "${tensor}" }`)
      .join(' ');
  const step = (text: string) => {
    const [from, to] = text.split('->');
    return `step { model_name: "a" ${entries('input_map', from)} ${entries('output_map', to)} }`;
  };
  return `name: "e" platform: "ensemble" ${IO} ${more} ensemble_scheduling { ${steps.split(' ').map(step).join(' ')} }`;
}

for (const [text, message, path] of MODEL_RULES) {
  test(`model: ${message.slice(0, 90)}`, () => {
    const [first] = validateModelConfig(read(text), CATALOGUE);
    assert.equal(first?.message, message);
    assert.equal(first?.path.join('/'), path);
    assert.equal(first?.code, 'INVALID_ARG');
  });
}

/** Inputs, outputs, batch inputs and outputs. */
const IO_RULES: readonly (readonly [fields: string, message: string, path: string])[] = [
  ['input { data_type: TYPE_FP32 dims: 1 }', "model input must specify 'name' for m", 'input/0'],
  ['output { name: "O" dims: 1 }', "model output 'O' must specify 'data_type' for m", 'output/0'],
  ['input { name: "I" data_type: TYPE_FP32 }', "model input 'I' must specify 'dims' for m", 'input/0'],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: 1 reshape { } }',
    "model input 'I' cannot have empty reshape for non-batching model as scalar tensors are not supported for m",
    'input/0/reshape',
  ],
  [
    'output { name: "O" data_type: TYPE_FP32 dims: [ 1, 0 ] }',
    "model output 'O' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m",
    'output/0/dims/1',
  ],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: 1 reshape { shape: -2 } }',
    "model input 'I' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for m",
    'input/0/reshape/shape/0',
  ],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: [ 4294967296, 4294967296 ] reshape { shape: 1 } }',
    "element count for tensor 'I dims' exceeds maximum size of 9223372036854775807 for m",
    'input/0/reshape/shape',
  ],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: [ 1, 3, 2 ] reshape { shape: 5 } }',
    "model input 'I' has different size for dims and reshape for m",
    'input/0/reshape/shape',
  ],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ 2, -1, -1 ] } }',
    "model input 'I' has different number of variable-size dimensions for dims and reshape for m",
    'input/0/reshape/shape',
  ],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: [ 2, -1, 3 ] reshape { shape: [ -1, 6 ] } }',
    "model input 'I' has different size for dims and reshape for m",
    'input/0/reshape/shape',
  ],
  [
    'input { name: "I" data_type: TYPE_FP32 dims: 1 format: FORMAT_NCHW }',
    'model input NHWC/NCHW require 3 dims for m',
    'input/0/format',
  ],
  [
    'output { name: "O" data_type: TYPE_FP32 dims: 1 is_shape_tensor: true }',
    'shape tensors are only supported for TensorRT platform for m',
    'output/0/is_shape_tensor',
  ],
  [
    'output { name: "O" data_type: TYPE_FP32 dims: 1 is_non_linear_format_io: true }',
    'Non-linear IO format is only supported for the TensorRT platform for m',
    'output/0/is_non_linear_format_io',
  ],
  [
    'batch_input { data_type: TYPE_FP32 }',
    "batch input kind 'BATCH_ELEMENT_COUNT' expects 1 source input, got 0 for m",
    'batch_input/0/source_input',
  ],
  ['batch_input { kind: 9 data_type: TYPE_FP32 }', "unknown batch input kind '' for m", 'batch_input/0/kind'],
  [
    `${IO} batch_input { data_type: TYPE_INT8 source_input: "I" }`,
    'batch input data type must be TYPE_INT32 or TYPE_FP32 for m',
    'batch_input/0/data_type',
  ],
  [
    'batch_input { data_type: TYPE_INT32 source_input: "X" }',
    "unknown source input name 'X' for m",
    'batch_input/0/source_input',
  ],
  [
    `${IO} batch_output { source_input: "I" target_name: "X" }`,
    "unknown target output name 'X' for m",
    'batch_output/0/target_name',
  ],
  [
    `${IO} batch_output { source_input: "I" target_name: [ "O", "O" ] }`,
    "target output name 'O' can only be specified once for m",
    'batch_output/0/target_name',
  ],
  [
    `${IO} batch_output { source_input: [ "I", "I" ] target_name: "O" }`,
    "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 2 for m",
    'batch_output/0/source_input',
  ],
];

for (const [fields, message, path] of IO_RULES) {
  test(`tensors: ${message.slice(0, 90)}`, () => {
    const [first] = validateModelIO(read(`name: "m" backend: "b" ${fields}`), CATALOGUE);
    assert.equal(first?.message, message);
    assert.equal(first?.path.join('/'), path);
  });
}

test('a backend reads batch inputs before the core does', () => {
  const messages = validateForBackend(read('batch_input { kind: 9 }')).map(
    ({ code, message }) => `${code}: ${message}`,
  );
  assert.deepEqual(messages, [
    'INTERNAL: attempt to access JSON non-string as string',
    "INVALID_ARG: unexpected batch input data type 'TYPE_INVALID'",
  ]);
});

/** Instance groups on a machine without a GPU. */
const GROUP_RULES: readonly (readonly [group: string, message: string])[] = [
  ['kind: KIND_MODEL gpus: 0', 'instance group m_0 of model m has kind KIND_MODEL but specifies one or more GPUs'],
  ['kind: KIND_CPU gpus: 0 name: "g"', 'instance group g of model m has kind KIND_CPU but specifies one or more GPUs'],
  ['gpus: 0', 'instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs'],
  ['kind: KIND_GPU', 'instance group m_0 of model m has kind KIND_GPU but no GPUs are available'],
  [
    'kind: KIND_GPU gpus: 42',
    'instance group m_0 of model m specifies invalid or unsupported gpu id 42. GPUs with at least the minimum required CUDA compute compatibility of 6.000000 are: ',
  ],
  ['kind: 7', 'instance group m_0 of model m has unexpected kind KIND_AUTO'],
  [
    'profile: "0"',
    'instance group m_0 of model m and platform specifies profile field which is only supported for TensorRT models',
  ],
];

for (const [group, message] of GROUP_RULES) {
  test(`instance group { ${group} }`, () => {
    const host = { gpus: [], backends: CATALOGUE };
    const config = normalizeInstanceGroups(read(`${MODEL} instance_group { ${group} }`), host);
    assert.equal(validateInstanceGroups(config, host)[0]?.message, message);
  });
}

test('all faults are found, in the order in which a server would meet them', () => {
  const config = read(`name: "m" backend: "b" max_batch_size: -1 dynamic_batching { preferred_batch_size: [ 0, 9 ] }
    metric_tags { key: "1" value: "x" }`);
  assert.deepEqual(
    validateModelConfig(config, CATALOGUE).map(({ rule }) => rule),
    ['max-batch-size-negative', 'preferred-batch-size', 'preferred-batch-size', 'metric-tag-name'],
  );
});

test('what the server accepts is accepted', () => {
  const accepted = [
    MODEL,
    `${MODEL} dynamic_batching { }`,
    `${MODEL} sequence_batching { direct { minimum_slot_utilization: nan } }`,
    'name: "m" backend: "python" platform: "anything"',
    ensemble('I->t t->O'),
    'name: "m" backend: "b" input { name: "I" data_type: 17 dims: [ 2, -1, 3 ] reshape { shape: [ 1, 2, -1, 3 ] } }',
    'name: "m" backend: "b" max_batch_size: 1 input { name: "I" data_type: TYPE_FP32 dims: 1 reshape { } }',
  ];
  for (const text of accepted) {
    const config = read(text);
    assert.deepEqual([...validateModelConfig(config, CATALOGUE), ...validateModelIO(config, CATALOGUE)], [], text);
  }
});

test('defaults: preferred sizes, version policy, pinned memory, instance groups', () => {
  const config = normalizeInstanceGroups(
    read(`${MODEL} dynamic_batching { } sequence_batching { }`.replace('sequence_batching { }', '')),
    { gpus: [], backends: CATALOGUE },
  );
  assert.deepEqual(config.dynamic_batching?.preferred_batch_size, [4]);
  assert.deepEqual(config.version_policy?.latest, { num_versions: 1 });
  assert.deepEqual(config.optimization?.input_pinned_memory, { enable: true });
  const groups = (text: string, gpus: number[]) =>
    normalizeInstanceGroups(read(text), { gpus, backends: CATALOGUE }).instance_group.map(
      ({ name, kind, count, gpus: ids }) => `${name} ${kind} ${count} [${ids}]`,
    );
  const onnx = 'name: "m" backend: "onnxruntime" platform: "onnxruntime_onnx"';
  assert.deepEqual(groups(onnx, []), ['m 2 2 []']);
  assert.deepEqual(groups(`${onnx} instance_group [ { kind: KIND_CPU }, { count: 1 name: "g" } ]`, []), [
    'm_0 2 2 []',
    'g 2 1 []',
  ]);
  assert.deepEqual(groups(onnx, [0, 1]), ['m 1 1 [0,1]']);
  assert.deepEqual(groups(`${onnx} instance_group { gpus: 3 }`, [0, 1]), ['m_0 2 2 [3]']);
  assert.deepEqual(groups('name: "m" backend: "b" instance_group { kind: KIND_MODEL }', []), ['m_0 3 1 []']);
  assert.equal(read(ensemble('I->O')).optimization, undefined);
});
