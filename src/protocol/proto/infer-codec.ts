/**
 * The messages of the two inference calls, hand-tuned: no bigint for shapes, maps only where there are parameters,
 * tensor contents as views on the input, large raw contents as chunks of their own on the output (never copied).
 */
import { ProtoReader } from './reader.js';
import { ProtoWriter } from './writer.js';

/** One value of an InferParameter; `none`: no member of the oneof is set. */
export type ParameterMessage =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int64'; readonly value: bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'uint64'; readonly value: bigint }
  | { readonly kind: 'none'; readonly value: undefined };

/** Parameters by name. */
export type ParameterMap = ReadonlyMap<string, ParameterMessage>;

/** An input of a request, or an output of a response. */
export interface InferTensorMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: ParameterMap;
  /** InferTensorContents in its binary form; undefined when absent. Read it with `tensorOfContents`. */
  readonly contents: Uint8Array | undefined;
}

/** An output that a request asks for. */
export interface InferRequestedOutputMessage {
  readonly name: string;
  readonly parameters: ParameterMap;
}

/** ModelInferRequest. */
export interface InferRequestMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: ParameterMap;
  readonly inputs: readonly InferTensorMessage[];
  readonly outputs: readonly InferRequestedOutputMessage[];
  readonly rawInputContents: readonly Uint8Array[];
}

/** ModelInferResponse. */
export interface InferResponseMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: ParameterMap;
  readonly outputs: readonly InferTensorMessage[];
  readonly rawOutputContents: readonly Uint8Array[];
}

/** ModelStreamInferResponse. */
export interface StreamInferResponseMessage {
  readonly errorMessage: string;
  readonly inferResponse: InferResponseMessage | undefined;
}

/** Shared by all messages without parameters. */
export const NO_PARAMETERS: ParameterMap = new Map();

/**
 * Raw contents up to this size are copied beside the fields in front of them: one block for the whole of a small message
 * costs less than a chunk more in every layer below.
 */
const COALESCE_BYTES = 2048;

/** Tags: field number << 3 | wire type. */
const tag = (number: number, wire = 2): number => (number << 3) | wire;

/** Decodes a ModelInferRequest; contents are views on `bytes`. Malformed: INTERNAL `Unable to parse request`. */
export function decodeModelInferRequest(bytes: Uint8Array): InferRequestMessage {
  const reader = new ProtoReader(bytes);
  let modelName = '';
  let modelVersion = '';
  let id = '';
  let parameters = NO_PARAMETERS;
  const inputs: InferTensorMessage[] = [];
  const outputs: InferRequestedOutputMessage[] = [];
  const rawInputContents: Uint8Array[] = [];
  while (reader.pos < reader.end) {
    const field = reader.tag();
    switch (field) {
      case tag(1):
        modelName = reader.string();
        break;
      case tag(2):
        modelVersion = reader.string();
        break;
      case tag(3):
        id = reader.string();
        break;
      case tag(4):
        parameters = readParameter(reader, parameters);
        break;
      case tag(5):
        inputs.push(readTensor(reader));
        break;
      case tag(6):
        outputs.push(readRequestedOutput(reader));
        break;
      case tag(7):
        rawInputContents.push(reader.view());
        break;
      default:
        reader.skip(field);
    }
  }
  return { modelName, modelVersion, id, parameters, inputs, outputs, rawInputContents };
}

/** Decodes a ModelInferResponse; contents are views on `bytes`. Malformed: INTERNAL `Unable to parse response`. */
export function decodeModelInferResponse(bytes: Uint8Array): InferResponseMessage {
  return readResponse(new ProtoReader(bytes, 'response'));
}

/** Decodes a ModelStreamInferResponse, likewise. */
export function decodeModelStreamInferResponse(bytes: Uint8Array): StreamInferResponseMessage {
  const reader = new ProtoReader(bytes, 'response');
  let errorMessage = '';
  let inferResponse: InferResponseMessage | undefined;
  while (reader.pos < reader.end) {
    const field = reader.tag();
    if (field === tag(1)) errorMessage = reader.string();
    else if (field === tag(2)) inferResponse = nested(reader, readResponse);
    else reader.skip(field);
  }
  return { errorMessage, inferResponse };
}

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

function readResponse(reader: ProtoReader): InferResponseMessage {
  let modelName = '';
  let modelVersion = '';
  let id = '';
  let parameters = NO_PARAMETERS;
  const outputs: InferTensorMessage[] = [];
  const rawOutputContents: Uint8Array[] = [];
  while (reader.pos < reader.end) {
    const field = reader.tag();
    switch (field) {
      case tag(1):
        modelName = reader.string();
        break;
      case tag(2):
        modelVersion = reader.string();
        break;
      case tag(3):
        id = reader.string();
        break;
      case tag(4):
        parameters = readParameter(reader, parameters);
        break;
      case tag(5):
        outputs.push(readTensor(reader));
        break;
      case tag(6):
        rawOutputContents.push(reader.view());
        break;
      default:
        reader.skip(field);
    }
  }
  return { modelName, modelVersion, id, parameters, outputs, rawOutputContents };
}

/** Runs `read` on the delimited field at the reader's position. */
function nested<T>(reader: ProtoReader, read: (reader: ProtoReader) => T): T {
  const outer = reader.end;
  const length = reader.length();
  reader.end = reader.pos + length;
  const value = read(reader);
  reader.end = outer;
  return value;
}

function readTensor(reader: ProtoReader): InferTensorMessage {
  const outer = reader.end;
  const length = reader.length();
  const end = reader.pos + length;
  reader.end = end;
  let name = '';
  let datatype = '';
  let parameters = NO_PARAMETERS;
  let contents: Uint8Array | undefined;
  const shape: number[] = [];
  while (reader.pos < end) {
    const field = reader.tag();
    switch (field) {
      case tag(1):
        name = reader.string();
        break;
      case tag(2):
        datatype = reader.string();
        break;
      case tag(3):
        readShape(reader, shape);
        break;
      case tag(3, 0):
        shape.push(reader.int64Number());
        break;
      case tag(4):
        parameters = readParameter(reader, parameters);
        break;
      case tag(5):
        // A message that comes twice is merged, which for its bytes means: joined.
        contents = contents === undefined ? reader.view() : Buffer.concat([contents, reader.view()]);
        break;
      default:
        reader.skip(field);
    }
  }
  reader.end = outer;
  return { name, datatype, shape, parameters, contents };
}

function readShape(reader: ProtoReader, shape: number[]): void {
  const outer = reader.end;
  const length = reader.length();
  const end = reader.pos + length;
  reader.end = end;
  while (reader.pos < end) shape.push(reader.int64Number());
  reader.end = outer;
}

function readRequestedOutput(reader: ProtoReader): InferRequestedOutputMessage {
  return nested(reader, () => {
    let name = '';
    let parameters = NO_PARAMETERS;
    while (reader.pos < reader.end) {
      const field = reader.tag();
      if (field === tag(1)) name = reader.string();
      else if (field === tag(2)) parameters = readParameter(reader, parameters);
      else reader.skip(field);
    }
    return { name, parameters };
  });
}

/** Reads one map entry and adds it; makes the map at the first one. */
function readParameter(reader: ProtoReader, parameters: ParameterMap): ParameterMap {
  const map =
    parameters === NO_PARAMETERS ? new Map<string, ParameterMessage>() : (parameters as Map<string, ParameterMessage>);
  nested(reader, () => {
    let key = '';
    let value: ParameterMessage = NONE;
    while (reader.pos < reader.end) {
      const field = reader.tag();
      if (field === tag(1)) key = reader.string();
      else if (field === tag(2)) {
        const before = value;
        value = nested(reader, () => readParameterValue(reader, before));
      } else reader.skip(field);
    }
    map.set(key, value);
  });
  return map;
}

const NONE: ParameterMessage = { kind: 'none', value: undefined };

function readParameterValue(reader: ProtoReader, before: ParameterMessage): ParameterMessage {
  let value = before;
  while (reader.pos < reader.end) {
    const field = reader.tag();
    switch (field) {
      case tag(1, 0):
        value = { kind: 'bool', value: reader.bool() };
        break;
      case tag(2, 0):
        value = { kind: 'int64', value: reader.int64() };
        break;
      case tag(3):
        value = { kind: 'string', value: reader.string() };
        break;
      case tag(4, 1):
        value = { kind: 'double', value: reader.double() };
        break;
      case tag(5, 0):
        value = { kind: 'uint64', value: reader.uint64() };
        break;
      default:
        reader.skip(field);
    }
  }
  return value;
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
