import type { ExecutionRequest } from '../../contract/backend.js';
import type { Parameters, Tensor } from '../../protocol/tensor.js';

const NOTHING: Parameters = [];

/**
 * Fills a row of a batch that no request uses, so that the row's number stays the sequence's slot. It is executed like
 * any other, its response is dropped, and only its row counts in the statistics.
 */
export class NullRequest implements ExecutionRequest {
  readonly id = '';
  readonly batchSize = 1;
  readonly parameters = NOTHING;
  readonly correlationId = 0n;
  readonly sequenceStart = false;
  readonly sequenceEnd = false;
  readonly priority = 0n;
  readonly timeoutMicroseconds = 0n;
  readonly cancelled = false;

  constructor(
    readonly inputs: readonly Tensor[],
    readonly requestedOutputs: readonly string[],
  ) {}

  respond(): void {}

  reschedule(): void {}
}

/** Zeros in the shape of another request's inputs; BYTES become empty strings. */
export function zerosLike(inputs: readonly Tensor[]): Tensor[] {
  return inputs.map((input) => {
    if (input.datatype !== 'BYTES') return { ...input, data: new Uint8Array(input.data.byteLength) };
    const elements = input.shape.reduce((product, dim) => product * dim, 1);
    return { ...input, data: new Uint8Array(4 * elements) };
  });
}
