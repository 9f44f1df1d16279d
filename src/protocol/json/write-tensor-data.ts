/** The elements of a tensor as a flat JSON array. */

import { invalidArg, TritonError } from '../../base/error.js';
import { LENGTH_BYTES, lengthWordAt } from '../bytes.js';
import { type Datatype, elementCount, elementSize } from '../datatype.js';
import { atOnce, type Steps } from '../steps.js';
import type { Tensor } from '../tensor.js';
import { type TypedArrays, typedView } from '../typed-view.js';
import { jsonDouble, jsonStringBytesLength, writeJsonStringBytes } from './write-json.js';

/** Elements per step: long enough to be cheap, short enough to take about a millisecond. */
const STEP_ELEMENTS = 4096;

/** Bytes of BYTES elements per step. */
const STEP_BYTES = 64 * 1024;

/** Takes the pieces of an array in turn: text, or bytes that need not be UTF-8. */
export interface JsonSink {
  text(text: string): void;
  bytes(bytes: Uint8Array): void;
}

/** Writes the array: numbers and booleans as text, BYTES (whose content need not be UTF-8) as bytes. */
export function* writeTensorData(tensor: Tensor, sink: JsonSink): Steps<void> {
  const { name, datatype, shape, data } = tensor;
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalidArg(
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
    );
  }
  const count = elementCount(shape);
  if (datatype === 'BYTES') {
    yield* writeBytesArray(name, data, count, sink);
    return;
  }
  if (data.length !== count * elementSize(datatype)) {
    throw new TritonError(
      'INTERNAL',
      `Failed to write 'data' field: output tensor shape does not match size of output for '${name}'`,
    );
  }
  const values = typedView(datatype, data);
  if (count <= STEP_ELEMENTS) {
    sink.text(`[${elementsText(values, datatype, 0, count)}]`);
    return;
  }
  for (let start = 0; start < count; start += STEP_ELEMENTS) {
    const text = elementsText(values, datatype, start, Math.min(start + STEP_ELEMENTS, count));
    sink.text(start === 0 ? `[${text}` : `,${text}`);
    yield;
  }
  sink.text(']');
}

/** The array as a whole: text or bytes. */
export function jsonTensorData(tensor: Tensor): string | Uint8Array {
  let text = '';
  const pieces: Uint8Array[] = [];
  const sink: JsonSink = {
    text(part) {
      text += part;
    },
    bytes(part) {
      pieces.push(part);
    },
  };
  atOnce(writeTensorData(tensor, sink));
  return pieces.length === 0 ? text : pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

/** The elements from `start` to `end` with commas between them. */
function elementsText(values: TypedArrays[keyof TypedArrays], datatype: Datatype, start: number, end: number): string {
  switch (datatype) {
    case 'BOOL':
      return join(values, start, end, (value) => (value === 0 ? 'false' : 'true'));
    case 'FP32':
    case 'FP64':
      return join(values, start, end, (value) => jsonDouble(value as number));
    default:
      return (values.subarray(start, end) as TypedArrays['INT32']).join(',');
  }
}

function join(
  values: ArrayLike<number | bigint>,
  start: number,
  end: number,
  toText: (value: number | bigint) => string,
): string {
  let text = '';
  for (let i = start; i < end; i++) text += i === start ? toText(values[i]!) : `,${toText(values[i]!)}`;
  return text;
}

function* writeBytesArray(name: string, data: Uint8Array, count: number, sink: JsonSink): Steps<void> {
  // The elements are counted in steps of that size; each piece of text is sized first, then written.
  if (!(yield* hasElements(data, count))) {
    throw new TritonError('INTERNAL', `output tensor shape does not match size of output for '${name}'`);
  }
  if (data.length === 0) {
    sink.bytes(Buffer.from('[]'));
    return;
  }
  for (let pos = 0; pos < data.length; ) {
    const start = pos;
    const first = lengthWordAt(data, pos);
    if (first > STEP_BYTES) {
      const open = start === 0 ? '["' : ',"';
      sink.bytes(Buffer.from(open));
      yield* writeLongString(data.subarray(pos + LENGTH_BYTES, pos + LENGTH_BYTES + first), sink);
      pos += LENGTH_BYTES + first;
      sink.bytes(Buffer.from(pos === data.length ? '"]' : '"'));
      continue;
    }
    let size = 1;
    while (pos < data.length && pos - start < STEP_BYTES && lengthWordAt(data, pos) <= STEP_BYTES) {
      const next = pos + LENGTH_BYTES + lengthWordAt(data, pos);
      size += 1 + jsonStringBytesLength(data.subarray(pos + LENGTH_BYTES, next));
      pos = next;
    }
    const text = Buffer.allocUnsafe(size);
    let out = 0;
    for (let at = start; at < pos; ) {
      const next = at + LENGTH_BYTES + lengthWordAt(data, at);
      text[out++] = at === 0 ? 0x5b : 0x2c;
      out = writeJsonStringBytes(text, out, data.subarray(at + LENGTH_BYTES, next));
      at = next;
    }
    if (pos === data.length) text[out++] = 0x5d;
    sink.bytes(text.subarray(0, out));
    if (pos < data.length) yield;
  }
}

/** The inside of one string that is too long for one step. */
function* writeLongString(bytes: Uint8Array, sink: JsonSink): Steps<void> {
  for (let start = 0; start < bytes.length; start += STEP_BYTES) {
    const part = bytes.subarray(start, start + STEP_BYTES);
    const text = Buffer.allocUnsafe(jsonStringBytesLength(part));
    const end = writeJsonStringBytes(text, 0, part);
    sink.bytes(text.subarray(1, end - 1));
    yield;
  }
}

/** True when the data are exactly that many whole elements. */
function* hasElements(data: Uint8Array, count: number): Steps<boolean> {
  let pos = 0;
  let found = 0;
  for (; pos + LENGTH_BYTES <= data.length; found++) {
    pos += LENGTH_BYTES + lengthWordAt(data, pos);
    if (found % (STEP_ELEMENTS * 16) === STEP_ELEMENTS * 16 - 1) yield;
  }
  return pos === data.length && found === count;
}
