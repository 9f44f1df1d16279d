/** A call -> body of an infer request over HTTP, and the response's body -> result. */

import { invalidArg, TritonError } from '../../base/error.js';
import { elementCount, isDatatype } from '../../protocol/datatype.js';
import { BodyBuilder } from '../../protocol/infer/body-builder.js';
import { readCustomParameter } from '../../protocol/infer/http-parameters.js';
import { readBytesElements, readElements } from '../../protocol/infer/json-data.js';
import { jsonParameters } from '../../protocol/infer/write-parameters.js';
import type { JsonValue } from '../../protocol/json/json-value.js';
import { parseJson } from '../../protocol/json/parse-json.js';
import { jsonString } from '../../protocol/json/write-json.js';
import { jsonTensorData } from '../../protocol/json/write-tensor-data.js';
import { atOnce } from '../../protocol/steps.js';
import type { ParameterValue, Tensor } from '../../protocol/tensor.js';
import type { InferCall, InferInput, InferResult, SharedMemoryReference } from '../api/client.js';
import { customParameters, dataOf, sequenceIdOf } from './client-call.js';
import { DecodedInferResult } from './infer-result.js';

/** How tensors travel; both default to true. */
export interface HttpEncodeOptions {
  /** Inputs as blobs behind the JSON part. */
  readonly binaryInputs?: boolean;
  /** Asks for the outputs as blobs. */
  readonly binaryOutputs?: boolean;
}

/** A request body ready to be sent. */
export interface HttpInferRequest {
  readonly chunks: Uint8Array[];
  readonly byteLength: number;
  /** Value of `Inference-Header-Content-Length`; undefined: do not send the header. */
  readonly headerLength: number | undefined;
}

/** Encodes a call; large tensors are chunks of their own, never copied. */
export function encodeHttpInferRequest(call: InferCall, options: HttpEncodeOptions = {}): HttpInferRequest {
  const { binaryInputs = true, binaryOutputs = true } = options;
  const body = new BodyBuilder();
  body.text(call.id === undefined ? '{' : `{"id":${jsonString(call.id)},`);
  const parameters = requestParameters(call, binaryOutputs);
  if (parameters.length > 0) body.text(`"parameters":${jsonParameters(parameters)},`);
  body.text('"inputs":[');
  call.inputs.forEach((input, index) => {
    if (index > 0) body.text(',');
    writeInput(body, input, binaryInputs);
  });
  body.text(']');
  if (call.outputs !== undefined && call.outputs.length > 0) {
    body.text(`,"outputs":[${call.outputs.map((output) => requestedOutput(output, binaryOutputs)).join(',')}]`);
  }
  body.text('}');
  const { chunks, byteLength, headerLength } = body.finish();
  // Empty blobs leave nothing behind the JSON part: then its length is the body's, and the header may be left out.
  return { chunks, byteLength, headerLength };
}

/**
 * Decodes the body of a successful response. `headerLength`: value of `Inference-Header-Content-Length`, undefined when
 * absent. Binary tensors are views on the body.
 */
export function decodeHttpInferResponse(body: Uint8Array, headerLength: number | undefined): InferResult {
  if (headerLength !== undefined && !(headerLength >= 0 && headerLength <= body.length)) {
    throw malformed(`inference header size should be in range (0, ${body.length}), got: ${headerLength}`);
  }
  const jsonLength = headerLength ?? body.length;
  const root = parseResponse(body.subarray(0, jsonLength));
  let blob = jsonLength;
  const outputs: Tensor[] = [];
  for (const output of root.member('outputs')?.asArray() ?? []) {
    const size = output.member('parameters')?.member('binary_data_size')?.asUint();
    if (size !== undefined && size > body.length - blob) {
      throw malformed(`unexpected size for output, expecting ${size - (body.length - blob)} additional bytes`);
    }
    const data = size === undefined ? undefined : body.subarray(blob, blob + size);
    blob += size ?? 0;
    outputs.push(readOutput(output, data));
  }
  return new DecodedInferResult({
    modelName: root.member('model_name')?.asString() ?? '',
    modelVersion: root.member('model_version')?.asString() ?? '',
    id: root.member('id')?.asString() ?? '',
    parameters: readParameters(root.member('parameters')),
    outputs,
  });
}

function parseResponse(json: Uint8Array): JsonValue {
  try {
    return parseJson(json).asObject();
  } catch (error) {
    throw malformed((error as Error).message);
  }
}

function malformed(why: string): TritonError {
  return new TritonError('INTERNAL', `unable to parse the server's response: ${why}`);
}

function readParameters(parameters: JsonValue | undefined): [string, ParameterValue][] {
  if (parameters === undefined) return [];
  return parameters.members().map(([key, value]) => {
    const name = key.asString();
    return [name, readCustomParameter(name, value)];
  });
}

const EMPTY = new Uint8Array(0);

function readOutput(output: JsonValue, blob: Uint8Array | undefined): Tensor {
  const name = output.required('name').asString();
  const datatype = output.required('datatype').asString();
  if (!isDatatype(datatype)) throw malformed(`output '${name}' has unknown datatype '${datatype}'`);
  const shape = output.required('shape').asUints(Number.POSITIVE_INFINITY);
  if (blob !== undefined) return { name, datatype, shape, data: blob };
  const json = output.member('data');
  // Without data the output lies in shared memory.
  if (json === undefined) return { name, datatype, shape, data: EMPTY };
  if (!json.isArray) json.asArray();
  if (datatype === 'BYTES') return { name, datatype, shape, data: atOnce(readBytesElements(json)) };
  if (datatype === 'FP16' || datatype === 'BF16')
    throw malformed(`output '${name}' of datatype ${datatype} comes as JSON`);
  return { name, datatype, shape, data: atOnce(readElements(json, datatype, elementCount(shape))) };
}

function requestParameters(call: InferCall, binaryOutputs: boolean): [string, ParameterValue][] {
  const parameters: [string, ParameterValue][] = [];
  const sequenceId = sequenceIdOf(call);
  if (sequenceId !== undefined) {
    parameters.push(['sequence_id', sequenceId]);
    parameters.push(['sequence_start', call.sequenceStart ?? false], ['sequence_end', call.sequenceEnd ?? false]);
  }
  const priority = BigInt(call.priority ?? 0);
  if (priority !== 0n) parameters.push(['priority', priority]);
  if (call.timeoutMicroseconds !== undefined) parameters.push(['timeout', BigInt(call.timeoutMicroseconds)]);
  if (binaryOutputs && (call.outputs === undefined || call.outputs.length === 0)) {
    parameters.push(['binary_data_output', true]);
  }
  parameters.push(...customParameters(call));
  return parameters;
}

function writeInput(body: BodyBuilder, input: InferInput, binary: boolean): void {
  const { name, datatype, shape, sharedMemory } = input;
  body.text(`{"name":${jsonString(name)},"datatype":"${datatype}","shape":[${shape.join(',')}],`);
  if (sharedMemory !== undefined) {
    body.text(`"parameters":{${rangeMembers(sharedMemory)}}}`);
    return;
  }
  const data = dataOf(input);
  if (binary) {
    body.text(`"parameters":{"binary_data_size":${data.length}}}`);
    body.blob(data);
    return;
  }
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalidArg(`input '${name}' of datatype ${datatype} can only be sent as binary data`);
  }
  body.text('"data":');
  const json = jsonTensorData({ name, datatype, shape, data });
  if (typeof json === 'string') body.text(json);
  else body.bytes(json);
  body.text('}');
}

function requestedOutput(output: NonNullable<InferCall['outputs']>[number], binary: boolean): string {
  const { name, classification, sharedMemory } = output;
  const members: string[] = [];
  if (classification !== undefined && classification !== 0) members.push(`"classification":${classification}`);
  if (sharedMemory === undefined) members.push(`"binary_data":${binary}`);
  else members.push(rangeMembers(sharedMemory));
  return `{"name":${jsonString(name)},"parameters":{${members.join(',')}}}`;
}

function rangeMembers({ region, byteSize, offset }: SharedMemoryReference): string {
  const range = `"shared_memory_region":${jsonString(region)},"shared_memory_byte_size":${byteSize}`;
  return offset === undefined || offset === 0 ? range : `${range},"shared_memory_offset":${offset}`;
}
