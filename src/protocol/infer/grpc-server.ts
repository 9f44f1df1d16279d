/** ModelInferRequest -> request of the engine, and its response -> ModelInferResponse (spec: wire protocol, section 7). */
import type { ReadyModel } from '../../engine/engine-api.js';
import type { InferenceResponse, RequestInput } from '../../engine/request.js';
import { isDatatype } from '../datatype.js';
import { invalidArg } from '../error.js';
import { dataOfContents } from '../proto/contents.js';
import {
  encodeModelInferResponse,
  encodeModelStreamInferResponse,
  type InferRequestedOutputMessage,
  type InferRequestMessage,
  type InferTensorMessage,
  NO_PARAMETERS,
  type ParameterMap,
  type ParameterMessage,
} from '../proto/infer-codec.js';
import type { Parameters, ParameterValue } from '../tensor.js';
import { toOutputForm } from './encode-output.js';
import { parameterMessage } from './grpc-parameter.js';
import {
  BINARY_FORM,
  type DecodedInferRequest,
  type DecodeOptions,
  NO_FORMS,
  type OutputForm,
  type SharedMemoryPlace,
} from './output-form.js';
import { checkCorrelationId, inputExists, NO_SETTINGS, type RequestSettings, unknownRegion } from './parameters.js';

/** Name of the request parameter that asks a stream for the empty response with the final flag. */
const EMPTY_FINAL_RESPONSE = 'triton_enable_empty_final_response';

/** Name of the response parameter that a stream adds. */
const FINAL_RESPONSE = 'triton_final_response';

/** Decodes a request for a model. Throws a TritonError with the server's text. */
export function decodeGrpcInferRequest(
  message: InferRequestMessage,
  model: ReadyModel,
  options: Partial<DecodeOptions> = {},
): DecodedInferRequest {
  const { id } = message;
  const settings = readSettings(message.parameters);
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

/** True when a request of a stream asks for the empty response with the final flag. */
export function wantsEmptyFinalResponse(message: InferRequestMessage): boolean {
  return message.parameters.get(EMPTY_FINAL_RESPONSE)?.value === true;
}

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

/** What a stream's message about an error carries besides the text. */
export interface StreamErrorContext {
  readonly id: string;
  /** The three below are given when the model was asked: name and version as in the request. */
  readonly modelName?: string;
  readonly modelVersion?: string;
  readonly final?: boolean;
}

/** A stream's message about a request that failed. */
export function encodeGrpcStreamError(text: string, context: StreamErrorContext): Uint8Array[] {
  return encodeModelStreamInferResponse(text, encodeGrpcEmptyResponse(context));
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

function readSettings(parameters: ParameterMap): Readonly<RequestSettings> {
  if (parameters.size === 0) return NO_SETTINGS;
  const custom: (readonly [string, ParameterValue])[] = [];
  const settings: RequestSettings = { ...NO_SETTINGS, parameters: custom };
  for (const [name, parameter] of parameters) {
    switch (name) {
      case 'sequence_id':
        if (parameter.kind === 'int64') settings.correlationId = BigInt.asUintN(64, parameter.value);
        else if (parameter.kind === 'string') settings.correlationId = checkCorrelationId(parameter.value);
        else wrongKind(name, 'int64_param or string_param');
        break;
      case 'sequence_start':
        settings.sequenceStart = parameter.kind === 'bool' ? parameter.value : wrongKind(name, 'bool_param');
        break;
      case 'sequence_end':
        settings.sequenceEnd = parameter.kind === 'bool' ? parameter.value : wrongKind(name, 'bool_param');
        break;
      case 'priority':
        settings.priority = readPriority(parameter);
        break;
      case 'timeout':
        // The server keeps it unsigned: a negative one is far beyond every default and thus without effect.
        settings.timeoutMicroseconds =
          parameter.kind === 'int64' ? BigInt.asUintN(64, parameter.value) : wrongKind(name, 'int64_param');
        break;
      case EMPTY_FINAL_RESPONSE:
        if (parameter.kind !== 'bool') wrongKind(name, 'bool_param');
        break;
      default:
        custom.push([name, readCustom(name, parameter)]);
    }
  }
  return settings;
}

function wrongKind(name: string, expected: string): never {
  throw invalidArg(`invalid value type for '${name}' parameter, expected ${expected}.`);
}

function readPriority(parameter: ParameterMessage): bigint {
  if (parameter.kind === 'uint64') return parameter.value;
  if (parameter.kind !== 'int64') return wrongKind('priority', 'int64_param or uint64_param');
  if (parameter.value < 0n) throw invalidArg("invalid value for 'priority', expected value >= 0.");
  return parameter.value;
}

function readCustom(name: string, parameter: ParameterMessage): ParameterValue {
  if (name.startsWith('triton_')) {
    throw invalidArg(
      `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${EMPTY_FINAL_RESPONSE}`,
    );
  }
  if (parameter.kind === 'uint64' || parameter.kind === 'none') {
    return wrongKind(name, 'int64_param, bool_param, or string_param');
  }
  return parameter.value;
}

function checkDuplicates({ id, inputs }: InferRequestMessage): void {
  for (let i = 1; i < inputs.length; i++) {
    const { name } = inputs[i]!;
    for (let j = 0; j < i; j++) if (inputs[j]!.name === name) throw inputExists(id, name);
  }
}

function readInputs(message: InferRequestMessage, model: ReadyModel, options: Partial<DecodeOptions>): RequestInput[] {
  const { inputs, rawInputContents } = message;
  const result: RequestInput[] = [];
  let nextRaw = 0;
  for (const input of inputs) {
    const { name, datatype, shape, contents } = input;
    const place = readPlace(name, input.parameters);
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

/** The shared memory place that the parameters of a tensor name; undefined when they name none. */
function readPlace(tensor: string, parameters: ParameterMap): SharedMemoryPlace | undefined {
  if (parameters.size === 0) return undefined;
  const region = parameters.get('shared_memory_region');
  if (region !== undefined && region.kind !== 'string') {
    throw wrongShared('shared_memory_region', tensor, 'string_param');
  }
  const offset = sharedInteger('shared_memory_offset', tensor, parameters, region !== undefined);
  const byteSize = sharedInteger('shared_memory_byte_size', tensor, parameters, region !== undefined);
  if (region === undefined) return undefined;
  if (byteSize === undefined) {
    throw invalidArg(
      `'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensor}'`,
    );
  }
  return { region: region.value, offset: offset ?? 0, byteSize };
}

function wrongShared(name: string, tensor: string, expected: string): never {
  throw invalidArg(`invalid value type for '${name}' parameter for tensor '${tensor}', expected ${expected}.`);
}

function sharedInteger(name: string, tensor: string, parameters: ParameterMap, region: boolean): number | undefined {
  const parameter = parameters.get(name);
  if (parameter === undefined) return undefined;
  if (!region) {
    throw invalidArg(`'${name}' can not be specified without 'shared_memory_region' parameter for tensor '${tensor}'`);
  }
  if (parameter.kind !== 'int64') return wrongShared(name, tensor, 'int64_param');
  return Number(BigInt.asUintN(64, parameter.value));
}

function readOutputs(
  outputs: readonly InferRequestedOutputMessage[],
  options: Partial<DecodeOptions>,
): { names: string[]; forms: ReadonlyMap<string, OutputForm> } {
  const names: string[] = [];
  let forms: Map<string, OutputForm> | undefined;
  for (const { name, parameters } of outputs) {
    // An output that is listed twice comes once, in the first form.
    const first = !names.includes(name);
    if (first) names.push(name);
    // Without parameters an output has the default form.
    if (parameters.size === 0) continue;
    const classification = readClassification(parameters.get('classification'));
    const sharedMemory = readPlace(name, parameters);
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
