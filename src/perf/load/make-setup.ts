import type { InferRequestedOutput } from '../../client/index.js';
import type { ParameterValue } from '../../protocol/tensor.js';
import { PerfError } from '../error/perf-error.js';
import type { InputData } from '../input/input-data.js';
import type { PerfModel, PerfTensor } from '../model/perf-model.js';
import { isSequenceModel } from '../model/perf-model.js';
import { clientOptionsOf, headersOf } from '../options/client-options.js';
import type { PerfOptions } from '../options/perf-options.js';
import type { LoadSetup, SequenceSettings } from './load-messages.js';
import { outputBytes } from './perf-regions.js';
import { outputRegion } from './region-names.js';

/** What the load threads have to know. Throws for data that cannot be batched. */
export function makeSetup(
  options: PerfOptions,
  model: PerfModel,
  data: InputData,
  warn: (line: string) => void,
): LoadSetup {
  checkBatches(options, model, data);
  return {
    client: clientOptionsOf(options),
    headers: headersOf(options),
    modelName: model.name,
    modelVersion: model.version,
    inputs: model.inputs.map(({ name, datatype, isShapeTensor }) => ({ name, datatype, isShapeTensor })),
    outputs: model.outputs.map((output) => requestedOutput(output, options)),
    parameters: parametersOf(options, warn),
    batching: model.maxBatchSize > 0,
    batchSize: Math.max(1, options.input.batchSize),
    data,
    sharedMemory: options.input.sharedMemory === 'system',
    async: options.load.async,
    streaming: options.load.streaming,
    sequences: isSequenceModel(model) ? sequenceSettings(options) : undefined,
    keepDetails: options.report.profileExportFile !== '',
  };
}

function requestedOutput(output: PerfTensor, options: PerfOptions): InferRequestedOutput {
  const { name } = output;
  if (options.input.sharedMemory === 'none') return { name };
  return { name, sharedMemory: { region: outputRegion(name), byteSize: outputBytes(output, options) } };
}

function sequenceSettings(options: PerfOptions): SequenceSettings {
  // Data of the user's own has a length: that of the stream, unless another one is asked for.
  const ofStream = options.input.inputPaths.length > 0 && !options.sequence.sequenceLengthGiven;
  return {
    length: ofStream
      ? undefined
      : { base: options.sequence.sequenceLength, variation: options.sequence.sequenceLengthVariation },
    startId: options.sequence.startSequenceId,
    idRange: options.sequence.sequenceIdRange,
    serial: options.sequence.serialSequences,
  };
}

function parametersOf(options: PerfOptions, warn: (line: string) => void): Record<string, ParameterValue> {
  if (options.connection.protocol !== 'grpc') return {};
  const parameters: Record<string, ParameterValue> = {};
  for (const { name, value, type } of options.input.requestParameters) {
    if (type === 'string') parameters[name] = value;
    else if (type === 'bool') parameters[name] = value.toLowerCase() === 'true';
    else if (type === 'int') parameters[name] = BigInt(Number.parseInt(value, 10) || 0);
    else warn(`WARNING: --request-parameter ${name} is left out: its type '${type}' is not string, int or bool.`);
  }
  return parameters;
}

/** Every batch must have the same inputs in the same shapes (infer_data_manager.cc of perf_analyzer). */
function checkBatches(options: PerfOptions, model: PerfModel, data: InputData): void {
  if (options.input.batchSize <= 1) return;
  for (const steps of data.streams) {
    steps.forEach((first, index) => {
      for (let i = 1; i < options.input.batchSize; i++) {
        const other = steps[(index + i) % steps.length] as typeof first;
        const names = (step: typeof first): string => step.inputs.map((input) => input.name).join('\0');
        if (names(first) !== names(other)) {
          refuse(
            'For batch sizes larger than 1, the same set of inputs must be specified for each batch. You cannot use different set of optional inputs for each individual batch.',
          );
        }
        first.inputs.forEach(({ name, shape, data: bytes }, k) => {
          const tensor = other.inputs[k] as (typeof first.inputs)[number];
          if (model.inputs.find((input) => input.name === name)?.isShapeTensor) {
            if (bytes.length !== tensor.data.length) {
              refuse('The shape tensors should be identical in a batch (mismatch in size)');
            }
            if (Buffer.compare(bytes, tensor.data) !== 0) {
              refuse('The shape tensors should be identical in a batch (mismatch in content)');
            }
          } else if (shape.join() !== tensor.shape.join()) {
            refuse(
              `can not batch tensors with different shapes together (input '${name}' expected shape [${shape}] and received [${tensor.shape}]`,
            );
          }
        });
      }
    });
  }
}

function refuse(message: string): never {
  throw new PerfError(`error: Unable to init infer data manager: ${message}`, { emptyLines: 2 });
}
