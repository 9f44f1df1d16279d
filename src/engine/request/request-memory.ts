import { TritonError } from '../../base/error.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { Tensor } from '../../protocol/tensor.js';

/** An amount of memory that all requests share; the server's is a `ByteBudget` (transport/byte-budget.ts). */
export interface MemoryBudget {
  /** In bytes. */
  readonly limit: number;
  /** Takes bytes; false when they would exceed the limit. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** What a request costs besides its tensors: objects of the engine, the front end and the connection, in bytes. */
const REQUEST_BYTES = 2048;

/**
 * Counts the requests of clients from their admission to their last response against one budget, whatever front end they
 * came through and wherever they wait. Steps of ensembles are not counted: their tensors are their ensemble's, or bounded
 * by the responses of its members.
 */
export class RequestMemory {
  readonly #budget: MemoryBudget;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** Takes what a request costs, in bytes, for `release`. Throws UNAVAILABLE when there is not so much left. */
  admit(id: string, inputs: readonly Tensor[]): number {
    let bytes = REQUEST_BYTES;
    for (let i = 0; i < inputs.length; i++) bytes += inputs[i]!.data.byteLength;
    if (this.#budget.take(bytes)) return bytes;
    throw new TritonError(
      'UNAVAILABLE',
      `${requestPrefix(id)}the requests that the server holds leave no room for one of ${bytes} bytes: together they may ` +
        `have ${this.#budget.limit} (--request-memory-limit). Try again later, send a smaller request, or raise the limit`,
    );
  }

  /** Gives back what `admit` returned. */
  release(bytes: number): void {
    this.#budget.give(bytes);
  }
}
