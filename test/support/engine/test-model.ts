import type { ReadyModel } from '../../../src/contract/engine.js';
import { ModelConfig } from '../../../src/protocol/proto/model-config.js';
import { create } from '../../../src/protocol/proto/schema.js';
import type { TensorMetadata } from '../../../src/protocol/tensor.js';

/** A model as the codecs see it; it is never run. For tests of the codecs. */
export function testModel(options: {
  maxBatchSize?: number;
  inputs?: TensorMetadata[];
  outputs?: TensorMetadata[];
  labels?: string[];
}): ReadyModel {
  return {
    name: 'm',
    version: '1',
    config: create(ModelConfig),
    platform: 'identity',
    maxBatchSize: options.maxBatchSize ?? 0,
    decoupled: false,
    inputs: options.inputs ?? [],
    outputs: options.outputs ?? [],
    labels: () => options.labels,
    submit() {
      throw new Error('not a model to run');
    },
  };
}
