import { nowNs } from '../../../base/clock.js';
import type { RequestTrace } from '../../../contract/request-trace.js';
import type { GrpcCall } from '../../../transport/grpc/grpc-api.js';
import type { CallTrace } from '../../infer/inference-call.js';
import type { FrontTrace } from '../../trace/front-trace.js';
import type { Tracer } from '../../trace/tracer.js';

/** Since when a method or a stream has been waiting for its next request; kept up while the tracer is active. */
export class WaitForRequest {
  #sinceNs = nowNs();

  /** The next request has come: when the wait for it began. */
  next(now: number): number {
    const since = this.#sinceNs;
    this.#sinceNs = now;
    return since;
  }
}

/** What gRPC reports of a traced request; all of it stands behind the engine's part. */
export class GrpcTrace implements CallTrace {
  readonly request: RequestTrace;
  readonly #trace: FrontTrace;
  #responded = false;

  private constructor(trace: FrontTrace) {
    this.#trace = trace;
    this.request = trace.request;
  }

  /** The trace of a request, if this one is to be traced. Called only while the tracer is active. */
  static start(tracer: Tracer, model: string, call: GrpcCall, wait: WaitForRequest): GrpcTrace | undefined {
    const now = nowNs();
    const since = wait.next(now);
    const trace = tracer.start(model, (name) => call.metadata(name));
    if (trace === undefined) return undefined;
    trace.lateEvent('GRPC_WAITREAD_START', since);
    trace.lateEvent('GRPC_WAITREAD_END', now);
    return new GrpcTrace(trace);
  }

  /** The first call counts, whatever the engine handed over. */
  responded(): void {
    if (this.#responded) return;
    this.#responded = true;
    this.#trace.lateEvent('INFER_RESPONSE_COMPLETE', nowNs());
  }

  /** Does what sends a message. */
  sending(send: () => void): void {
    const start = nowNs();
    send();
    this.#trace.lateEvent('GRPC_SEND_START', start);
    this.#trace.lateEvent('GRPC_SEND_END', nowNs());
  }

  /** Nothing more will be sent. Once only. */
  end(): void {
    this.#trace.end();
  }
}
