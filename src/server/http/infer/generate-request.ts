/** The generate extension: plain JSON objects for requests and responses (Triton: docs/protocol/extension_generate.md). */

import { compareBytes } from '../../../base/compare-bytes.js';
import { invalidArg } from '../../../base/error.js';
import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceRequest, InferenceResponse, RequestInput } from '../../../contract/request.js';
import { elementCount, elementSize } from '../../../protocol/datatype.js';
import { BodyBuilder } from '../../../protocol/infer/body-builder.js';
import { readCustomParameter } from '../../../protocol/infer/http-parameters.js';
import { readBytesElements, readElements } from '../../../protocol/infer/json-data.js';
import { inputExists, NO_SETTINGS } from '../../../protocol/infer/parameters.js';
import { checkJsonSize } from '../../../protocol/infer/shape-limits.js';
import { jsonParameter } from '../../../protocol/infer/write-parameters.js';
import { prefixed, withPrefix } from '../../../protocol/json/json-error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import { parseJsonSteps } from '../../../protocol/json/parse-json.js';
import { jsonString } from '../../../protocol/json/write-json.js';
import { jsonTensorData, writeTensorData } from '../../../protocol/json/write-tensor-data.js';
import { atOnce, type Steps } from '../../../protocol/steps.js';
import type { ParameterValue, Tensor, TensorMetadata } from '../../../protocol/tensor.js';
import type { DecodeOptions } from '../../context/server-context.js';

/** The keyword whose members are mapped like those of the body. */
const NESTED = 'parameters';

/** Decodes the body of a generate request: members named like inputs become tensors, all others parameters. */
export function decodeGenerateRequest(
  body: Uint8Array,
  model: ReadyModel,
  options: Pick<DecodeOptions, 'maxInputSize'>,
): InferenceRequest {
  return atOnce(decodeGenerateRequestSteps(body, model, options));
}

/** The same in steps: only large JSON takes more than one. */
export function* decodeGenerateRequestSteps(
  body: Uint8Array,
  model: ReadyModel,
  options: Pick<DecodeOptions, 'maxInputSize'>,
): Steps<InferenceRequest> {
  checkJsonSize(body.length, options.maxInputSize);
  const root = yield* parseJsonSteps(body);
  const mapping = new Mapping(model, readId(root), options.maxInputSize);
  yield* mapping.map(root, true);
  return {
    ...NO_SETTINGS,
    id: mapping.id,
    inputs: mapping.inputs,
    requestedOutputs: [],
    parameters: mapping.parameters,
  };
}

function readId(root: JsonValue): string {
  const id = root.member('id');
  return id === undefined ? '' : withPrefix("Unable to parse 'id': ", () => id.asString());
}

/** A request under construction. */
class Mapping {
  readonly id: string;
  readonly inputs: RequestInput[] = [];
  readonly parameters: (readonly [string, ParameterValue])[] = [];
  readonly #model: ReadyModel;
  readonly #maxInputSize: number;
  #consumed = 0;

  constructor(model: ReadyModel, id: string, maxInputSize: number) {
    this.#model = model;
    this.id = id;
    this.#maxInputSize = maxInputSize;
  }

  /** Maps the members of an object, in their order. */
  *map(object: JsonValue, outermost: boolean): Steps<void> {
    const first = new Map<string, JsonValue>();
    for (const [key, given] of object.members()) {
      const name = key.asString();
      // A repeated name is visited again, but a look-up finds the first value.
      const value = first.get(name) ?? given;
      first.set(name, value);
      const input = this.#model.inputs.find((metadata) => metadata.name === name);
      if (outermost && name === NESTED) yield* this.#mapNested(value, input);
      else if (input === undefined) this.parameters.push([name, readCustomParameter(name, value)]);
      else yield* this.#addInput(input, value);
    }
  }

  *#mapNested(value: JsonValue, input: TensorMetadata | undefined): Steps<void> {
    if (input !== undefined) {
      throw invalidArg(`Keyword '${NESTED}' for nested schema also given as input tensor name`);
    }
    withPrefix(`Expected JSON object for keyword: '${NESTED}': `, () => value.asObject());
    try {
      yield* this.map(value, false);
    } catch (error) {
      throw prefixed(`Converting keyword: '${NESTED}': `, error);
    }
  }

  *#addInput(input: TensorMetadata, value: JsonValue): Steps<void> {
    const { name, datatype } = input;
    const count = value.isArray ? value.length : 1;
    const data = yield* this.#readData(input, value, count);
    // Linear in what the model has: an input of no other name comes here.
    if (this.inputs.some((other) => other.name === name)) throw inputExists(this.id, name);
    this.inputs.push({ name, datatype, shape: data.length === 0 ? [] : inferShape(input, count), data });
  }

  *#readData({ name, datatype }: TensorMetadata, value: JsonValue, count: number): Steps<Uint8Array> {
    if (datatype === 'FP16' || datatype === 'BF16') {
      throw invalidArg(
        `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
      );
    }
    if (datatype === 'BYTES') {
      const data = yield* readBytesElements(value);
      this.#consume(name, data.length);
      return data;
    }
    this.#consume(name, count * elementSize(datatype));
    return count === 0 ? EMPTY : yield* readElements(value, datatype, count);
  }

  #consume(name: string, byteSize: number): void {
    if (this.#consumed + byteSize > this.#maxInputSize) {
      throw invalidArg(
        `request size of ${this.#consumed} bytes with input '${name}' of size ${byteSize} bytes exceeds the maximum allowed input size of ${this.#maxInputSize}. Use --http-max-input-size to increase the limit.`,
      );
    }
    this.#consumed += byteSize;
  }
}

const EMPTY = new Uint8Array(0);

/** The shape of `count` elements for an input: its last variable dimension takes what the fixed ones leave. */
function inferShape({ name, shape }: TensorMetadata, count: number): number[] {
  const wrong = (): never => {
    throw invalidArg(`The schema can not convert input '${name}' to tensor with proper shape`);
  };
  let rest = count;
  for (const dim of shape) {
    if (dim < 0) continue;
    if (rest % dim !== 0) wrong();
    rest /= dim;
  }
  const variable = shape.lastIndexOf(-1);
  if (variable < 0 && rest !== 1) wrong();
  return shape.map((dim, i) => (dim >= 0 ? dim : i === variable ? rest : 1));
}

/**
 * One JSON object for a response: keys ascending by their bytes. Bytes and not a string, because BYTES outputs need not be
 * UTF-8. Of several values for one key the first wins: model and id, then parameters, then outputs.
 */
export function encodeGenerateResponse(response: InferenceResponse): Uint8Array {
  const pieces = atOnce(encodeGenerateResponseSteps(response));
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

/** The same in steps, as pieces: only large outputs take more than one. */
export function* encodeGenerateResponseSteps(response: InferenceResponse): Steps<Uint8Array[]> {
  const members = new Map<string, string | Tensor>();
  const add = (name: string, value: string | Tensor): void => {
    if (!members.has(name)) members.set(name, value);
  };
  if (response.id !== '') add('id', jsonString(response.id));
  add('model_name', jsonString(response.modelName));
  add('model_version', jsonString(response.modelVersion));
  for (const [name, value] of response.parameters) add(name, jsonParameter(value));
  for (const output of response.outputs) add(output.name, output);
  const sorted = [...members].sort(([a], [b]) => compareBytes(a, b));
  const body = new BodyBuilder();
  for (const [index, [name, value]] of sorted.entries()) {
    body.text(`${index === 0 ? '{' : ','}${jsonString(name)}:`);
    if (typeof value === 'string') body.text(value);
    else yield* writeValue(value, body);
  }
  body.text('}');
  return body.finish().chunks;
}

/** A bare value for one element, else a flat array. */
function* writeValue(output: Tensor, body: BodyBuilder): Steps<void> {
  if (elementCount(output.shape) !== 1) {
    yield* writeTensorData(output, body);
    return;
  }
  const json = jsonTensorData(output);
  if (typeof json === 'string') body.text(json.slice(1, -1));
  else body.bytes(json.subarray(1, -1));
}
