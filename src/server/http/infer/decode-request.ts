/** Body of an infer request over HTTP -> request of the engine; the way back is encode-response.ts. */

import { invalidArg, type TritonError } from '../../../base/error.js';
import type { ReadyModel } from '../../../contract/engine.js';
import type { RequestInput } from '../../../contract/request.js';
import { readHttpSettings } from '../../../protocol/infer/http-parameters.js';
import { readJsonData } from '../../../protocol/infer/json-data.js';
import { inputExists, NO_SETTINGS, unknownRegion } from '../../../protocol/infer/parameters.js';
import { checkJsonSize } from '../../../protocol/infer/shape-limits.js';
import type { RegionLease } from '../../../protocol/infer/shared-memory.js';
import { UniqueNames } from '../../../protocol/infer/unique-names.js';
import { prefixed } from '../../../protocol/json/json-error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import { parseJsonSteps } from '../../../protocol/json/parse-json.js';
import { atOnce, type Steps } from '../../../protocol/steps.js';
import type { DecodeOptions } from '../../context/server-context.js';
import { BINARY_FORM, type DecodedInferRequest, JSON_FORM, NO_FORMS } from '../../infer/output-form.js';
import { checkTensorCount, MAX_RANK, rankRefused } from '../../infer/request-limits.js';
import { arrayMember, readHttpPlace, stringMember, uintMember } from './members.js';
import { readHttpOutputs } from './outputs.js';

/** Reads the header `Inference-Header-Content-Length` as C's `strtol` with its checks would. */
export function parseInferenceHeaderLength(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const digits = /^\s*([+-]?\d+)/.exec(text)?.[1];
  if (digits === undefined) throw invalidArg(`Unable to parse Inference-Header-Content-Length, got: ${text}`);
  const value = Number(digits);
  if (value < -2147483648 || value > 2147483647) {
    throw invalidArg(
      `Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: ${text}`,
    );
  }
  return value;
}

/**
 * Decodes the body of an infer request. `headerLength`: value of `Inference-Header-Content-Length`, undefined when absent.
 * Binary tensors are views on the body. Throws a TritonError with the message of Triton. What was decoded has to be released
 * (`sharedMemory`) after the last response.
 */
export function decodeHttpInferRequest(
  body: Uint8Array,
  headerLength: number | undefined,
  model: ReadyModel,
  options: DecodeOptions,
): DecodedInferRequest {
  return atOnce(decodeHttpInferRequestSteps(body, headerLength, model, options));
}

/** The same in steps: only large JSON takes more than one. */
export function* decodeHttpInferRequestSteps(
  body: Uint8Array,
  headerLength: number | undefined,
  model: ReadyModel,
  options: DecodeOptions,
): Steps<DecodedInferRequest> {
  const lease = options.sharedMemory?.lease();
  if (lease === undefined) return yield* decode(body, headerLength, model, options, undefined);
  let whole = false;
  try {
    const decoded = yield* decode(body, headerLength, model, options, lease);
    whole = true;
    return decoded;
  } finally {
    // Also when the steps are given up half-way.
    if (!whole) lease.release();
  }
}

// biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
function* decode(
  body: Uint8Array,
  headerLength: number | undefined,
  model: ReadyModel,
  options: DecodeOptions,
  lease: RegionLease | undefined,
): Steps<DecodedInferRequest> {
  if (headerLength !== undefined && (headerLength < 0 || headerLength > body.length)) {
    throw invalidArg(`inference header size should be in range (0, ${body.length}), got: ${headerLength}`);
  }
  const jsonLength = headerLength ?? body.length;
  if (jsonLength === 0) return rawRequest(body, options);
  checkJsonSize(jsonLength, options.maxInputSize);
  const root = yield* parseJsonSteps(jsonLength === body.length ? body : body.subarray(0, jsonLength));
  const id = readId(root.member('id'));
  const { settings, binaryDataOutput } = readHttpSettings(root.member('parameters'));
  const inputs = yield* readInputs(root, body, jsonLength, id, model, options, lease);
  const { names, forms } = readHttpOutputs(root.member('outputs'), lease);
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
  const defaultForm = binaryDataOutput ? BINARY_FORM : JSON_FORM;
  return lease === undefined ? { request, forms, defaultForm } : { request, forms, defaultForm, sharedMemory: lease };
}

function rawRequest(body: Uint8Array, { maxInputSize }: DecodeOptions): DecodedInferRequest {
  if (body.length > maxInputSize) {
    throw invalidArg(
      `Raw input has a byte_size (${body.length} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. Use --http-max-input-size to increase the limit.`,
    );
  }
  const request = { id: '', inputs: [], requestedOutputs: [], ...NO_SETTINGS, raw: body };
  return { request, forms: NO_FORMS, defaultForm: BINARY_FORM };
}

/** The id, cut at an embedded NUL. */
function readId(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  try {
    const id = value.asString();
    const nul = id.indexOf('\0');
    return nul < 0 ? id : id.slice(0, nul);
  } catch (error) {
    throw prefixed("Unable to parse 'id': ", error);
  }
}

// biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
function* readInputs(
  root: JsonValue,
  body: Uint8Array,
  jsonLength: number,
  id: string,
  model: ReadyModel,
  options: DecodeOptions,
  lease: RegionLease | undefined,
): Steps<RequestInput[]> {
  const inputs: RequestInput[] = [];
  const names = new UniqueNames();
  let blob = jsonLength;
  const listed = arrayMember(root, 'inputs');
  checkTensorCount('inputs', listed.length);
  for (const input of listed) {
    const source = readSource(input);
    const name = stringMember(input, 'name');
    const datatype = stringMember(input, 'datatype');
    const shape = readShape(input, name);
    if (!names.add(name)) throw inputExists(id, name);
    let data: Uint8Array;
    if (source.kind === 'json')
      data = yield* readJsonData(input, name, datatype, shape, source.data, options.maxInputSize);
    else if (source.kind === 'region') {
      const place = readHttpPlace(source.parameters)!;
      if (lease === undefined) throw unknownRegion(place.region);
      data = lease.read(place);
    } else {
      const end = blob + uintMember(source.parameters, 'binary_data_size');
      if (end > body.length) {
        throw invalidArg(
          `unexpected size for input '${name}', expecting ${end - body.length} additional bytes for model '${model.name}'`,
        );
      }
      data = body.subarray(blob, end);
      blob = end;
    }
    inputs.push({ name, datatype, shape, data });
  }
  if (blob !== body.length) throw invalidArg(`unexpected additional input data for model '${model.name}'`);
  return inputs;
}

/** Where the data of an input are. */
type Source =
  | { readonly kind: 'json'; readonly data: JsonValue }
  | { readonly kind: 'blob'; readonly parameters: JsonValue }
  | { readonly kind: 'region'; readonly parameters: JsonValue };

function readSource(input: JsonValue): Source {
  const data = input.member('data');
  const parameters = input.member('parameters');
  const blob = parameters?.member('binary_data_size') !== undefined;
  const region = parameters?.member('shared_memory_region') !== undefined;
  if (Number(data !== undefined) + Number(blob) + Number(region) !== 1)
    throw wrongSource(data !== undefined, blob, region);
  if (data !== undefined) return { kind: 'json', data };
  return { kind: blob ? 'blob' : 'region', parameters: parameters! };
}

function wrongSource(json: boolean, blob: boolean, region: boolean): Error {
  const set = [json && " 'data'", blob && " 'binary_data_size'", region && " 'shared_memory_region'"].filter(Boolean);
  return invalidArg(
    `Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But ${set.length === 0 ? 'no field is set' : `set${set.join('')}`}`,
  );
}

function readShape(input: JsonValue, name: string): number[] {
  try {
    const dims = input.required('shape');
    const shape = dims.asUints(MAX_RANK);
    if (shape.length > MAX_RANK) throw rankRefused(name);
    // Beyond int64 a dimension wraps to a negative one, which validation then refuses.
    if (shape.some((dim) => dim >= 2 ** 63)) {
      return dims.asArray().map((dim) => Number(BigInt.asIntN(64, dim.asUint64())));
    }
    return shape;
  } catch (error) {
    throw (error as TritonError).code === 'INTERNAL' ? prefixed("Unable to parse 'shape': ", error) : error;
  }
}
