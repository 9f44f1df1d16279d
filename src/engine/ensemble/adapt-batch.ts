/**
 * The shape under which a tensor is handed from one model to another when just one of them batches.
 * `dims`: what the receiver's configuration says, without a batch dimension.
 */
export function adaptBatch(
  shape: readonly number[],
  dims: readonly number[],
  senderBatches: boolean,
  receiverBatches: boolean,
): readonly number[] {
  if (senderBatches === receiverBatches) return shape;
  // A sender without batches may have made the batch dimension itself; otherwise its tensor is a batch of one.
  if (receiverBatches) return matches(shape, dims) ? [1, ...shape] : shape;
  return !matches(shape, dims) && shape[0] === 1 ? shape.slice(1) : shape;
}

function matches(shape: readonly number[], dims: readonly number[]): boolean {
  if (shape.length !== dims.length) return false;
  for (let i = 0; i < dims.length; i++) if (dims[i] !== -1 && dims[i] !== shape[i]) return false;
  return true;
}
