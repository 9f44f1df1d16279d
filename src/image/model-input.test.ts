import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelMetadata } from '../client/api/client.js';
import type { Datatype } from '../protocol/datatype.js';
import { emptyModelConfig, InputFormat, ModelInput } from '../protocol/proto/model-config.js';
import { create } from '../protocol/proto/schema.js';
import { imageModel } from './model-input.js';

const { FORMAT_NONE, FORMAT_NHWC, FORMAT_NCHW } = InputFormat.values;

interface Facts {
  input?: { datatype?: Datatype; shape?: number[] };
  output?: { datatype?: Datatype; shape?: number[] };
  format?: number | undefined;
  maxBatchSize?: number;
  batchSize?: number;
  protocol?: 'http' | 'grpc';
}

function check({
  input = {},
  output = {},
  format = FORMAT_NCHW,
  maxBatchSize = 0,
  batchSize = 1,
  protocol = 'http',
}: Facts) {
  const metadata: ModelMetadata = {
    name: 'm',
    versions: ['1'],
    platform: '',
    inputs: [{ name: 'in', datatype: 'FP32', shape: [3, 20, 10], ...input }],
    outputs: [{ name: 'out', datatype: 'FP32', shape: [1000, 1, 1], ...output }],
  };
  const config = emptyModelConfig();
  config.max_batch_size = maxBatchSize;
  config.input = [{ ...create(ModelInput), format: format as number }];
  return imageModel(metadata, config, { model: 'm', batchSize, protocol });
}

test('sizes come from the metadata, the layout from the configuration', () => {
  const image = { channels: 3, height: 20, width: 10, layout: 'NCHW', datatype: 'FP32' };
  assert.deepEqual(check({}), { inputName: 'in', outputName: 'out', maxBatchSize: 0, image });
  const nhwc = check({
    format: FORMAT_NHWC,
    maxBatchSize: 8,
    input: { shape: [-1, 20, 10, 3] },
    output: { shape: [-1, 9] },
  });
  assert.deepEqual(nhwc.image, { ...image, layout: 'NHWC' });
});

const refused: readonly [facts: Facts, message: string][] = [
  [{ output: { datatype: 'BYTES' } }, "expecting output datatype to be FP32, model 'm' output type is 'BYTES'"],
  [{ batchSize: 2 }, "batching not supported for model 'm'"],
  [{ batchSize: 2, protocol: 'grpc' }, 'batching not supported for model "m"'],
  [{ batchSize: 9, maxBatchSize: 8 }, "expecting batch size <= 8 for model 'm'"],
  [{ output: { shape: [-1] } }, 'variable-size dimension in model output not supported'],
  [{ output: { shape: [2, 2] } }, 'expecting model output to be a vector'],
  [{ input: { shape: [224, 224] } }, "expecting input to have 3 dimensions, model 'm' input has 2"],
  [{ maxBatchSize: 1 }, "expecting input to have 4 dimensions, model 'm' input has 3"],
  [{ format: FORMAT_NONE }, 'unexpected input format FORMAT_NONE, expecting FORMAT_NCHW or FORMAT_NHWC'],
  [
    { format: FORMAT_NONE, protocol: 'grpc' },
    'unexpected input format FORMAT_NONE, expecting FORMAT_NHWC or FORMAT_NCHW',
  ],
  [{ input: { datatype: 'FP16' } }, "unexpected input datatype 'FP16' for model \"m"],
];

for (const [facts, message] of refused) {
  test(`refuses: ${message}`, () => {
    assert.throws(() => check(facts), { message });
  });
}

test('what could not be fetched counts as empty', () => {
  const use = { model: 'm', batchSize: 1, protocol: 'http' } as const;
  assert.throws(() => imageModel(undefined, undefined, use), { message: 'expecting 1 input, got 0' });
});
