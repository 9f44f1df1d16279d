import { requestPrefix } from '../../engine/request/validate-request.js';
import { elementSize } from '../../protocol/datatype.js';
import { TritonError } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { ExecutionRequest } from '../backend.js';

/**
 * Splits the outputs of a batch back into its requests and answers them: along dimension 0 for models that batch
 * (views, no copies), whole tensors for others. Requests get the outputs they asked for, in the order of `outputs`.
 * A tensor with too few rows fails just the requests that it does not reach (spec: runtime, section 1.8).
 */
export function scatterOutputs(batch: readonly ExecutionRequest[], outputs: readonly Tensor[], batches: boolean): void {
  if (batch.length === 1) {
    answerWhole(batch[0]!, outputs, batches);
    return;
  }
  const cursors = outputs.map((output) => new Cursor(output));
  let rowsBefore = 0;
  for (const request of batch) {
    const rows = request.inputs[0]?.shape[0] ?? 1;
    const parts: Tensor[] = [];
    let error: TritonError | undefined;
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i]!;
      const available = output.shape[0] ?? 0;
      const wanted = request.requestedOutputs.includes(output.name);
      if (rowsBefore + rows > available) {
        if (wanted) error ??= tooSmall(request, output, rowsBefore + rows);
        continue;
      }
      const data = cursors[i]!.take(rows);
      if (wanted) parts.push({ ...output, shape: [rows, ...output.shape.slice(1)], data });
    }
    rowsBefore += rows;
    request.respond(error === undefined ? { outputs: parts } : { outputs: [], error }, true);
  }
}

function answerWhole(request: ExecutionRequest, outputs: readonly Tensor[], batches: boolean): void {
  const wanted =
    request.requestedOutputs.length === outputs.length
      ? outputs
      : outputs.filter((output) => request.requestedOutputs.includes(output.name));
  if (batches) {
    const rows = request.inputs[0]?.shape[0] ?? 1;
    for (let i = 0; i < wanted.length; i++) {
      const output = wanted[i]!;
      const available = output.shape[0] ?? 0;
      if (available === rows) continue;
      if (available < rows) {
        request.respond({ outputs: [], error: tooSmall(request, output, rows) }, true);
        return;
      }
      // More rows than the request has: the ones in front are its own.
      const data = new Cursor(output).take(rows);
      const cut = { ...output, shape: [rows, ...output.shape.slice(1)], data };
      answerWhole(request, wanted.with(i, cut), batches);
      return;
    }
  }
  request.respond({ outputs: wanted }, true);
}

function tooSmall(request: ExecutionRequest, output: Tensor, needed: number): TritonError {
  return new TritonError(
    'UNSUPPORTED',
    `${requestPrefix(request.id)}failed to split the output tensor '${output.name}' in responses: ` +
      `expected batch size of at least ${needed} in model output, got ${output.shape[0] ?? 0}`,
  );
}

/** Takes rows off the front of a tensor. */
class Cursor {
  readonly #data: Uint8Array;
  readonly #elementSize: number;
  readonly #rowElements: number;
  #position = 0;

  constructor(output: Tensor) {
    this.#data = output.data;
    this.#elementSize = elementSize(output.datatype);
    this.#rowElements = output.shape.slice(1).reduce((product, dim) => product * dim, 1);
  }

  take(rows: number): Uint8Array {
    const start = this.#position;
    const elements = rows * this.#rowElements;
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
