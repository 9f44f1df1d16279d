import { TritonError } from '../../base/error.js';
import type { ExecutionRequest } from '../../contract/backend.js';
import { elementSize } from '../../protocol/datatype.js';
import type { Tensor } from '../../protocol/tensor.js';

/**
 * The inputs of a batch as one tensor per name, concatenated along dimension 0 in the order of the requests. A batch of
 * one is handed through without a copy. `ragged` inputs become one 1-D tensor with the elements of all requests.
 */
export function gatherInputs(batch: readonly ExecutionRequest[], ragged: ReadonlySet<string>): readonly Tensor[] {
  const first = batch[0]!;
  if (batch.length === 1 && ragged.size === 0) return first.inputs;
  return first.inputs.map((input) => {
    const parts = batch.map((request) => partOf(request, input.name));
    return ragged.has(input.name) ? flatten(input, parts) : concatenate(input, parts);
  });
}

/** Like `gatherInputs`, but every tensor has memory of its own that may be handed over to another thread. */
export function gatherOwned(batch: readonly ExecutionRequest[], ragged: ReadonlySet<string>): readonly Tensor[] {
  const gathered = gatherInputs(batch, ragged);
  // More than one request: gathering has copied already.
  return batch.length > 1 ? gathered : gathered.map((tensor) => ({ ...tensor, data: join([tensor]) }));
}

function partOf(request: ExecutionRequest, name: string): Tensor {
  const tensor = request.inputs.find((candidate) => candidate.name === name);
  if (tensor === undefined)
    throw new TritonError('INTERNAL', `request '${request.id}' of a batch has no input '${name}'`);
  return tensor;
}

function concatenate(first: Tensor, parts: readonly Tensor[]): Tensor {
  let rows = 0;
  for (const part of parts) rows += part.shape[0] ?? 1;
  return { ...first, shape: [rows, ...first.shape.slice(1)], data: join(parts) };
}

function flatten(first: Tensor, parts: readonly Tensor[]): Tensor {
  let elements = 0;
  for (const part of parts) elements += part.shape.reduce((product, dim) => product * dim, 1);
  return { ...first, shape: [elements], data: parts.length === 1 ? first.data : join(parts) };
}

function join(parts: readonly Tensor[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.data.byteLength;
  // Not from the pool and not zeroed: a buffer of its own, whose bytes are all written below.
  const data = Buffer.allocUnsafeSlow(size);
  let position = 0;
  for (const part of parts) {
    data.set(part.data, position);
    position += part.data.byteLength;
  }
  return data;
}

/** The tensor itself if its bytes start at a multiple of its element size, else a copy that does. */
export function aligned(tensor: Tensor): Uint8Array {
  const size = elementSize(tensor.datatype);
  return size > 1 && tensor.data.byteOffset % size !== 0 ? new Uint8Array(tensor.data) : tensor.data;
}
