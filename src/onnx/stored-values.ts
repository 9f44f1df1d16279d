/**
 * Inputs with a stored value (overridable initializers): the binding of onnxruntime-node drops what is fed for them. A
 * model from whose bytes the stored value is taken out has an ordinary input instead, which is fed with that value when a
 * request leaves it out.
 */

import { TritonError } from '../base/error.js';
import { elementSize } from '../protocol/datatype.js';
import type { Tensor } from '../protocol/tensor.js';
import { MessageReader, type ProtoField } from './message-reader.js';
import { datatypeOfElementType } from './onnx-types.js';

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
  // The runtime has read the file before, so it is well-formed.
  const reader = new MessageReader(bytes);
  for (const field of reader.fields()) {
    if (field.number !== GRAPH || field.wireType !== 2) {
      parts.push(reader.whole(field));
      continue;
    }
    const kept: Uint8Array[] = [];
    for (const inner of reader.fields(field)) {
      const isStored = inner.number === INITIALIZER && names.has(tensorName(reader, inner));
      if (isStored) values.push(readTensor(reader, inner));
      else kept.push(reader.whole(inner));
    }
    const graph = Buffer.concat(kept);
    parts.push(Buffer.from([(GRAPH << 3) | 2]), varint(graph.length), graph);
  }
  return { model: Buffer.concat(parts), values };
}

function tensorName(reader: MessageReader, tensor: ProtoField): string {
  for (const field of reader.fields(tensor)) {
    if (field.number === 8) return reader.text(field);
  }
  return '';
}

/** A TensorProto as a tensor on the wire; its data are raw bytes or a list of numbers or strings. */
function readTensor(reader: MessageReader, tensor: ProtoField): Tensor {
  const shape: number[] = [];
  let elementType = 0;
  let raw: Buffer | undefined;
  const strings: Buffer[] = [];
  const numbers: { readonly number: number; readonly value: bigint }[] = [];
  const floats: Buffer[] = [];
  for (const field of reader.fields(tensor)) {
    const { number, wireType } = field;
    if (number === 1) shape.push(...reader.varints(field).map(Number));
    else if (number === 2) elementType = Number(reader.varints(field)[0]);
    else if (number === 9) raw = reader.bytes(field);
    else if (number === 6) strings.push(reader.bytes(field));
    else if (number === 4 || number === 10) floats.push(reader.bytes(field));
    else if (number === 5 || number === 7 || number === 11) {
      numbers.push(...reader.varints(field).map((value) => ({ number, value })));
    } else if (number === 14 && wireType === 0 && reader.varints(field)[0] !== 0n) {
      throw new TritonError('UNSUPPORTED', 'a stored value lies in another file');
    }
  }
  const name = tensorName(reader, tensor);
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

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
