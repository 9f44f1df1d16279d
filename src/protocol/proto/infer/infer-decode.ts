import { ProtoReader } from '../reader.js';
import {
  type InferRequestedOutputMessage,
  type InferRequestMessage,
  type InferResponseMessage,
  type InferTensorMessage,
  MAX_RANK,
  MAX_TENSORS,
  NO_PARAMETERS,
  type ParameterMap,
  type ParameterMessage,
  type StreamInferResponseMessage,
} from './infer-types.js';

/** Tags: field number << 3 | wire type. */
const tag = (number: number, wire = 2): number => (number << 3) | wire;

/** Most inputs, outputs and raw contents of one request that are decoded, and one more, to be seen as too many. */
const MAX_LISTED = MAX_TENSORS + 1;

/**
 * Decodes a ModelInferRequest; contents are views on `bytes`. Malformed: INTERNAL `Unable to parse request`. Of lists that
 * are longer than a request may have them only the beginning is built, with one element too many: two bytes on the wire
 * would be hundreds in memory.
 */
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
        if (inputs.length < MAX_LISTED) inputs.push(readTensor(reader));
        else reader.skip(field);
        break;
      case tag(6):
        if (outputs.length < MAX_LISTED) outputs.push(readRequestedOutput(reader));
        else reader.skip(field);
        break;
      case tag(7):
        if (rawInputContents.length < MAX_LISTED) rawInputContents.push(reader.view());
        else reader.skip(field);
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
  let more: Uint8Array[] | undefined;
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
        addDimension(shape, reader.int64Number());
        break;
      case tag(4):
        parameters = readParameter(reader, parameters);
        break;
      case tag(5):
        if (contents === undefined) contents = reader.view();
        else {
          more ??= [contents];
          if (more.length > MAX_LISTED) reader.fail();
          more.push(reader.view());
        }
        break;
      default:
        reader.skip(field);
    }
  }
  reader.end = outer;
  // A message that comes more than once is merged, which for its bytes means: joined.
  if (more !== undefined) contents = Buffer.concat(more);
  return { name, datatype, shape, parameters, contents };
}

/** One dimension more than a shape may have is kept, to be seen as too many. */
function addDimension(shape: number[], size: number): void {
  if (shape.length <= MAX_RANK) shape.push(size);
}

function readShape(reader: ProtoReader, shape: number[]): void {
  const outer = reader.end;
  const length = reader.length();
  const end = reader.pos + length;
  reader.end = end;
  while (reader.pos < end) addDimension(shape, reader.int64Number());
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
    if (map.size > MAX_LISTED) reader.fail();
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
