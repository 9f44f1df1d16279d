/** Between JavaScript values and the bytes of tensors. */
import { type Datatype, elementCount, elementSize, formatShape } from '../protocol/datatype.js';
import { invalidArg } from '../protocol/error.js';
import type { Tensor } from '../protocol/tensor.js';
import type { InferInput } from './client.js';

/** Values of a tensor, by datatype: FP16 and BF16 as 16-bit patterns, BOOL as 0 and 1. */
export type TensorArray =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

type TensorArrayConstructor = {
  new (buffer: ArrayBuffer, byteOffset: number, length: number): TensorArray;
  from(values: Iterable<never>): TensorArray;
};

const ARRAYS = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
  BF16: Uint16Array,
} as const;

/**
 * An input from JavaScript values in row-major order: numbers, bigints (64-bit types), booleans, strings or byte arrays
 * (BYTES), or a typed array, which is used without a copy when its elements have the datatype's size. Throws
 * INVALID_ARG when the number of values does not fit the shape.
 */
export function inferInput(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  values: TensorArray | readonly (number | bigint | boolean | string | Uint8Array)[],
): InferInput {
  const count = elementCount(shape);
  if (values.length !== count) {
    throw invalidArg(
      `input '${name}' has shape ${formatShape(shape)}, which is ${count} values, but ${values.length} were given`,
    );
  }
  return { name, datatype, shape, data: encodeValues(name, datatype, values) };
}

function encodeValues(
  name: string,
  datatype: Datatype,
  values: TensorArray | readonly (number | bigint | boolean | string | Uint8Array)[],
): Uint8Array {
  if (datatype === 'BYTES') return encodeBytesElements(name, values as readonly unknown[]);
  if (ArrayBuffer.isView(values) && values.BYTES_PER_ELEMENT === elementSize(datatype)) return bytesOf(values);
  const wide = datatype === 'INT64' || datatype === 'UINT64';
  try {
    const from = Array.from(values as readonly (number | bigint | boolean)[], (v) => (wide ? BigInt(v) : Number(v)));
    const array = (ARRAYS[datatype] as unknown as TensorArrayConstructor).from(from as Iterable<never>);
    return bytesOf(array);
  } catch (cause) {
    throw invalidArg(`input '${name}' of datatype ${datatype} cannot hold these values: ${(cause as Error).message}`);
  }
}

function encodeBytesElements(name: string, values: readonly unknown[]): Uint8Array {
  const elements = Array.from(values, (value) => {
    if (typeof value === 'string') return Buffer.from(value, 'utf8');
    if (value instanceof Uint8Array) return value;
    throw invalidArg(`input '${name}' of datatype BYTES takes strings and byte arrays, not ${typeof value}`);
  });
  const data = Buffer.allocUnsafe(elements.reduce((sum, element) => sum + 4 + element.length, 0));
  let offset = 0;
  for (const element of elements) {
    offset = data.writeUInt32LE(element.length, offset);
    data.set(element, offset);
    offset += element.length;
  }
  return data;
}

/**
 * The values of a tensor that is not BYTES, in row-major order: a view on its data when that is aligned, else a copy.
 * Throws INVALID_ARG for BYTES (use `bytesElements`).
 */
export function tensorValues(tensor: Tensor): TensorArray {
  const { datatype, data } = tensor;
  if (datatype === 'BYTES') throw invalidArg(`'${tensor.name}' holds BYTES; read them with bytesElements`);
  const size = elementSize(datatype);
  const aligned = data.byteOffset % size === 0 ? data : new Uint8Array(data);
  const Constructor = ARRAYS[datatype] as unknown as TensorArrayConstructor;
  return new Constructor(aligned.buffer as ArrayBuffer, aligned.byteOffset, Math.floor(data.length / size));
}

/** The elements of a BYTES tensor, as views. Throws INVALID_ARG for other datatypes and for data that is cut short. */
export function bytesElements(tensor: Tensor): Buffer[] {
  if (tensor.datatype !== 'BYTES') throw invalidArg(`'${tensor.name}' holds ${tensor.datatype}, not BYTES`);
  const data = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  const elements: Buffer[] = [];
  for (let offset = 0; offset < data.length; ) {
    const start = offset + 4;
    const end = start <= data.length ? start + data.readUInt32LE(offset) : Number.POSITIVE_INFINITY;
    if (end > data.length) throw invalidArg(`the BYTES data of '${tensor.name}' is cut short at byte ${offset}`);
    elements.push(data.subarray(start, end));
    offset = end;
  }
  return elements;
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
