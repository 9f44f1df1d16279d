/** The `data` of a JSON tensor -> the tensor's bytes, with Triton's checks and messages. */

import { invalidArg } from '../../base/error.js';
import { elementSize, isDatatype } from '../datatype.js';
import { jsonError, prefixed } from '../json/json-error.js';
import { JsonKind, type JsonValue } from '../json/json-value.js';
import { type JsonDatatype, readBytesData, readTensorData, TooFewElements } from '../json/read-tensor-data.js';
import type { Steps } from '../steps.js';
import { checkedByteSize, checkedElementCount, checkInputSize } from './shape-limits.js';

const EMPTY = new Uint8Array(0);

/** The bytes of an input whose data are JSON. */
// biome-ignore lint/complexity/useMaxParams: called per input of a request, an object for it would cost.
export function* readJsonData(
  input: JsonValue,
  name: string,
  datatype: string,
  shape: readonly number[],
  data: JsonValue,
  maxInputSize: number,
): Steps<Uint8Array> {
  const count = checkedElementCount(name, shape, input);
  // Without elements Triton does not look at the data at all.
  if (count === 0) return EMPTY;
  if (data.kind !== JsonKind.ARRAY)
    throw jsonError("Unable to parse 'data': attempt to access JSON non-array as array");
  if (!isDatatype(datatype)) throw invalidArg(`invalid datatype for input ${name}`);
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalidArg(
      `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
    );
  }
  if (datatype === 'BYTES') {
    const bytes = yield* readBytesElements(data);
    checkInputSize(name, bytes.length, maxInputSize);
    return bytes;
  }
  const byteSize = checkedByteSize(name, count, datatype, input);
  checkInputSize(name, byteSize, maxInputSize);
  return yield* readElements(data, datatype, count);
}

/** The elements of a JSON array of strings in wire form. */
export function* readBytesElements(data: JsonValue): Steps<Uint8Array> {
  try {
    return yield* readBytesData(data);
  } catch (error) {
    const { message } = error as Error;
    throw message.startsWith('attempt') ? prefixed('Unable to parse JSON bytes array: ', error) : error;
  }
}

/** The elements of a JSON array of numbers or booleans as the tensor's bytes. */
export function* readElements(data: JsonValue, datatype: JsonDatatype, count: number): Steps<Uint8Array> {
  // Each element takes at least two bytes of text: a shape that promises more than the text can hold takes no memory.
  const available = Math.ceil((data.end - data.start) / 2);
  const target = new Uint8Array(Math.min(count, available) * elementSize(datatype));
  try {
    yield* readTensorData(data, datatype, count, target);
  } catch (error) {
    if (error instanceof TooFewElements) {
      throw jsonError("Failed to parse 'data' field: shape does not match true shape");
    }
    throw prefixed("Unable to parse 'data': ", error);
  }
  return target;
}
