import type { Tensor } from '../protocol/tensor.js';

/** Points in the life of a request that the engine reports, beside its start and its end. */
export type EngineEvent =
  | 'QUEUE_START'
  | 'COMPUTE_START'
  | 'COMPUTE_INPUT_END'
  | 'COMPUTE_OUTPUT_START'
  | 'COMPUTE_END';

/** Tensors that the engine reports. */
export type TensorActivity = 'TENSOR_QUEUE_INPUT' | 'TENSOR_BACKEND_OUTPUT';

/**
 * What the engine reports about one request that is traced; undefined on every other request, so that tracing costs
 * nothing while it is off. Times are ns of base/clock.ts. `begin` comes first, `end` or `abandon` last.
 */
export interface RequestTrace {
  /** The request passed validation. `version` as text. */
  begin(model: string, version: string, requestId: string, ns: number): void;
  event(name: EngineEvent, ns: number): void;
  tensors(activity: TensorActivity, tensors: readonly Tensor[]): void;
  /** A trace of its own for a request that this one causes: a step of an ensemble, a call of a model. */
  child(): RequestTrace;
  /** What models may pass on to others, as JSON; undefined where there is nothing. */
  readonly context: string | undefined;
  /** The request was answered and counted. */
  end(ns: number): void;
  /** The scheduler refused the request. */
  abandon(): void;
}
