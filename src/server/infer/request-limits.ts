/** Bounds on what one request may contain, for both protocols. No model comes near them. */
import { invalidArg, type TritonError } from '../../base/error.js';
import { MAX_RANK, MAX_TENSORS } from '../../protocol/proto/infer/infer-types.js';

export { MAX_RANK, MAX_TENSORS } from '../../protocol/proto/infer/infer-types.js';

/** Refuses a request with more inputs or outputs than the bound. */
export function checkTensorCount(what: 'inputs' | 'outputs', count: number): void {
  if (count <= MAX_TENSORS) return;
  throw invalidArg(`the request has ${count} ${what}, the server accepts at most ${MAX_TENSORS}`);
}

/** The refusal of a shape with more dimensions than the bound. */
export function rankRefused(input: string): TritonError {
  return invalidArg(
    `the shape of input '${input}' has more than ${MAX_RANK} dimensions, which is the most that is accepted`,
  );
}
