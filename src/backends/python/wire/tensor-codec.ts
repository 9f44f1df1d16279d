import { ErrorCode, type ErrorCodeName, TritonError } from '../../../base/error.js';
import type { ExecutionResponse } from '../../../contract/backend.js';
import { DATATYPES, type Datatype, elementSize } from '../../../protocol/datatype.js';
import type { Parameters, ParameterValue, Tensor } from '../../../protocol/tensor.js';
import { FrameFault, type FrameReader } from './frame-reader.js';
import type { FrameWriter } from './frame-writer.js';
import type { ModelMemory, SharedMemory } from './shared-memory.js';
import { ParameterType, Place, SHARED_FROM } from './wire.js';

/** The two files of a process. */
export interface Memories {
  /** Written by the server. */
  readonly toModel: SharedMemory;
  /** Written by the process. */
  readonly fromModel: ModelMemory;
}

const CODES: Readonly<Record<string, number>> = Object.fromEntries(DATATYPES.map((name, i) => [name, i + 1]));
const ERROR_NAMES = Object.keys(ErrorCode) as ErrorCodeName[];

/** Writes a tensor: large ones into shared memory, the others into the frame. */
export function writeTensor(writer: FrameWriter, tensor: Tensor, memories: Memories): void {
  const { data, shape } = tensor;
  writer.text(tensor.name);
  writer.u8(CODES[tensor.datatype] ?? 0);
  writer.u8(shape.length);
  for (const dim of shape) writer.u64(dim);
  const offset = data.byteLength >= SHARED_FROM ? memories.toModel.write(data) : undefined;
  if (offset !== undefined) {
    writer.regions.push(offset);
    writer.u8(Place.SHARED);
    writer.u64(data.byteLength);
    writer.u64(offset);
    return;
  }
  writer.u8(Place.INLINE);
  writer.u64(data.byteLength);
  writer.aligned(data);
}

/**
 * Reads a tensor. Its data is a view on the frame, or what was copied out of shared memory. Throws FrameFault for one that
 * cannot be: an unknown datatype, or bytes that do not fit the shape.
 */
export function readTensor(reader: FrameReader, memories: Memories): Tensor {
  const name = reader.text();
  const datatype = datatypeOf(reader.u8());
  const rank = reader.u8();
  const shape: number[] = [];
  for (let i = 0; i < rank; i++) shape.push(reader.u64());
  const place = reader.u8();
  const size = reader.u64();
  checkSize(name, datatype, shape, size);
  return { name, datatype, shape, data: readData(reader, memories, place, size) };
}

function readData(reader: FrameReader, memories: Memories, place: number, size: number): Uint8Array {
  switch (place) {
    case Place.INLINE:
      return reader.bytes(size);
    case Place.SHARED:
      return memories.fromModel.read(reader.u64(), size);
    case Place.BORROWED:
      return memories.toModel.read(reader.u64(), size);
    default:
      throw new FrameFault(`a tensor's bytes lie in an unknown place (${place})`);
  }
}

function datatypeOf(code: number): Datatype {
  const datatype = DATATYPES[code - 1];
  if (datatype === undefined) throw new FrameFault(`a tensor has the unknown datatype ${code}`);
  return datatype;
}

function checkSize(name: string, datatype: Datatype, shape: readonly number[], size: number): void {
  const bytes = elementSize(datatype);
  if (bytes === 0) return;
  let expected = bytes;
  for (const dim of shape) expected *= dim;
  if (expected !== size) {
    throw new FrameFault(`tensor '${name}' of ${datatype} [${shape}] has ${size} bytes instead of ${expected}`);
  }
}

/** Reads the tensors of a list. */
export function readTensors(reader: FrameReader, memories: Memories): Tensor[] {
  const tensors: Tensor[] = [];
  for (let count = reader.u16(); count > 0; count--) tensors.push(readTensor(reader, memories));
  return tensors;
}

/** Reads a response of the model. An error in it is a response of the model's own. */
export function readResponse(reader: FrameReader, memories: Memories): ExecutionResponse {
  if (reader.u8() === 1) {
    const code = ERROR_NAMES[reader.u8()];
    if (code === undefined) throw new FrameFault('an error has an unknown code');
    return { outputs: [], error: new TritonError(code, reader.text()), countsAsSuccess: true };
  }
  const parameters = readParameters(reader);
  const outputs = readTensors(reader, memories);
  return parameters.length === 0 ? { outputs } : { outputs, parameters };
}

/** Writes a response of another model. */
export function writeResponse(
  writer: FrameWriter,
  response: { outputs: readonly Tensor[]; parameters?: Parameters; error?: TritonError | undefined },
  memories: Memories,
): void {
  if (response.error !== undefined) {
    writer.u8(1);
    writer.u8(ErrorCode[response.error.code]);
    writer.text(response.error.message);
    return;
  }
  writer.u8(0);
  writer.text(parametersToJson(response.parameters ?? []));
  writer.u16(response.outputs.length);
  for (const tensor of response.outputs) writeTensor(writer, tensor, memories);
}

/** Parameters as a JSON object; '' when there are none. Integers keep all digits. */
export function parametersToJson(parameters: Parameters): string {
  if (parameters.length === 0) return '';
  return `{${parameters.map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`).join(',')}}`;
}

function jsonOf(value: ParameterValue): string {
  if (typeof value === 'bigint') return value.toString();
  // A double stays one for the reader: 2 becomes 2.0. Python's reader knows NaN and Infinity.
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value);
  return JSON.stringify(value);
}

/** Reads parameters. */
export function readParameters(reader: FrameReader): Parameters {
  const count = reader.u16();
  if (count === 0) return NONE;
  const parameters: [string, ParameterValue][] = [];
  for (let i = 0; i < count; i++) parameters.push([reader.text(), readParameter(reader)]);
  return parameters;
}

const NONE: Parameters = [];

function readParameter(reader: FrameReader): ParameterValue {
  const type = reader.u8();
  switch (type) {
    case ParameterType.INTEGER:
      return reader.bigI64();
    case ParameterType.STRING:
      return reader.text();
    case ParameterType.BOOLEAN:
      return reader.u8() === 1;
    case ParameterType.DOUBLE:
      return reader.f64();
    case ParameterType.UNSIGNED:
      return reader.bigU64();
    default:
      throw new FrameFault(`a parameter has the unknown type ${type}`);
  }
}
