/** Tensors from JavaScript values, and back. */

import { invalidArg } from '../base/error.js';
import { decodeBytes, encodeBytes } from './bytes.js';
import { DATATYPES, type Datatype, elementCount, isDatatype } from './datatype.js';
import { fromBf16, fromFp16, toBf16, toFp16 } from './half.js';
import type { Tensor } from './tensor.js';
import { bytesOf, typedView } from './typed-view.js';

/** One element: what `tensorValues` gives and `makeTensor` takes. */
export type TensorValue = number | bigint | boolean | string | Uint8Array;

/** What `makeTensor` takes for each datatype: plain values, or the typed array whose elements are those of the tensor. */
export interface DatatypeValues {
  /** Bytes 0 and 1 in a Uint8Array. */
  BOOL: readonly boolean[] | Uint8Array;
  UINT8: readonly number[] | Uint8Array | Uint8ClampedArray;
  UINT16: readonly number[] | Uint16Array;
  UINT32: readonly number[] | Uint32Array;
  UINT64: readonly (bigint | number)[] | BigUint64Array;
  INT8: readonly number[] | Int8Array;
  INT16: readonly number[] | Int16Array;
  INT32: readonly number[] | Int32Array;
  INT64: readonly (bigint | number)[] | BigInt64Array;
  /** Numbers are rounded to half precision; the elements of a Uint16Array are the 16 bits themselves. */
  FP16: readonly number[] | Uint16Array;
  FP32: readonly number[] | Float32Array;
  FP64: readonly number[] | Float64Array;
  /** Strings are encoded as UTF-8. */
  BYTES: readonly (string | Uint8Array)[];
  /** As FP16. */
  BF16: readonly number[] | Uint16Array;
}

/**
 * Values for a tensor whose datatype is D. Where the datatype is only known at run time, any list or typed array is taken,
 * and checked then.
 */
export type ValuesOf<D extends Datatype> = Datatype extends D
  ? readonly TensorValue[] | ArrayBufferView
  : DatatypeValues[D];

/** Names of the typed arrays whose elements are those of a tensor of the datatype. */
const ARRAYS: Readonly<Record<Datatype, readonly string[]>> = {
  BOOL: ['Uint8Array'],
  UINT8: ['Uint8Array', 'Uint8ClampedArray'],
  UINT16: ['Uint16Array'],
  UINT32: ['Uint32Array'],
  UINT64: ['BigUint64Array'],
  INT8: ['Int8Array'],
  INT16: ['Int16Array'],
  INT32: ['Int32Array'],
  INT64: ['BigInt64Array'],
  // Float16Array exists in newer runtimes only; its elements are the same 16 bits.
  FP16: ['Uint16Array', 'Float16Array'],
  FP32: ['Float32Array'],
  FP64: ['Float64Array'],
  BYTES: [],
  BF16: ['Uint16Array'],
};

/**
 * Makes a tensor from flat values in row-major order. `shape` defaults to the number of values. Numbers: bigint or number
 * for 64-bit integers, numbers for the rest; booleans for BOOL; strings (UTF-8) or bytes for BYTES. The typed array of the
 * datatype is taken without copying; any other one is refused, because its bytes would mean something else. Throws
 * INVALID_ARG when a value does not fit the datatype or the number of values the shape.
 */
export function makeTensor<D extends Datatype>(
  name: string,
  datatype: D,
  values: ValuesOf<D>,
  shape?: readonly number[],
): Tensor {
  if (typeof name !== 'string') throw invalidArg(`the name of a tensor is a string, got ${typeof name}`);
  if (!isDatatype(datatype)) {
    throw invalidArg(`tensor '${name}': '${datatype}' is not a datatype; there are ${DATATYPES.join(', ')}`);
  }
  const given: readonly TensorValue[] | ArrayBufferView = values;
  const data = ArrayBuffer.isView(given) ? bytesOfArray(name, datatype, given) : encodeValues(name, datatype, given);
  const count = (given as ArrayLike<unknown>).length;
  const dims = shape === undefined ? [count] : checkedShape(name, shape);
  if (elementCount(dims) !== count) {
    throw invalidArg(`tensor '${name}' of shape [${dims.join(',')}] needs ${elementCount(dims)} values, got ${count}`);
  }
  return { name, datatype, shape: dims, data };
}

/** The bytes of a typed array that holds elements of the datatype, without copying. */
function bytesOfArray(name: string, datatype: Datatype, array: ArrayBufferView): Uint8Array {
  const kind = array instanceof Uint8Array ? 'Uint8Array' : array.constructor.name;
  const allowed = ARRAYS[datatype];
  if (!allowed.includes(kind)) {
    const wanted = allowed.length === 0 ? 'a list of strings or Uint8Arrays' : `a list of values or a ${allowed[0]}`;
    throw invalidArg(
      `tensor '${name}' of datatype ${datatype} is made of ${wanted}, got a ${kind}; ` +
        'bytes that are in wire form already go into the `data` of a tensor',
    );
  }
  const bytes = bytesOf(array);
  if (datatype === 'BOOL') {
    const wrong = bytes.find((byte) => byte > 1);
    if (wrong !== undefined) throw invalidArg(`tensor '${name}' of datatype BOOL cannot hold the value ${wrong}`);
  }
  return bytes;
}

/** The shape of a tensor, if it is a list of dimensions. */
function checkedShape(name: string, shape: readonly number[]): readonly number[] {
  if (Array.isArray(shape) && shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) return shape;
  throw invalidArg(
    `tensor '${name}': a shape is a list of whole numbers that are not negative, got [${Array.isArray(shape) ? shape.map(String).join(',') : String(shape)}]`,
  );
}

/** The elements of a tensor: bigint for 64-bit integers, boolean for BOOL, bytes (views) for BYTES, else numbers. */
export function tensorValues(tensor: Pick<Tensor, 'datatype' | 'data'>): TensorValue[] {
  const { datatype, data } = tensor;
  switch (datatype) {
    case 'BYTES':
      return decodeBytes(data);
    case 'BOOL':
      return Array.from(data, (byte) => byte !== 0);
    case 'FP16':
      return Array.from(typedView(datatype, data), fromFp16);
    case 'BF16':
      return Array.from(typedView(datatype, data), fromBf16);
    default:
      return Array.from<TensorValue>(typedView(datatype, data) as ArrayLike<TensorValue>);
  }
}

/** The elements of a BYTES tensor as UTF-8 text. */
export function tensorStrings(tensor: Pick<Tensor, 'data'>): string[] {
  return decodeBytes(tensor.data).map((bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
  );
}

const INTEGER_RANGES: Partial<Record<Datatype, readonly [low: number, high: number]>> = {
  UINT8: [0, 0xff],
  UINT16: [0, 0xffff],
  UINT32: [0, 0xffff_ffff],
  INT8: [-0x80, 0x7f],
  INT16: [-0x8000, 0x7fff],
  INT32: [-0x8000_0000, 0x7fff_ffff],
};

const INTEGER64_RANGES = { UINT64: [0n, 2n ** 64n - 1n], INT64: [-(2n ** 63n), 2n ** 63n - 1n] } as const;

function encodeValues(name: string, datatype: Datatype, values: readonly TensorValue[]): Uint8Array {
  if (!Array.isArray(values)) {
    throw invalidArg(`the values of tensor '${name}' are a flat list or a typed array, got ${typeof values}`);
  }
  const wrong = (value: TensorValue): never => {
    throw invalidArg(`tensor '${name}' of datatype ${datatype} cannot hold the value ${describe(value)}`);
  };
  switch (datatype) {
    case 'BYTES':
      return encodeBytes(
        values.map((value) => (typeof value === 'string' || value instanceof Uint8Array ? value : wrong(value))),
      );
    case 'BOOL':
      return Uint8Array.from(values, (value) => (typeof value === 'boolean' ? Number(value) : wrong(value)));
    case 'UINT64':
    case 'INT64': {
      const [low, high] = INTEGER64_RANGES[datatype];
      const integer = (value: TensorValue): bigint => {
        if (typeof value === 'bigint' ? value < low || value > high : !Number.isSafeInteger(value)) wrong(value);
        const exact = BigInt(value as bigint | number);
        return exact < low ? wrong(value) : exact;
      };
      return bytesOf((datatype === 'INT64' ? BigInt64Array : BigUint64Array).from(values.map(integer)));
    }
    default:
      return encodeNumbers(datatype, values, wrong);
  }
}

function encodeNumbers(
  datatype: Exclude<Datatype, 'BYTES' | 'BOOL' | 'INT64' | 'UINT64'>,
  values: readonly TensorValue[],
  wrong: (value: TensorValue) => never,
): Uint8Array {
  const range = INTEGER_RANGES[datatype];
  const number = (value: TensorValue): number => {
    if (typeof value !== 'number') return wrong(value);
    if (range !== undefined && (!Number.isInteger(value) || value < range[0] || value > range[1])) return wrong(value);
    return value;
  };
  switch (datatype) {
    case 'UINT8':
      return Uint8Array.from(values, number);
    case 'UINT16':
      return bytesOf(Uint16Array.from(values, number));
    case 'UINT32':
      return bytesOf(Uint32Array.from(values, number));
    case 'INT8':
      return bytesOf(Int8Array.from(values, number));
    case 'INT16':
      return bytesOf(Int16Array.from(values, number));
    case 'INT32':
      return bytesOf(Int32Array.from(values, number));
    case 'FP16':
      return bytesOf(Uint16Array.from(values, (value) => toFp16(number(value))));
    case 'BF16':
      return bytesOf(Uint16Array.from(values, (value) => toBf16(number(value))));
    case 'FP32':
      return bytesOf(Float32Array.from(values, number));
    case 'FP64':
      return bytesOf(Float64Array.from(values, number));
  }
}

function describe(value: TensorValue): string {
  if (value instanceof Uint8Array) return `of ${value.length} bytes`;
  if (Array.isArray(value)) return 'of a nested list: values are flat, in row-major order';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
