/**
 * Inputs with a stored value (overridable initializers): the binding of onnxruntime-node drops what is fed for them. A
 * model from whose bytes the stored value is taken out has an ordinary input instead, which is fed with that value when a
 * request leaves it out.
 */
import { elementSize } from '../../protocol/datatype.js';
import { TritonError } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import { datatypeOfElementType } from './onnx-types.js';

/** One field of a protobuf message: where it begins, and where its value lies. */
interface Field {
  readonly number: number;
  readonly wireType: number;
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

const GRAPH = 7;
const INITIALIZER = 5;

/** A model without some stored values, and these values. */
export interface OpenedModel {
  readonly model: Uint8Array;
  readonly values: readonly Tensor[];
}

/** Takes stored values out of the bytes of an .onnx file whose data all lie in it. */
export function takeStoredValues(bytes: Buffer, names: ReadonlySet<string>): OpenedModel {
  const values: Tensor[] = [];
  const parts: Uint8Array[] = [];
  for (const field of fields(bytes, 0, bytes.length)) {
    if (field.number !== GRAPH || field.wireType !== 2) {
      parts.push(bytes.subarray(field.from, field.end));
      continue;
    }
    const kept: Uint8Array[] = [];
    for (const inner of fields(bytes, field.start, field.end)) {
      const isStored = inner.number === INITIALIZER && names.has(tensorName(bytes, inner));
      if (isStored) values.push(readTensor(bytes, inner));
      else kept.push(bytes.subarray(inner.from, inner.end));
    }
    const graph = Buffer.concat(kept);
    parts.push(Buffer.from([(GRAPH << 3) | 2]), varint(graph.length), graph);
  }
  return { model: Buffer.concat(parts), values };
}

function tensorName(bytes: Buffer, tensor: Field): string {
  for (const { number, start, end } of fields(bytes, tensor.start, tensor.end)) {
    if (number === 8) return bytes.toString('utf8', start, end);
  }
  return '';
}

/** A TensorProto as a tensor on the wire; its data are raw bytes or a list of numbers or strings. */
function readTensor(bytes: Buffer, tensor: Field): Tensor {
  const shape: number[] = [];
  let elementType = 0;
  let raw: Buffer | undefined;
  const strings: Buffer[] = [];
  const numbers: { readonly number: number; readonly value: bigint }[] = [];
  const floats: Buffer[] = [];
  for (const field of fields(bytes, tensor.start, tensor.end)) {
    const { number, wireType, start, end } = field;
    if (number === 1) shape.push(...varints(bytes, field).map(Number));
    else if (number === 2) elementType = Number(varints(bytes, field)[0]);
    else if (number === 9) raw = bytes.subarray(start, end);
    else if (number === 6) strings.push(bytes.subarray(start, end));
    else if (number === 4 || number === 10) floats.push(bytes.subarray(start, end));
    else if (number === 5 || number === 7 || number === 11) {
      numbers.push(...varints(bytes, field).map((value) => ({ number, value })));
    } else if (number === 14 && wireType === 0 && varints(bytes, field)[0] !== 0n) {
      throw new TritonError('UNSUPPORTED', 'a stored value lies in another file');
    }
  }
  const name = tensorName(bytes, tensor);
  const datatype = datatypeOfElementType(elementType);
  if (datatype === undefined) throw new TritonError('UNSUPPORTED', `the stored value of '${name}' has no datatype`);
  if (datatype === 'BYTES') return { name, datatype, shape, data: lengthPrefixed(strings) };
  if (raw !== undefined) return { name, datatype, shape, data: new Uint8Array(raw) };
  if (floats.length > 0) return { name, datatype, shape, data: new Uint8Array(Buffer.concat(floats)) };
  const size = elementSize(datatype);
  const data = Buffer.alloc(size * numbers.length);
  for (const [i, { value }] of numbers.entries()) {
    if (size === 8) data.writeBigUInt64LE(BigInt.asUintN(64, value), i * 8);
    else data.writeUIntLE(Number(BigInt.asUintN(size * 8, value)), i * size, size);
  }
  return { name, datatype, shape, data: new Uint8Array(data) };
}

function lengthPrefixed(strings: readonly Buffer[]): Uint8Array {
  const parts = strings.flatMap((text) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return [length, text];
  });
  return new Uint8Array(Buffer.concat(parts));
}

/** The integers of a field, packed or single. */
function varints(bytes: Buffer, { wireType, start, end }: Field): bigint[] {
  const values: bigint[] = [];
  for (let at = start; at < end; ) {
    const [value, next] = readVarint(bytes, at);
    values.push(value);
    at = next;
    if (wireType === 0) break;
  }
  return values;
}

/** Walks a message. The runtime has read the file before, so it is well-formed. */
function* fields(bytes: Buffer, from: number, until: number): Generator<Field> {
  for (let at = from; at < until; ) {
    const [tag, start] = readVarint(bytes, at);
    const wireType = Number(tag & 7n);
    let valueStart = start;
    let end: number;
    if (wireType === 0) end = readVarint(bytes, start)[1];
    else if (wireType === 1) end = start + 8;
    else if (wireType === 5) end = start + 4;
    else if (wireType === 2) {
      const [length, begin] = readVarint(bytes, start);
      valueStart = begin;
      end = begin + Number(length);
    } else throw new TritonError('INTERNAL', `wire type ${wireType} in a model at byte ${at}`);
    if (end > until) throw new TritonError('INTERNAL', `a field of a model ends behind its message at byte ${at}`);
    yield { number: Number(tag >> 3n), wireType, from: at, start: valueStart, end };
    at = end;
  }
}

function readVarint(bytes: Buffer, from: number): [value: bigint, next: number] {
  let value = 0n;
  for (let at = from, shift = 0n; at < bytes.length && shift < 70n; at++, shift += 7n) {
    const byte = bytes[at] as number;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at + 1];
  }
  throw new TritonError('INTERNAL', `no integer in a model at byte ${from}`);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
