/** The elements of a tensor as a flat JSON array (spec: wire protocol, section 3.5). */
import { decodeBytes, LENGTH_BYTES, lengthWordAt } from '../bytes.js';
import { elementCount, elementSize } from '../datatype.js';
import { invalidArg, TritonError } from '../error.js';
import type { Tensor } from '../tensor.js';
import { type TypedArrays, typedView } from '../typed-view.js';
import { jsonDouble, jsonStringBytesLength, writeJsonStringBytes } from './write-json.js';

/** Elements per piece of text: long enough to be cheap, short enough not to build one huge string. */
const PIECE = 8192;

/** The array as text (numbers and booleans) or as bytes (BYTES, whose content need not be text). */
export function jsonTensorData(tensor: Tensor): string | Uint8Array {
  const { name, datatype, shape, data } = tensor;
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalidArg(
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
    );
  }
  const count = elementCount(shape);
  if (datatype === 'BYTES') return bytesArray(name, data, count);
  if (data.length !== count * elementSize(datatype)) {
    throw new TritonError(
      'INTERNAL',
      `Failed to write 'data' field: output tensor shape does not match size of output for '${name}'`,
    );
  }
  const values = typedView(datatype, data);
  switch (datatype) {
    case 'BOOL':
      return join(values, (value) => (value === 0 ? 'false' : 'true'));
    case 'FP32':
    case 'FP64':
      return join(values, (value) => jsonDouble(value as number));
    default:
      return `[${(values as TypedArrays['INT32']).join(',')}]`;
  }
}

function join(values: ArrayLike<number | bigint>, toText: (value: number | bigint) => string): string {
  const pieces: string[] = [];
  for (let start = 0; start < values.length; start += PIECE) {
    const end = Math.min(start + PIECE, values.length);
    let text = start === 0 ? '' : ',';
    for (let i = start; i < end; i++) text += i === start ? toText(values[i]!) : `,${toText(values[i]!)}`;
    pieces.push(text);
  }
  return `[${pieces.join('')}]`;
}

function bytesArray(name: string, data: Uint8Array, count: number): Uint8Array {
  if (!hasElements(data, count)) {
    throw new TritonError('INTERNAL', `output tensor shape does not match size of output for '${name}'`);
  }
  const elements = decodeBytes(data);
  let size = 2 + Math.max(0, elements.length - 1);
  for (const element of elements) size += jsonStringBytesLength(element);
  const text = Buffer.allocUnsafe(size);
  let out = 0;
  text[out++] = 0x5b;
  for (let i = 0; i < elements.length; i++) {
    if (i > 0) text[out++] = 0x2c;
    out = writeJsonStringBytes(text, out, elements[i]!);
  }
  text[out++] = 0x5d;
  return text;
}

/** True when the data are exactly that many whole elements. */
function hasElements(data: Uint8Array, count: number): boolean {
  let pos = 0;
  let found = 0;
  for (; pos + LENGTH_BYTES <= data.length; found++) pos += LENGTH_BYTES + lengthWordAt(data, pos);
  return pos === data.length && found === count;
}
