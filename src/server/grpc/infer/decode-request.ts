/** ModelInferRequest -> request of the engine; the way back is encode-response.ts. */

import { invalidArg } from '../../../base/error.js';
import type { ReadyModel } from '../../../contract/engine.js';
import type { RequestInput } from '../../../contract/request.js';
import { isDatatype } from '../../../protocol/datatype.js';
import { inputExists, unknownRegion } from '../../../protocol/infer/parameters.js';
import type { RegionLease } from '../../../protocol/infer/shared-memory.js';
import { UniqueNames } from '../../../protocol/infer/unique-names.js';
import { dataOfContents } from '../../../protocol/proto/infer/contents.js';
import type {
  InferRequestedOutputMessage,
  InferRequestMessage,
  ParameterMessage,
} from '../../../protocol/proto/infer/infer-types.js';
import type { DecodeOptions } from '../../context/server-context.js';
import { BINARY_FORM, type DecodedInferRequest, NO_FORMS, type OutputForm } from '../../infer/output-form.js';
import { MAX_RANK, MAX_TENSORS, rankRefused } from '../../infer/request-limits.js';
import { readGrpcPlace } from './place.js';
import { readGrpcSettings } from './settings.js';

/**
 * Decodes a request for a model. Throws a TritonError with the message of Triton. What was decoded has to be released
 * (`sharedMemory`) after the last response.
 */
export function decodeGrpcInferRequest(
  message: InferRequestMessage,
  model: ReadyModel,
  options: Partial<DecodeOptions> = {},
): DecodedInferRequest {
  const lease = options.sharedMemory?.lease();
  if (lease === undefined) return decode(message, model, undefined);
  try {
    return decode(message, model, lease);
  } catch (reason) {
    lease.release();
    throw reason;
  }
}

function decode(message: InferRequestMessage, model: ReadyModel, lease: RegionLease | undefined): DecodedInferRequest {
  const { id } = message;
  checkCount('inputs', message.inputs.length);
  checkCount('outputs', message.outputs.length);
  // More than the inputs need are ignored, as by Triton; a flood of them is not.
  checkCount('raw_input_contents', message.rawInputContents.length);
  const settings = readGrpcSettings(message.parameters);
  checkDuplicates(message);
  const inputs = readInputs(message, model, lease);
  const { names, forms } = readOutputs(message.outputs, lease);
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
  const defaultForm = BINARY_FORM;
  return lease === undefined ? { request, forms, defaultForm } : { request, forms, defaultForm, sharedMemory: lease };
}

/** The decoder stops building after one too many, so how many there are is not known. */
function checkCount(what: 'inputs' | 'outputs' | 'raw_input_contents', count: number): void {
  if (count <= MAX_TENSORS) return;
  throw invalidArg(`the request has more than ${MAX_TENSORS} ${what}, which is the most that the server accepts`);
}

function checkDuplicates({ id, inputs }: InferRequestMessage): void {
  const names = new UniqueNames();
  for (const { name } of inputs) if (!names.add(name)) throw inputExists(id, name);
}

function readInputs(message: InferRequestMessage, model: ReadyModel, lease: RegionLease | undefined): RequestInput[] {
  const { inputs, rawInputContents } = message;
  const result: RequestInput[] = [];
  let nextRaw = 0;
  for (const input of inputs) {
    const { name, datatype, shape, contents } = input;
    if (shape.length > MAX_RANK) throw rankRefused(name);
    const place = readGrpcPlace(name, input.parameters);
    let data: Uint8Array | undefined;
    if (place !== undefined) {
      if (contents !== undefined) {
        throw invalidArg(
          `unexpected 'content' provided when using shared memory for input tensor '${name}' for model '${model.name}'`,
        );
      }
      if (lease === undefined) throw unknownRegion(place.region);
      data = lease.read(place);
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
  lease: RegionLease | undefined,
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
      if (lease === undefined) throw unknownRegion(sharedMemory.region);
      lease.reserve(sharedMemory);
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
