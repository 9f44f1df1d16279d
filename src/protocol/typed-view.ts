/** Typed array that holds the elements of each datatype; FP16 and BF16 as their 16 bits, BOOL as bytes. */
export interface TypedArrays {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BF16: Uint16Array;
}

/** A datatype whose elements all have the same size. */
export type FixedDatatype = keyof TypedArrays;

type Constructor<T> = { new (buffer: ArrayBufferLike, offset: number, length: number): T; BYTES_PER_ELEMENT: number };

const CONSTRUCTORS: { readonly [D in FixedDatatype]: Constructor<TypedArrays[D]> } = {
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
};

/**
 * The elements of a tensor's data as a typed array. A view where the data lie aligned; copied only when they do not.
 * Bytes beyond the last whole element are left out.
 */
export function typedView<D extends FixedDatatype>(datatype: D, data: Uint8Array): TypedArrays[D] {
  const type = CONSTRUCTORS[datatype];
  const size = type.BYTES_PER_ELEMENT;
  const length = Math.floor(data.length / size);
  if (data.byteOffset % size === 0) return new type(data.buffer, data.byteOffset, length);
  // `slice` of a Buffer would share its memory; this copies into a block of its own, which starts aligned.
  const copy = new Uint8Array(data);
  return new type(copy.buffer, 0, length);
}

/** The bytes of a typed array, without copying. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
