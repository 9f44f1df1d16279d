/** The times of one request, sent with its response when the client asks for them. Triton has nothing like it. */
import { nowNs } from '../../base/clock.js';
import type { EngineEvent, RequestTrace, TensorActivity } from '../../contract/request-trace.js';
import type { Parameters, Tensor } from '../../protocol/tensor.js';
import type { HeaderList } from '../../transport/http1/http1-api.js';

/** Header (HTTP) and metadata key (gRPC) that asks; any value will do. */
export const TIMING_HEADER = 'triton-request-timing';

/** Stretches of a request's life by name, with the events at their ends. */
const STRETCHES: readonly (readonly [name: string, from: EngineEvent, to: EngineEvent])[] = [
  ['queue', 'QUEUE_START', 'COMPUTE_START'],
  ['compute_input', 'COMPUTE_START', 'COMPUTE_INPUT_END'],
  ['compute_infer', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START'],
  ['compute_output', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'],
];

/**
 * Listens to the engine's reports, hands them on to the request's trace where it has one, and holds the response back until
 * all times are known, which is right after the response. A response out of the cache and an ensemble have no execution
 * of their own: only their total is sent.
 */
export class RequestTiming implements RequestTrace {
  readonly #trace: RequestTrace | undefined;
  readonly #events = new Map<EngineEvent, number>();
  #startNs = 0;
  #ended = false;
  #waiting: (() => void) | undefined;

  constructor(trace: RequestTrace | undefined) {
    this.#trace = trace;
  }

  get context(): string | undefined {
    return this.#trace?.context;
  }

  begin(model: string, version: string, requestId: string, ns: number): void {
    this.#startNs = ns;
    this.#trace?.begin(model, version, requestId, ns);
  }

  event(name: EngineEvent, ns: number): void {
    this.#events.set(name, ns);
    this.#trace?.event(name, ns);
  }

  tensors(activity: TensorActivity, tensors: readonly Tensor[]): void {
    this.#trace?.tensors(activity, tensors);
  }

  child(): RequestTrace {
    return this.#trace?.child() ?? NOBODY;
  }

  end(ns: number): void {
    this.#ended = true;
    this.#trace?.end(ns);
    this.#waiting?.();
  }

  abandon(): void {
    this.#trace?.abandon();
  }

  /** Calls `send` once all times are known; at once if they are. */
  whenKnown(send: () => void): void {
    if (this.#ended) send();
    else this.#waiting = send;
  }

  /** As the response header of the Server Timing standard, in milliseconds: browsers show it. */
  headers(): HeaderList {
    const parts = this.#stretches().map(([name, ns]) => `${name.replace('_', '-')};dur=${(ns / 1e6).toFixed(3)}`);
    return [['Server-Timing', parts.join(', ')]];
  }

  /** As response parameters `timing_<stretch>_ns`. */
  parameters(): Parameters {
    return this.#stretches().map(([name, ns]) => [`timing_${name}_ns`, BigInt(Math.round(ns))] as const);
  }

  #stretches(): [name: string, ns: number][] {
    const found: [string, number][] = [];
    for (const [name, from, to] of STRETCHES) {
      const start = this.#events.get(from);
      const end = this.#events.get(to);
      if (start !== undefined && end !== undefined) found.push([name, Math.max(end - start, 0)]);
    }
    found.push(['total', nowNs() - this.#startNs]);
    return found;
  }
}

/** Stands for the steps of an ensemble that is timed and not traced. */
const NOBODY: RequestTrace = {
  context: undefined,
  begin() {},
  event() {},
  tensors() {},
  child: () => NOBODY,
  end() {},
  abandon() {},
};
