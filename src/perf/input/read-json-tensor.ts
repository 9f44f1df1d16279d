import type { Datatype } from '../../protocol/datatype.js';
import { elementCount, elementSize, formatShape } from '../../protocol/datatype.js';
import { inputDataError } from '../error/perf-error.js';
import type { PerfTensor } from '../model/perf-model.js';
import { encodeStrings, type StepTensor } from './input-data.js';
import type { JsonObject, JsonValue } from './json-document.js';
import { isArray, isObject, JsonNumber } from './json-document.js';

/** Reads one tensor of a batch of one. `location` ends the messages that name a position. */
export function readJsonTensor(value: JsonValue, tensor: PerfTensor, location: string): StepTensor {
  const given = isObject(value) ? value.get('shape') : undefined;
  const data = readContent(value, tensor, location);
  const shape = given === undefined ? tensor.shape : readShape(given);
  if (given !== undefined) checkShape(shape, tensor);
  else if (shape.some((dim) => dim < 0)) {
    throw inputDataError(
      `The variable-sized tensor "${tensor.name}" with model shape ${formatShape(shape)} needs to have its shape fully defined. See the --shape option.`,
    );
  }
  if (tensor.datatype !== 'BYTES') {
    const size = elementCount(shape) * elementSize(tensor.datatype);
    if (data.length !== size) {
      throw inputDataError(
        `mismatch in the data provided for ${tensor.name}. Expected: ${size} bytes, Got: ${data.length} bytes`,
      );
    }
  }
  return { name: tensor.name, shape, data };
}

function readContent(value: JsonValue, tensor: PerfTensor, location: string): Uint8Array {
  if (isArray(value)) return encode(value, tensor.datatype);
  if (!isObject(value)) throw inputDataError('Input data file is malformed.');
  if (value.has('b64')) return decodeBase64(value, location);
  const content = value.get('content');
  if (content === undefined) throw inputDataError(`missing content field.${location}`);
  if (isArray(content)) return encode(content, tensor.datatype);
  if (isObject(content) && content.has('b64')) return decodeBase64(content, location);
  throw inputDataError(`The tensor values are not supported. Expected an array or b64 string${location}`);
}

function decodeBase64(value: JsonObject, location: string): Uint8Array {
  const encoded = value.get('b64');
  if (typeof encoded !== 'string') {
    throw inputDataError(`the value of b64 field should be of type string${location}`);
  }
  // perf_analyzer decodes nothing at all when there is a foreign character; the size check then fails.
  return /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(encoded) ? Buffer.from(encoded, 'base64') : new Uint8Array(0);
}

function readShape(value: JsonValue): number[] {
  const fault = inputDataError('shape values must be integers.');
  if (!isArray(value)) throw fault;
  return value.map((dim) => {
    if (!(dim instanceof JsonNumber) || !dim.isInteger) throw fault;
    return Number(dim.integer);
  });
}

function checkShape(shape: readonly number[], tensor: PerfTensor): void {
  const fits =
    shape.length === tensor.shape.length && shape.every((dim, i) => tensor.shape[i] === dim || tensor.shape[i] === -1);
  if (!fits) {
    throw inputDataError(
      `The supplied shape of ${formatShape(shape)} for input "${tensor.name}" is incompatible with the model's input shape of ${formatShape(tensor.shape)}`,
    );
  }
}

type NumberWriter = (view: DataView, offset: number, value: JsonValue) => boolean;

/** How a datatype's elements are checked and written; `what` names the type in the error. */
const WRITERS: Readonly<Partial<Record<Datatype, { what: string; write: NumberWriter }>>> = {
  BOOL: {
    what: 'bool',
    write: (view, offset, value) => {
      if (typeof value !== 'boolean') return false;
      view.setUint8(offset, value ? 1 : 0);
      return true;
    },
  },
  UINT8: integers('uint8_t', 0n, 2n ** 32n - 1n, (view, offset, value) => view.setUint8(offset, Number(value))),
  UINT16: integers('uint16_t', 0n, 2n ** 32n - 1n, (view, offset, value) =>
    view.setUint16(offset, Number(value), true),
  ),
  UINT32: integers('uint32_t', 0n, 2n ** 32n - 1n, (view, offset, value) =>
    view.setUint32(offset, Number(value), true),
  ),
  UINT64: integers('uint64_t', 0n, 2n ** 64n - 1n, (view, offset, value) => view.setBigUint64(offset, value, true)),
  INT8: integers('int8_t', -(2n ** 31n), 2n ** 31n - 1n, (view, offset, value) => view.setInt8(offset, Number(value))),
  INT16: integers('int16_t', -(2n ** 31n), 2n ** 31n - 1n, (view, offset, value) =>
    view.setInt16(offset, Number(value), true),
  ),
  INT32: integers('int32_t', -(2n ** 31n), 2n ** 31n - 1n, (view, offset, value) =>
    view.setInt32(offset, Number(value), true),
  ),
  INT64: integers('int64_t', -(2n ** 63n), 2n ** 63n - 1n, (view, offset, value) =>
    view.setBigInt64(offset, value, true),
  ),
  FP32: reals('float', (view, offset, value) => view.setFloat32(offset, value, true)),
  FP64: reals('fp64', (view, offset, value) => view.setFloat64(offset, value, true)),
};

/** Integers must be written as such and fit the range in which perf_analyzer reads them; 8 and 16 bits then wrap. */
function integers(
  what: string,
  least: bigint,
  most: bigint,
  set: (view: DataView, offset: number, value: bigint) => void,
): { what: string; write: NumberWriter } {
  return {
    what,
    write: (view, offset, value) => {
      if (!(value instanceof JsonNumber) || !value.isInteger) return false;
      const integer = value.integer;
      if (integer < least || integer > most) return false;
      set(view, offset, integer);
      return true;
    },
  };
}

/** Reals must be written with a decimal point or an exponent. */
function reals(
  what: string,
  set: (view: DataView, offset: number, value: number) => void,
): { what: string; write: NumberWriter } {
  return {
    what,
    write: (view, offset, value) => {
      if (!(value instanceof JsonNumber) || value.isInteger) return false;
      set(view, offset, value.double);
      return true;
    },
  };
}

function encode(values: readonly JsonValue[], datatype: Datatype): Uint8Array {
  if (datatype === 'BYTES') {
    if (!values.every((value) => typeof value === 'string')) throw inputDataError('unable to find string data in json');
    return encodeStrings(values as readonly string[]);
  }
  const writer = WRITERS[datatype];
  if (writer === undefined) {
    throw inputDataError(`Can not use explicit tensor description for ${datatype.toLowerCase()} datatype`);
  }
  const size = elementSize(datatype);
  const bytes = new Uint8Array(values.length * size);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => {
    if (!writer.write(view, i * size, value)) throw inputDataError(`unable to find ${writer.what} data in json`);
  });
  return bytes;
}
