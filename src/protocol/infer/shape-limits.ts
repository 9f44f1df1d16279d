import { invalidArg } from '../../base/error.js';
import { elementSize, formatShape } from '../datatype.js';
import type { JsonValue } from '../json/json-value.js';
import type { JsonDatatype } from '../json/read-tensor-data.js';

const INT64_MAX = 2n ** 63n - 1n;

/**
 * Number of elements of a JSON tensor's shape. `shape` are the dimensions as numbers, `object` has them as sent. Overflowing shapes
 * are refused with Triton's messages.
 */
export function checkedElementCount(input: string, shape: readonly number[], object: JsonValue): number {
  let count = shape.length === 0 ? 0 : 1;
  for (const dim of shape) count *= dim;
  if (Number.isSafeInteger(count) && shape.every((dim) => dim >= 0 && Number.isSafeInteger(dim))) return count;
  const exact = exactShape(object);
  if (exact.some((dim) => dim < 0n)) {
    throw invalidArg(
      `invalid shape for input '${input}': shape ${formatShape(exact)} contains one or more invalid dimensions`,
    );
  }
  const total = product(exact);
  if (total > INT64_MAX) {
    throw invalidArg(
      `invalid shape for input '${input}': shape ${formatShape(exact)} causes total element count to exceed maximum size of ${INT64_MAX}`,
    );
  }
  return Number(total);
}

/** Byte size of a JSON tensor; refused when it overflows or exceeds the limit. */
export function checkedByteSize(input: string, count: number, datatype: JsonDatatype, object: JsonValue): number {
  const size = elementSize(datatype);
  const byteSize = count * size;
  if (byteSize > Number(INT64_MAX)) {
    const exact = product(exactShape(object));
    if (exact * BigInt(size) > INT64_MAX) {
      throw invalidArg(
        `byte size overflow for input '${input}': element count (${exact}) * data type size (${size}) exceeds maximum allowed size (${INT64_MAX})`,
      );
    }
  }
  return byteSize;
}

/** The product of the dimensions, or a number beyond int64. Linear: a product that is too large is not multiplied on. */
function product(dims: readonly bigint[]): bigint {
  if (dims.includes(0n)) return 0n;
  let total = 1n;
  for (const dim of dims) {
    total *= dim;
    if (total > INT64_MAX) break;
  }
  return total;
}

/** The dimensions with all their digits; the rank is bounded when the shape is read. */
function exactShape(object: JsonValue): bigint[] {
  return object
    .required('shape')
    .asArray()
    .map((dim) => BigInt.asIntN(64, dim.asUint64()));
}

/** Refuses a JSON tensor beyond the limit. */
export function checkInputSize(input: string, byteSize: number, maxInputSize: number): void {
  if (byteSize <= maxInputSize) return;
  throw invalidArg(
    `JSON input '${input}' has a byte_size (${BigInt(byteSize)} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. Use --http-max-input-size to increase the limit.`,
  );
}

/** Refuses a JSON part beyond the limit. */
export function checkJsonSize(byteSize: number, maxInputSize: number): void {
  if (byteSize <= maxInputSize) return;
  throw invalidArg(
    `request JSON size of ${byteSize} bytes exceeds the maximum allowed input size of ${maxInputSize} bytes. Use --http-max-input-size to increase the limit.`,
  );
}
