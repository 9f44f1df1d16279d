/** The generate extension: plain JSON objects for requests and responses (spec: wire protocol, sections 5.1 to 5.3). */
import type { ReadyModel } from '../../engine/engine-api.js';
import type { InferenceRequest, InferenceResponse, RequestInput } from '../../engine/request.js';
import { elementCount, elementSize } from '../datatype.js';
import { invalidArg } from '../error.js';
import { withPrefix } from '../json/json-error.js';
import { type JsonValue, parseJson } from '../json/json-value.js';
import { jsonString } from '../json/write-json.js';
import { jsonTensorData } from '../json/write-tensor-data.js';
import type { ParameterValue, Tensor, TensorMetadata } from '../tensor.js';
import { readCustomParameter } from './http-parameters.js';
import { jsonParameter } from './http-response.js';
import { readBytesElements, readElements } from './json-data.js';
import type { DecodeOptions } from './output-form.js';
import { inputExists, NO_SETTINGS } from './parameters.js';
import { checkJsonSize } from './shape-limits.js';

/** The keyword whose members are mapped like those of the body. */
const NESTED = 'parameters';

/** Decodes the body of a generate request: members named like inputs become tensors, all others parameters. */
export function decodeGenerateRequest(
  body: Uint8Array,
  model: ReadyModel,
  options: Pick<DecodeOptions, 'maxInputSize'>,
): InferenceRequest {
  checkJsonSize(body.length, options.maxInputSize);
  const root = parseJson(body);
  const mapping = new Mapping(model, readId(root), options.maxInputSize);
  mapping.map(root, true);
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
  map(object: JsonValue, outermost: boolean): void {
    const first = new Map<string, JsonValue>();
    for (const [key, given] of object.members()) {
      const name = key.asString();
      // A repeated name is visited again, but a look-up finds the first value.
      const value = first.get(name) ?? given;
      first.set(name, value);
      const input = this.#model.inputs.find((metadata) => metadata.name === name);
      if (outermost && name === NESTED) this.#mapNested(value, input);
      else if (input === undefined) this.parameters.push([name, readCustomParameter(name, value)]);
      else this.#addInput(input, value);
    }
  }

  #mapNested(value: JsonValue, input: TensorMetadata | undefined): void {
    if (input !== undefined) {
      throw invalidArg(`Keyword '${NESTED}' for nested schema also given as input tensor name`);
    }
    withPrefix(`Expected JSON object for keyword: '${NESTED}': `, () => value.asObject());
    withPrefix(`Converting keyword: '${NESTED}': `, () => this.map(value, false));
  }

  #addInput(input: TensorMetadata, value: JsonValue): void {
    const { name, datatype } = input;
    const count = value.isArray ? value.asArray().length : 1;
    const data = this.#readData(input, value, count);
    if (this.inputs.some((other) => other.name === name)) throw inputExists(this.id, name);
    this.inputs.push({ name, datatype, shape: data.length === 0 ? [] : inferShape(input, count), data });
  }

  #readData({ name, datatype }: TensorMetadata, value: JsonValue, count: number): Uint8Array {
    if (datatype === 'FP16' || datatype === 'BF16') {
      throw invalidArg(
        `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
      );
    }
    if (datatype === 'BYTES') {
      const data = readBytesElements(value);
      this.#consume(name, data.length);
      return data;
    }
    this.#consume(name, count * elementSize(datatype));
    return count === 0 ? EMPTY : readElements(value, datatype, count);
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
 * One JSON object for a response: keys ascending by their bytes. Bytes and not text, because BYTES outputs need not be
 * UTF-8. Of several values for one key the first wins: model and id, then parameters, then outputs.
 */
export function encodeGenerateResponse(response: InferenceResponse): Uint8Array {
  const members = new Map<string, string | Uint8Array>();
  const add = (name: string, value: string | Uint8Array): void => {
    if (!members.has(name)) members.set(name, value);
  };
  if (response.id !== '') add('id', jsonString(response.id));
  add('model_name', jsonString(response.modelName));
  add('model_version', jsonString(response.modelVersion));
  for (const [name, value] of response.parameters) add(name, jsonParameter(value));
  for (const output of response.outputs) add(output.name, tensorValue(output));
  const sorted = [...members].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const pieces: Uint8Array[] = [];
  sorted.forEach(([name, value], index) => {
    pieces.push(Buffer.from(`${index === 0 ? '{' : ','}${jsonString(name)}:`));
    pieces.push(typeof value === 'string' ? Buffer.from(value) : value);
  });
  pieces.push(Buffer.from('}'));
  return Buffer.concat(pieces);
}

/** A bare value for one element, else a flat array. */
function tensorValue(output: Tensor): string | Uint8Array {
  const json = jsonTensorData(output);
  if (elementCount(output.shape) !== 1) return json;
  return typeof json === 'string' ? json.slice(1, -1) : json.subarray(1, -1);
}
