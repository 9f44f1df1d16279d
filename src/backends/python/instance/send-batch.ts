/** Sends a batch of requests to a process. */
import type { ExecutionRequest } from '../../../contract/backend.js';
import type { PythonProcess } from '../process/python-process.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { type Memories, parametersToJson, writeTensor } from '../wire/tensor-codec.js';
import { SHARED_FROM, ToModel } from '../wire/wire.js';

/** A batch, with the numbers by which the process names it and its requests. */
export interface NumberedBatch {
  readonly number: number;
  readonly requests: readonly ExecutionRequest[];
  readonly keys: readonly number[];
}

/** Writes and sends the frame. Throws, with the shared memory as it was, when no frame can be as large as the batch. */
export function sendBatch(process: PythonProcess, { number, requests, keys }: NumberedBatch): void {
  const { toModel, fromModel } = process.memories;
  const read = fromModel.takeRead();
  const writer = new FrameWriter(ToModel.EXECUTE, expectedSize(requests));
  try {
    writer.u32(number);
    writer.u16(requests.length);
    writer.u64s(read);
    for (const [i, request] of requests.entries()) writeRequest(writer, process.memories, keys[i]!, request);
    const frame = writer.finish();
    process.checkLength(frame);
    process.send(frame);
  } catch (reason) {
    fromModel.untake(read);
    for (const region of writer.regions) toModel.release(region);
    throw reason;
  }
}

function writeRequest(writer: FrameWriter, memories: Memories, key: number, request: ExecutionRequest): void {
  writer.u32(key);
  writer.u32((request.sequenceStart ? 1 : 0) | (request.sequenceEnd ? 2 : 0));
  writer.bigU64(request.timeoutMicroseconds);
  if (typeof request.correlationId === 'string') {
    writer.u8(1);
    writer.text(request.correlationId);
  } else {
    writer.u8(0);
    writer.bigU64(request.correlationId);
  }
  writer.text(request.id);
  writer.text(parametersToJson(request.parameters));
  writer.u16(request.requestedOutputs.length);
  for (const name of request.requestedOutputs) writer.text(name);
  const { trace } = request;
  writer.u8((request.cancelled ? 1 : 0) | (trace === undefined ? 0 : 2) | (request.pace === undefined ? 0 : 4));
  if (trace !== undefined) writer.text(trace.context ?? '');
  writer.u16(request.inputs.length);
  for (const input of request.inputs) writeTensor(writer, input, memories);
}

/** Bytes that a frame with these requests will need, roughly. */
function expectedSize(requests: readonly ExecutionRequest[]): number {
  let size = 64;
  for (const { inputs } of requests) {
    size += 256;
    for (const { data } of inputs) size += 128 + (data.byteLength < SHARED_FROM ? data.byteLength : 0);
  }
  return size;
}
