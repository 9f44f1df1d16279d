/** Response of the engine -> ModelInferResponse, and the messages of a stream around it. */
import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceResponse } from '../../../contract/request.js';
import { parameterMessage } from '../../../protocol/infer/write-parameters.js';
import {
  encodeModelInferResponse,
  encodeModelStreamInferResponse,
} from '../../../protocol/proto/infer/infer-encode.js';
import {
  type InferTensorMessage,
  NO_PARAMETERS,
  type ParameterMap,
  type ParameterMessage,
} from '../../../protocol/proto/infer/infer-types.js';
import type { Parameters } from '../../../protocol/tensor.js';
import { cutText } from '../../../transport/cut-text.js';
import { toOutputForm } from '../../infer/encode-output.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';

/** Name of the response parameter that a stream adds. */
const FINAL_RESPONSE = 'triton_final_response';

/**
 * Encodes a response as the chunks of one ModelInferResponse. `final` is given on streams only and adds the parameter
 * `triton_final_response`. Throws what asking for a form may raise (classification of a wrong type, ...).
 */
export function encodeGrpcInferResponse(
  response: InferenceResponse,
  decoded: DecodedInferRequest,
  model: ReadyModel,
  final?: boolean,
): Uint8Array[] {
  const outputs: InferTensorMessage[] = [];
  const rawOutputContents: Uint8Array[] = [];
  for (const output of response.outputs) {
    const { tensor, data } = toOutputForm(output, decoded, model);
    const { name, datatype, shape } = tensor;
    outputs.push({ name, datatype, shape, parameters: NO_PARAMETERS, contents: undefined });
    rawOutputContents.push(data ?? EMPTY);
  }
  return encodeModelInferResponse({
    modelName: response.modelName,
    modelVersion: response.modelVersion,
    id: response.id,
    parameters: responseParameters(response.parameters, final),
    outputs,
    rawOutputContents,
  });
}

/** What a stream's message about an error carries besides the error. */
export interface StreamErrorContext {
  readonly id: string;
  /** The three below are given when the model was asked: name and version as in the request. */
  readonly modelName?: string;
  readonly modelVersion?: string;
  readonly final?: boolean;
}

/** A stream's message about a request that failed. */
export function encodeGrpcStreamError(text: string, context: StreamErrorContext): Uint8Array[] {
  return encodeModelStreamInferResponse(cutText(text), encodeGrpcEmptyResponse(context));
}

/** A response without outputs: the empty one with the final flag, and the one beside an error. */
export function encodeGrpcEmptyResponse(context: StreamErrorContext): Uint8Array[] {
  return encodeModelInferResponse({
    modelName: context.modelName ?? '',
    modelVersion: context.modelVersion ?? '',
    id: context.id,
    parameters: responseParameters([], context.final),
    outputs: [],
    rawOutputContents: [],
  });
}

/** A stream's message around an encoded response. */
export function encodeGrpcStreamResponse(response: readonly Uint8Array[]): Uint8Array[] {
  return encodeModelStreamInferResponse('', response);
}

const EMPTY = new Uint8Array(0);

function responseParameters(parameters: Parameters, final: boolean | undefined): ParameterMap {
  if (parameters.length === 0 && final === undefined) return NO_PARAMETERS;
  const map = new Map<string, ParameterMessage>();
  for (const [name, value] of parameters) map.set(name, parameterMessage(value));
  if (final !== undefined) map.set(FINAL_RESPONSE, { kind: 'bool', value: final });
  return map;
}
