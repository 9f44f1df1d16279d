import type { ModelMetadata } from '../client/api/client.js';
import { InputFormat, type ModelConfig } from '../protocol/proto/model-config.js';
import type { TensorMetadata } from '../protocol/tensor.js';
import { ImageClientFailure } from './failure.js';
import { IMAGE_DATATYPES, type ImageDatatype, type ImageShape } from './preprocess.js';

/** What the client needs to know of a model. */
export interface ImageModel {
  readonly inputName: string;
  readonly outputName: string;
  /** 0 = the model does not batch: no batch dimension. */
  readonly maxBatchSize: number;
  readonly image: ImageShape;
}

/** What the checks want to know besides the model. */
export interface ImageModelUse {
  readonly model: string;
  readonly batchSize: number;
  /** Two messages differ by protocol, as those of Triton's image_client do. */
  readonly protocol: 'http' | 'grpc';
}

/**
 * Checks that a model takes one image and gives one vector of scores, in the order and with the messages of
 * Triton's image_client.cc. Metadata or a configuration that could not be fetched counts as empty.
 */
export function imageModel(
  metadata: ModelMetadata | undefined,
  config: ModelConfig | undefined,
  use: ImageModelUse,
): ImageModel {
  const { model, batchSize, protocol } = use;
  const inputs = metadata?.inputs ?? [];
  const outputs = metadata?.outputs ?? [];
  const [input] = inputs;
  const [output] = outputs;
  if (inputs.length !== 1 || input === undefined) fail(`expecting 1 input, got ${inputs.length}`);
  if (outputs.length !== 1 || output === undefined) fail(`expecting 1 output, got ${outputs.length}`);
  const configInput = config?.input[0];
  if (config?.input.length !== 1 || configInput === undefined) {
    fail(`expecting 1 input in model configuration, got ${config?.input.length ?? 0}`);
  }
  if (output.datatype !== 'FP32') {
    fail(`expecting output datatype to be FP32, model '${model}' output type is '${output.datatype}'`);
  }
  const maxBatchSize = config.max_batch_size;
  const quote = protocol === 'grpc' ? '"' : "'";
  if (maxBatchSize === 0 && batchSize !== 1) fail(`batching not supported for model ${quote}${model}${quote}`);
  if (maxBatchSize > 0 && batchSize > maxBatchSize) {
    fail(`expecting batch size <= ${maxBatchSize} for model '${model}'`);
  }
  checkIsVector(output, maxBatchSize > 0);
  return {
    inputName: input.name,
    outputName: output.name,
    maxBatchSize,
    image: imageShape(input, configInput.format, maxBatchSize > 0, use),
  };
}

function checkIsVector(output: TensorMetadata, batched: boolean): void {
  let long = 0;
  for (const dim of batched ? output.shape.slice(1) : output.shape) {
    if (dim === -1) fail('variable-size dimension in model output not supported');
    if (dim > 1 && ++long > 1) fail('expecting model output to be a vector');
  }
}

/** The layout is the configuration's, the sizes are the metadata's. */
function imageShape(input: TensorMetadata, format: number, batched: boolean, use: ImageModelUse): ImageShape {
  const rank = batched ? 4 : 3;
  if (input.shape.length !== rank) {
    fail(`expecting input to have ${rank} dimensions, model '${use.model}' input has ${input.shape.length}`);
  }
  const { FORMAT_NHWC, FORMAT_NCHW } = InputFormat.values;
  if (format !== FORMAT_NHWC && format !== FORMAT_NCHW) {
    const name = Object.entries(InputFormat.values).find(([, value]) => value === format)?.[0] ?? String(format);
    const expected = use.protocol === 'grpc' ? 'FORMAT_NHWC or FORMAT_NCHW' : 'FORMAT_NCHW or FORMAT_NHWC';
    fail(`unexpected input format ${name}, expecting ${expected}`);
  }
  if (!isImageDatatype(input.datatype)) {
    // The quote that is missing at the end is missing in image_client.cc too.
    fail(`unexpected input datatype '${input.datatype}' for model "${use.model}`);
  }
  const [a, b, c] = input.shape.slice(batched ? 1 : 0) as [number, number, number];
  const { datatype } = input;
  return format === FORMAT_NHWC
    ? { height: a, width: b, channels: c, layout: 'NHWC', datatype }
    : { channels: a, height: b, width: c, layout: 'NCHW', datatype };
}

function isImageDatatype(datatype: string): datatype is ImageDatatype {
  return (IMAGE_DATATYPES as readonly string[]).includes(datatype);
}

function fail(message: string): never {
  throw new ImageClientFailure(message);
}
