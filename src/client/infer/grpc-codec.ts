/** A call -> ModelInferRequest, and ModelInferResponse -> result. */

import { TritonError } from '../../base/error.js';
import { type Datatype, isDatatype } from '../../protocol/datatype.js';
import { parameterMessage } from '../../protocol/infer/write-parameters.js';
import { dataOfContents } from '../../protocol/proto/infer/contents.js';
import {
  decodeModelInferResponse,
  decodeModelStreamInferResponse,
  encodeModelInferRequest,
  type InferRequestedOutputMessage,
  type InferResponseMessage,
  type InferTensorMessage,
  NO_PARAMETERS,
  type ParameterMap,
  type ParameterMessage,
} from '../../protocol/proto/infer/infer-codec.js';
import type { ParameterValue, Tensor } from '../../protocol/tensor.js';
import type { InferCall, InferResult, SharedMemoryReference, StreamEvent } from '../api/client.js';
import { customParameters, dataOf, sequenceIdOf } from './client-call.js';
import { DecodedInferResult } from './infer-result.js';

/** Encodes a call as the chunks of one ModelInferRequest; large tensors are chunks of their own, never copied. */
export function encodeGrpcInferRequest(call: InferCall, enableEmptyFinalResponse = false): Uint8Array[] {
  const inputs: InferTensorMessage[] = [];
  const rawInputContents: Uint8Array[] = [];
  for (const input of call.inputs) {
    const { name, datatype, shape, sharedMemory } = input;
    const parameters = sharedMemory === undefined ? NO_PARAMETERS : new Map(rangeParameters(sharedMemory));
    inputs.push({ name, datatype, shape, parameters, contents: undefined });
    if (sharedMemory === undefined) rawInputContents.push(dataOf(input));
  }
  return encodeModelInferRequest({
    modelName: call.modelName,
    modelVersion: call.modelVersion ?? '',
    id: call.id ?? '',
    parameters: requestParameters(call, enableEmptyFinalResponse),
    inputs,
    outputs: requestedOutputs(call),
    rawInputContents,
  });
}

/** Decodes a ModelInferResponse; tensors are views on `message`. */
export function decodeGrpcInferResponse(message: Uint8Array): InferResult {
  return resultOf(decodeModelInferResponse(message));
}

/** Decodes a ModelStreamInferResponse: a result, or an in-band error. */
export function decodeGrpcStreamResponse(message: Uint8Array): StreamEvent {
  const { errorMessage, inferResponse } = decodeModelStreamInferResponse(message);
  // Errors before execution carry no flag: nothing more comes for that request.
  const flag = inferResponse?.parameters.get('triton_final_response');
  const final = flag === undefined || flag.value === true;
  if (errorMessage !== '') return { error: errorMessage, id: inferResponse?.id ?? '', final };
  if (inferResponse === undefined) throw new TritonError('INTERNAL', 'Unable to parse response');
  return { result: resultOf(inferResponse), final };
}

function resultOf(message: InferResponseMessage): InferResult {
  const parameters: [string, ParameterValue][] = [];
  for (const [name, { value }] of message.parameters) if (value !== undefined) parameters.push([name, value]);
  const { modelName, modelVersion, id } = message;
  const outputs = message.outputs.map((_, i) => tensorOf(message, i));
  return new DecodedInferResult({ modelName, modelVersion, id, parameters, outputs });
}

function tensorOf(message: InferResponseMessage, index: number): Tensor {
  const { name, datatype, shape, contents } = message.outputs[index]!;
  if (!isDatatype(datatype)) {
    throw new TritonError(
      'INTERNAL',
      `output '${name}' of model '${message.modelName}' has unknown datatype '${datatype}'`,
    );
  }
  const raw = message.rawOutputContents[index];
  if (raw !== undefined) return { name, datatype, shape, data: raw };
  return { name, datatype, shape, data: contents === undefined ? EMPTY : readContents(name, datatype, contents) };
}

const EMPTY = new Uint8Array(0);

function readContents(name: string, datatype: Datatype, contents: Uint8Array): Uint8Array {
  const wrong = (what: string): never => {
    throw new TritonError('INTERNAL', `output '${name}' of datatype ${datatype} has ${what}`);
  };
  return dataOfContents(
    contents,
    datatype,
    {
      mismatch: (fieldType) => wrong(`contents of type ${fieldType}`),
      second: () => wrong('contents of two types'),
    },
    'response',
  );
}

function requestParameters(call: InferCall, enableEmptyFinalResponse: boolean): ParameterMap {
  const entries: [string, ParameterMessage][] = [];
  const sequenceId = sequenceIdOf(call);
  if (sequenceId !== undefined) {
    entries.push([
      'sequence_id',
      typeof sequenceId === 'string'
        ? { kind: 'string', value: sequenceId }
        : { kind: 'int64', value: BigInt.asIntN(64, sequenceId) },
    ]);
    entries.push(['sequence_start', { kind: 'bool', value: call.sequenceStart ?? false }]);
    entries.push(['sequence_end', { kind: 'bool', value: call.sequenceEnd ?? false }]);
  }
  const priority = BigInt(call.priority ?? 0);
  if (priority !== 0n) entries.push(['priority', { kind: 'uint64', value: priority }]);
  if (call.timeoutMicroseconds !== undefined) {
    entries.push(['timeout', { kind: 'int64', value: BigInt(call.timeoutMicroseconds) }]);
  }
  if (enableEmptyFinalResponse) entries.push(['triton_enable_empty_final_response', { kind: 'bool', value: true }]);
  for (const [name, value] of customParameters(call)) entries.push([name, parameterMessage(value)]);
  return entries.length === 0 ? NO_PARAMETERS : new Map(entries);
}

function requestedOutputs(call: InferCall): InferRequestedOutputMessage[] {
  if (call.outputs === undefined) return [];
  return call.outputs.map(({ name, classification, sharedMemory }) => {
    const entries: [string, ParameterMessage][] = sharedMemory === undefined ? [] : rangeParameters(sharedMemory);
    if (classification !== undefined && classification !== 0) {
      entries.push(['classification', { kind: 'int64', value: BigInt(classification) }]);
    }
    return { name, parameters: entries.length === 0 ? NO_PARAMETERS : new Map(entries) };
  });
}

function rangeParameters({ region, byteSize, offset }: SharedMemoryReference): [string, ParameterMessage][] {
  const entries: [string, ParameterMessage][] = [
    ['shared_memory_region', { kind: 'string', value: region }],
    ['shared_memory_byte_size', { kind: 'int64', value: BigInt(byteSize) }],
  ];
  if (offset !== undefined && offset !== 0) {
    entries.push(['shared_memory_offset', { kind: 'int64', value: BigInt(offset) }]);
  }
  return entries;
}
