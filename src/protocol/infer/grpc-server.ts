/** ModelInferRequest -> request of the engine (spec: wire protocol, section 7.2); the way back is grpc-response.ts. */
import type { ReadyModel } from '../../engine/engine-api.js';
import type { RequestInput } from '../../engine/request.js';
import { isDatatype } from '../datatype.js';
import { invalidArg } from '../error.js';
import { dataOfContents } from '../proto/contents.js';
import type { InferRequestedOutputMessage, InferRequestMessage, ParameterMessage } from '../proto/infer-types.js';
import { readGrpcPlace } from './grpc-place.js';
import { readGrpcSettings } from './grpc-settings.js';
import { BINARY_FORM, type DecodedInferRequest, type DecodeOptions, NO_FORMS, type OutputForm } from './output-form.js';
import { inputExists, unknownRegion } from './parameters.js';
import { UniqueNames } from './unique-names.js';

export {
  encodeGrpcEmptyResponse,
  encodeGrpcInferResponse,
  encodeGrpcStreamError,
  encodeGrpcStreamResponse,
  type StreamErrorContext,
} from './grpc-response.js';
export { wantsEmptyFinalResponse } from './grpc-settings.js';

/** Decodes a request for a model. Throws a TritonError with the server's text. */
export function decodeGrpcInferRequest(
  message: InferRequestMessage,
  model: ReadyModel,
  options: Partial<DecodeOptions> = {},
): DecodedInferRequest {
  const { id } = message;
  const settings = readGrpcSettings(message.parameters);
  checkDuplicates(message);
  const inputs = readInputs(message, model, options);
  const { names, forms } = readOutputs(message.outputs, options);
  const request = {
    id,
    inputs,
    requestedOutputs: names,
    parameters: settings.parameters,
    correlationId: settings.correlationId,
    sequenceStart: settings.sequenceStart,
    sequenceEnd: settings.sequenceEnd,
    priority: settings.priority,
    timeoutMicroseconds: settings.timeoutMicroseconds,
  };
  return {
    request,
    forms,
    defaultForm: BINARY_FORM,
    ...(options.sharedMemory === undefined ? {} : { sharedMemory: options.sharedMemory }),
  };
}

function checkDuplicates({ id, inputs }: InferRequestMessage): void {
  const names = new UniqueNames();
  for (const { name } of inputs) if (!names.add(name)) throw inputExists(id, name);
}

function readInputs(message: InferRequestMessage, model: ReadyModel, options: Partial<DecodeOptions>): RequestInput[] {
  const { inputs, rawInputContents } = message;
  const result: RequestInput[] = [];
  let nextRaw = 0;
  for (const input of inputs) {
    const { name, datatype, shape, contents } = input;
    const place = readGrpcPlace(name, input.parameters);
    let data: Uint8Array | undefined;
    if (place !== undefined) {
      if (contents !== undefined) {
        throw invalidArg(
          `unexpected 'content' provided when using shared memory for input tensor '${name}' for model '${model.name}'`,
        );
      }
      if (options.sharedMemory === undefined) throw unknownRegion(place.region);
      data = options.sharedMemory.read(place.region, place.offset, place.byteSize);
    } else if (contents !== undefined) {
      if (rawInputContents.length > 0) {
        throw invalidArg(
          `contents field must not be specified when using raw_input_contents for '${name}' for model '${model.name}'`,
        );
      }
      data = readContents(name, datatype, contents, model);
    } else data = rawInputContents[nextRaw++];
    if (data === undefined) {
      throw invalidArg(`unable to find data for input tensor '${name}' for model '${model.name}' in request.`);
    }
    result.push({ name, datatype, shape, data });
  }
  return result;
}

function readContents(name: string, datatype: string, contents: Uint8Array, model: ReadyModel): Uint8Array {
  const about = `unexpected explicit tensor data for input tensor '${name}' for model '${model.name}'`;
  return dataOfContents(contents, datatype, {
    mismatch(fieldType) {
      const declared = isDatatype(datatype) ? datatype : '<invalid>';
      throw invalidArg(`${about} of type '${fieldType}', expected datatype '${declared}'`);
    },
    second() {
      throw invalidArg(`${about}, binary data was already supplied.`);
    },
  });
}

function readOutputs(
  outputs: readonly InferRequestedOutputMessage[],
  options: Partial<DecodeOptions>,
): { names: string[]; forms: ReadonlyMap<string, OutputForm> } {
  const names: string[] = [];
  const unique = new UniqueNames();
  let forms: Map<string, OutputForm> | undefined;
  for (const { name, parameters } of outputs) {
    // An output that is listed twice comes once, in the first form.
    const first = unique.add(name);
    if (first) names.push(name);
    // Without parameters an output has the default form.
    if (parameters.size === 0) continue;
    const classification = readClassification(parameters.get('classification'));
    const sharedMemory = readGrpcPlace(name, parameters);
    if (sharedMemory !== undefined) {
      if (classification > 0) throw invalidArg("output can't set both 'shared_memory_region' and 'classification'");
      if (options.sharedMemory === undefined) throw unknownRegion(sharedMemory.region);
      options.sharedMemory.check(sharedMemory.region, sharedMemory.offset, sharedMemory.byteSize);
    }
    if (!first) continue;
    forms ??= new Map();
    forms.set(name, { binary: true, classification, ...(sharedMemory === undefined ? {} : { sharedMemory }) });
  }
  return { names, forms: forms ?? NO_FORMS };
}

function readClassification(parameter: ParameterMessage | undefined): number {
  if (parameter === undefined) return 0;
  if (parameter.kind !== 'int64') {
    throw invalidArg("invalid value type for 'classification' parameter, expected int64_param");
  }
  if (parameter.value <= 0n) throw invalidArg("invalid value for 'classification' parameter, expected >= 0");
  return Number(parameter.value);
}
