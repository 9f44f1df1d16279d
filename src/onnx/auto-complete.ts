/** Completes a model's configuration from its .onnx file. */

import { invalidArg, TritonError } from '../base/error.js';
import type { Log } from '../base/log.js';
import {
  type ModelConfig,
  ModelDynamicBatching,
  ModelInput,
  ModelOutput,
  ModelTensorReshape,
} from '../protocol/proto/model-config.js';
import { create } from '../protocol/proto/schema.js';
import type { OnnxModel, OnnxValue } from './onnx-file.js';
import { configTypeOfElementType } from './onnx-types.js';

/** What steers the completion. */
export interface AutoCompleteOptions {
  /** max_batch_size of a model that batches and whose configuration names none (`default-max-batch-size`). */
  readonly defaultMaxBatchSize: number;
  readonly log: Log;
}

/**
 * True when the configuration lists inputs and outputs already: nothing is completed then and the model's file need not
 * be opened.
 */
export function isCompleteOnnxConfig(config: ModelConfig): boolean {
  return config.input.length + config.batch_input.length > 0 && config.output.length > 0;
}

/**
 * Returns a completed copy of `config`. Defaults of the normalisation (preferred batch size, instance groups, ...) are
 * not this function's. Throws UNSUPPORTED for inputs or outputs that are not tensors, INVALID_ARG when a configured
 * max_batch_size meets a model that cannot batch.
 */
export function autoCompleteOnnx(config: ModelConfig, model: OnnxModel, options: AutoCompleteOptions): ModelConfig {
  if (isCompleteOnnxConfig(config)) {
    options.log.info(
      `skipping model configuration auto-complete for '${config.name}': inputs and outputs already specified`,
    );
    return config;
  }
  const other = [...model.inputs, ...model.outputs].find((value) => value.kind !== 'TENSOR');
  if (other !== undefined) throw new TritonError('UNSUPPORTED', notATensor(other));
  const completed = { ...config };
  completeBatching(completed, model, options);
  const batching = completed.max_batch_size > 0;
  if (config.input.length + config.batch_input.length === 0) {
    completed.input = model.inputs.map((value) => ({ ...create(ModelInput), ...completeTensor(value, batching) }));
  }
  if (config.output.length === 0) {
    completed.output = model.outputs.map((value) => ({ ...create(ModelOutput), ...completeTensor(value, batching) }));
  }
  return completed;
}

/** True when every input and output has a first dimension that the model leaves open. */
export function supportsBatching(model: OnnxModel): boolean {
  return [...model.inputs, ...model.outputs].every((value) => value.dims.length > 0 && value.dims[0] === -1);
}

/** Triton's message for an input or output that cannot be served. */
export function notATensor(value: OnnxValue): string {
  return `Unsupported ONNX Type 'ONNX_TYPE_${value.kind}' for I/O '${value.name}', expected 'ONNX_TYPE_TENSOR'.`;
}

function completeBatching(config: ModelConfig, model: OnnxModel, options: AutoCompleteOptions): void {
  if (!supportsBatching(model)) {
    if (config.max_batch_size === 0) return;
    throw invalidArg(
      `autofill failed for model '${config.name}': model does not support batching while non-zero max_batch_size is specified`,
    );
  }
  if (config.max_batch_size === 0) {
    config.max_batch_size = Math.max(options.defaultMaxBatchSize, 0);
    options.log.warning(
      `autofilled max_batch_size to ${config.max_batch_size} for model '${config.name}' since batching is supporrted but no max_batch_size is specified in model configuration. Must specify max_batch_size to utilize autofill with a larger max batch size`,
    );
  }
  if (config.max_batch_size > 1 && !hasScheduler(config)) config.dynamic_batching = create(ModelDynamicBatching);
}

function hasScheduler(config: ModelConfig): boolean {
  return (
    config.dynamic_batching !== undefined ||
    config.sequence_batching !== undefined ||
    config.ensemble_scheduling !== undefined
  );
}

function completeTensor(
  value: OnnxValue,
  batching: boolean,
): Pick<ModelInput, 'name' | 'data_type' | 'dims' | 'reshape'> {
  const dims = (batching ? value.dims.slice(1) : value.dims).map(BigInt);
  const isEmpty = dims.length === 0;
  return {
    name: value.name,
    data_type: configTypeOfElementType(value.elementType),
    dims: isEmpty ? [1n] : dims,
    // A tensor of the batch dimension alone is offered as [1]; without batching Triton leaves a scalar as it is.
    reshape: isEmpty && batching ? create(ModelTensorReshape) : undefined,
  };
}
