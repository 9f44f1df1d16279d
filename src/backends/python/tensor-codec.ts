import { DATATYPES, type Datatype } from '../../protocol/datatype.js';
import { ErrorCode, type ErrorCodeName, TritonError } from '../../protocol/error.js';
import type { Parameters, ParameterValue, Tensor } from '../../protocol/tensor.js';
import type { ExecutionResponse } from '../backend.js';
import type { FrameReader } from './frame-reader.js';
import type { FrameWriter } from './frame-writer.js';
import { readRegion, type SharedMemory } from './shared-memory.js';
import { Place, SHARED_FROM } from './wire.js';

/** The two files of a process. */
export interface Memories {
  /** Written by the server. */
  readonly toModel: SharedMemory;
  /** Descriptor of the file that the process writes. */
  readonly fromModel: number;
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
    writer.u8(Place.SHARED);
    writer.u64(data.byteLength);
    writer.u64(offset);
    return;
  }
  writer.u8(Place.INLINE);
  writer.u64(data.byteLength);
  writer.aligned(data);
}

/** Reads a tensor. Its data is a view on the frame, or what was copied out of shared memory. */
export function readTensor(reader: FrameReader, memories: Memories): Tensor {
  const name = reader.text();
  const datatype = DATATYPES[reader.u8() - 1] as Datatype;
  const rank = reader.u8();
  const shape: number[] = [];
  for (let i = 0; i < rank; i++) shape.push(reader.u64());
  const place = reader.u8();
  const size = reader.u64();
  if (place === Place.INLINE) return { name, datatype, shape, data: reader.bytes(size) };
  const fd = place === Place.SHARED ? memories.fromModel : memories.toModel.fd;
  return { name, datatype, shape, data: readRegion(fd, reader.u64(), size) };
}

/** Reads the tensors of a list. */
export function readTensors(reader: FrameReader, memories: Memories): Tensor[] {
  const tensors: Tensor[] = [];
  for (let count = reader.u16(); count > 0; count--) tensors.push(readTensor(reader, memories));
  return tensors;
}

/** Reads a response of the model. Errors in it are answers of its own. */
export function readResponse(reader: FrameReader, memories: Memories): ExecutionResponse {
  if (reader.u8() === 1) {
    const code = ERROR_NAMES[reader.u8()] ?? 'INTERNAL';
    return { outputs: [], error: new TritonError(code, reader.text()), countsAsSuccess: true };
  }
  const parameters = reader.text();
  const outputs = readTensors(reader, memories);
  return parameters === '' ? { outputs } : { outputs, parameters: parametersFromJson(parameters) };
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

const INTEGER = /^-?\d+$/;

/** Parameters out of a JSON object whose values are booleans, integers and strings. */
export function parametersFromJson(text: string): Parameters {
  // Integers may be larger than a double holds: they are quoted with a mark before the text is parsed.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (token) =>
    INTEGER.test(token) ? `{"integer":"${token}"}` : token,
  );
  const parsed = JSON.parse(marked) as Record<string, boolean | string | number | { integer: string }>;
  return Object.entries(parsed).map(([name, value]) => [
    name,
    typeof value === 'object' ? BigInt(value.integer) : value,
  ]);
}
