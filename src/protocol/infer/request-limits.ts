/** Bounds on what one request may contain, for both protocols. No model comes near them. */
import { invalidArg, type TritonError } from '../error.js';

/** Most inputs, and most outputs, of one request. */
export const MAX_TENSORS = 10_000;

/** Most dimensions of a shape. */
export const MAX_RANK = 1024;

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
