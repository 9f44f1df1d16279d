import { TritonError } from '../../base/error.js';
import type { ExecutionRequest } from '../../contract/backend.js';
import { elementCount, elementSize } from '../../protocol/datatype.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { Tensor } from '../../protocol/tensor.js';
import { pieceShape, type ScatteredOutput } from './scattered-outputs.js';

/**
 * Splits the outputs of a batch back into its requests and answers them: along dimension 0 for models that batch
 * (views, no copies), whole tensors for others. Requests get the outputs they asked for, in the order of `outputs`.
 * A tensor with too few rows fails just the requests that it does not reach. Outputs that
 * are states go to the requests' sequences, before the requests are answered.
 */
export function scatterOutputs(
  batch: readonly ExecutionRequest[],
  outputs: readonly Tensor[],
  batches: boolean,
  scattered: ReadonlyMap<string, ScatteredOutput> = NONE,
): void {
  if (batch.length === 1 && scattered.size === 0) {
    answerWhole(batch[0]!, outputs, batches);
    return;
  }
  const cursors = outputs.map((output) => new Cursor(output));
  let rowsBefore = 0;
  for (const request of batch) {
    const rows = batches ? (request.inputs[0]?.shape[0] ?? 1) : 1;
    const parts: Tensor[] = [];
    const states: Tensor[] = [];
    let error: TritonError | undefined;
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i]!;
      const cursor = cursors[i]!;
      const wanted = request.requestedOutputs.includes(output.name);
      const isState = request.state?.outputs.includes(output.name) ?? false;
      const scatter = scattered.get(output.name);
      let part: Tensor | undefined;
      if (scatter !== undefined) {
        const shape = pieceShape(scatter, request);
        part = { ...output, shape, data: cursor.take(elementCount(shape)) };
      } else if (!batches) {
        part = output;
      } else if (rowsBefore + rows <= (output.shape[0] ?? 0)) {
        const shape = [rows, ...output.shape.slice(1)];
        part = { ...output, shape, data: cursor.take(elementCount(shape)) };
      } else if (wanted || isState) {
        error ??= tooSmall(request, output, rowsBefore + rows, isState);
      }
      if (part === undefined) continue;
      if (wanted) parts.push(part);
      if (isState) states.push(part);
    }
    rowsBefore += rows;
    if (error === undefined) for (const state of states) request.state?.update(state);
    request.respond(error === undefined ? { outputs: parts } : { outputs: [], error }, true);
  }
}

const NONE: ReadonlyMap<string, ScatteredOutput> = new Map();

function answerWhole(request: ExecutionRequest, outputs: readonly Tensor[], batches: boolean): void {
  const { state } = request;
  const isWanted = ({ name }: Tensor): boolean => request.requestedOutputs.includes(name);
  const used =
    request.requestedOutputs.length === outputs.length
      ? outputs
      : outputs.filter((output) => isWanted(output) || state?.outputs.includes(output.name));
  if (batches) {
    const rows = request.inputs[0]?.shape[0] ?? 1;
    for (let i = 0; i < used.length; i++) {
      const output = used[i]!;
      const available = output.shape[0] ?? 0;
      if (available === rows) continue;
      if (available < rows) {
        const error = tooSmall(request, output, rows, state?.outputs.includes(output.name) ?? false);
        request.respond({ outputs: [], error }, true);
        return;
      }
      // More rows than the request has: the ones in front are its own.
      const shape = [rows, ...output.shape.slice(1)];
      const cut = { ...output, shape, data: new Cursor(output).take(elementCount(shape)) };
      answerWhole(request, used.with(i, cut), batches);
      return;
    }
  }
  if (state === undefined) {
    request.respond({ outputs: used }, true);
    return;
  }
  for (const output of used) if (state.outputs.includes(output.name)) state.update(output);
  request.respond({ outputs: used.filter(isWanted) }, true);
}

function tooSmall(request: ExecutionRequest, output: Tensor, needed: number, isState: boolean): TritonError {
  const kind = isState ? 'output state tensor' : 'output tensor';
  return new TritonError(
    'UNSUPPORTED',
    `${requestPrefix(request.id)}failed to split the ${kind} '${output.name}' in responses: ` +
      `expected batch size of at least ${needed} in model output, got ${output.shape[0] ?? 0}`,
  );
}

/** Takes elements off the front of a tensor. */
class Cursor {
  readonly #data: Uint8Array;
  readonly #elementSize: number;
  #position = 0;

  constructor(output: Tensor) {
    this.#data = output.data;
    this.#elementSize = elementSize(output.datatype);
  }

  take(elements: number): Uint8Array {
    const start = this.#position;
    if (this.#elementSize > 0) this.#position += elements * this.#elementSize;
    else this.#position = skipStrings(this.#data, start, elements);
    return this.#data.subarray(start, this.#position);
  }
}

/** Position behind a number of length-prefixed elements. */
function skipStrings(data: Uint8Array, start: number, count: number): number {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let position = start;
  for (let i = 0; i < count; i++) position += 4 + view.getUint32(position, true);
  return position;
}
