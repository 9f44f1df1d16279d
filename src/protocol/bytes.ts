/** The wire form of BYTES tensors: each element is a 4-byte little-endian length and that many bytes. */
import { TritonError } from '../base/error.js';

/** Length word in front of every element. */
export const LENGTH_BYTES = 4;

/** Wire form of elements; strings are taken as UTF-8. */
export function encodeBytes(elements: readonly (string | Uint8Array)[]): Uint8Array {
  let size = 0;
  for (const element of elements) {
    size += LENGTH_BYTES + (typeof element === 'string' ? Buffer.byteLength(element) : element.length);
  }
  const data = Buffer.allocUnsafe(size);
  let pos = 0;
  for (const element of elements) {
    const start = pos + LENGTH_BYTES;
    if (typeof element === 'string') pos = start + data.write(element, start, 'utf8');
    else {
      data.set(element, start);
      pos = start + element.length;
    }
    data.writeUInt32LE(pos - start, start - LENGTH_BYTES);
  }
  return data;
}

/** The elements of a wire form, as views. A cut length word or element throws INVALID_ARG. */
export function decodeBytes(data: Uint8Array): Uint8Array[] {
  const elements: Uint8Array[] = [];
  let pos = 0;
  while (pos < data.length) {
    const start = pos + LENGTH_BYTES;
    const end = start <= data.length ? start + lengthWordAt(data, pos) : Number.POSITIVE_INFINITY;
    if (end > data.length) {
      throw new TritonError(
        'INVALID_ARG',
        start > data.length
          ? `incomplete string length indicator in element ${elements.length}: expecting ${LENGTH_BYTES} bytes but only ${data.length - pos} bytes available`
          : `incomplete string data in element ${elements.length}: expecting string of length ${end - start} but only ${data.length - start} bytes available`,
      );
    }
    elements.push(data.subarray(start, end));
    pos = end;
  }
  return elements;
}

/** The length word at a position; the four bytes must be there. */
export function lengthWordAt(data: Uint8Array, pos: number): number {
  return (data[pos]! | (data[pos + 1]! << 8) | (data[pos + 2]! << 16) | (data[pos + 3]! << 24)) >>> 0;
}
