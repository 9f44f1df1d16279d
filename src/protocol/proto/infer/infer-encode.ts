import { ProtoWriter } from '../writer.js';
import type {
  InferRequestMessage,
  InferResponseMessage,
  InferTensorMessage,
  ParameterMap,
  ParameterMessage,
} from './infer-types.js';

/**
 * Raw contents up to this size are copied beside the fields in front of them: one block for the whole of a small message
 * costs less than a chunk more in every layer below.
 */
const COALESCE_BYTES = 2048;

/** Tags: field number << 3 | wire type. */
const tag = (number: number, wire = 2): number => (number << 3) | wire;

/** Encodes a ModelInferRequest as chunks; concatenated they are the message. */
export function encodeModelInferRequest(message: InferRequestMessage): Uint8Array[] {
  const writer = new ProtoWriter(capacityFor(message.inputs.length + message.outputs.length, message.rawInputContents));
  writeText(writer, tag(1), message.modelName);
  writeText(writer, tag(2), message.modelVersion);
  writeText(writer, tag(3), message.id);
  writeParameters(writer, tag(4), message.parameters);
  for (const input of message.inputs) writeTensor(writer, input);
  for (const { name, parameters } of message.outputs) {
    writer.uint32(tag(6));
    const start = writer.fork();
    writeText(writer, tag(1), name);
    writeParameters(writer, tag(2), parameters);
    writer.join(start);
  }
  return writeRawContents(writer, tag(7), message.rawInputContents);
}

/** Encodes a ModelInferResponse as chunks; concatenated they are the message. */
export function encodeModelInferResponse(message: InferResponseMessage): Uint8Array[] {
  const writer = new ProtoWriter(capacityFor(message.outputs.length, message.rawOutputContents));
  writeText(writer, tag(1), message.modelName);
  writeText(writer, tag(2), message.modelVersion);
  writeText(writer, tag(3), message.id);
  writeParameters(writer, tag(4), message.parameters);
  for (const output of message.outputs) writeTensor(writer, output);
  return writeRawContents(writer, tag(6), message.rawOutputContents);
}

/** Encodes a ModelStreamInferResponse around the chunks of an encoded ModelInferResponse. */
export function encodeModelStreamInferResponse(
  errorMessage: string,
  inferResponse: readonly Uint8Array[],
): Uint8Array[] {
  let size = 0;
  for (const chunk of inferResponse) size += chunk.length;
  const writer = new ProtoWriter(16 + errorMessage.length + Math.min(size, COALESCE_BYTES));
  writeText(writer, tag(1), errorMessage);
  writer.uint32(tag(2));
  writer.uint32(size);
  if (size > COALESCE_BYTES) return [writer.cut(), ...inferResponse];
  for (const chunk of inferResponse) writer.raw(chunk);
  return [writer.cut()];
}

/** A block that holds the message's small parts without growing, in the usual case. */
function capacityFor(tensors: number, raw: readonly Uint8Array[]): number {
  let capacity = 128 + 64 * tensors;
  for (const { length } of raw) capacity += length <= COALESCE_BYTES ? length + 4 : 8;
  return capacity;
}

function writeText(writer: ProtoWriter, field: number, text: string): void {
  if (text === '') return;
  writer.byte(field);
  writer.string(text);
}

/** Input tensors of requests and output tensors of responses have the same field numbers, their own included. */
function writeTensor(writer: ProtoWriter, tensor: InferTensorMessage): void {
  writer.byte(tag(5));
  const start = writer.fork();
  writeText(writer, tag(1), tensor.name);
  writeText(writer, tag(2), tensor.datatype);
  if (tensor.shape.length > 0) {
    writer.byte(tag(3));
    const shape = writer.fork();
    for (const dim of tensor.shape) writer.int64Number(dim);
    writer.join(shape);
  }
  writeParameters(writer, tag(4), tensor.parameters);
  if (tensor.contents !== undefined) {
    writer.byte(tag(5));
    writer.bytes(tensor.contents);
  }
  writer.join(start);
}

function writeParameters(writer: ProtoWriter, field: number, parameters: ParameterMap): void {
  if (parameters.size === 0) return;
  for (const [key, parameter] of parameters) {
    writer.byte(field);
    const entry = writer.fork();
    writer.byte(tag(1));
    writer.string(key);
    writer.byte(tag(2));
    const value = writer.fork();
    writeParameterValue(writer, parameter);
    writer.join(value);
    writer.join(entry);
  }
}

function writeParameterValue(writer: ProtoWriter, parameter: ParameterMessage): void {
  switch (parameter.kind) {
    case 'bool':
      writer.byte(tag(1, 0));
      writer.byte(parameter.value ? 1 : 0);
      break;
    case 'int64':
      writer.byte(tag(2, 0));
      writer.varint64(parameter.value);
      break;
    case 'string':
      writer.byte(tag(3));
      writer.string(parameter.value);
      break;
    case 'double':
      writer.byte(tag(4, 1));
      writer.double(parameter.value);
      break;
    case 'uint64':
      writer.byte(tag(5, 0));
      writer.varint64(parameter.value);
      break;
    case 'none':
  }
}

/** Ends the message with its raw contents: small ones in the block, large ones as chunks of their own. */
function writeRawContents(writer: ProtoWriter, field: number, contents: readonly Uint8Array[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (const content of contents) {
    writer.byte(field);
    writer.uint32(content.length);
    if (content.length <= COALESCE_BYTES) writer.raw(content);
    else chunks.push(writer.cut(), content);
  }
  if (writer.length > 0 || chunks.length === 0) chunks.push(writer.cut());
  return chunks;
}
