/** Tensors from JavaScript values, and back. */
import { decodeBytes, encodeBytes } from './bytes.js';
import { type Datatype, elementCount } from './datatype.js';
import { invalidArg } from './error.js';
import { fromBf16, fromFp16, toBf16, toFp16 } from './half.js';
import type { Tensor } from './tensor.js';
import { bytesOf, typedView } from './typed-view.js';

/** One element: what `tensorValues` gives and `makeTensor` takes. */
export type TensorValue = number | bigint | boolean | string | Uint8Array;

/** Values of a whole tensor, flat in row-major order; a typed array of the right type is taken without copying. */
export type TensorValues = readonly TensorValue[] | ArrayBufferView;

/**
 * Makes a tensor from flat values. `shape` defaults to the number of values. Numbers: bigint or number for 64-bit
 * integers, numbers for the rest; booleans for BOOL; strings (UTF-8) or bytes for BYTES. Throws INVALID_ARG when a value
 * does not fit the datatype or the number of values the shape.
 */
export function makeTensor(name: string, datatype: Datatype, values: TensorValues, shape?: readonly number[]): Tensor {
  const data = ArrayBuffer.isView(values) ? bytesOf(values) : encodeValues(name, datatype, values);
  const count = ArrayBuffer.isView(values) ? countOf(datatype, data) : values.length;
  const dims = shape ?? [count];
  if (elementCount(dims) !== count) {
    throw invalidArg(`tensor '${name}' of shape [${dims.join(',')}] needs ${elementCount(dims)} values, got ${count}`);
  }
  return { name, datatype, shape: dims, data };
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

function countOf(datatype: Datatype, data: Uint8Array): number {
  return datatype === 'BYTES' ? decodeBytes(data).length : typedView(datatype, data).length;
}

function describe(value: TensorValue): string {
  if (value instanceof Uint8Array) return `of ${value.length} bytes`;
  return typeof value === 'string' ? JSON.stringify(value) : `${value}`;
}
