import { nowNs } from '../../../base/clock.js';
import type { RequestTrace } from '../../../contract/request-trace.js';
import type { HeaderList, Http1ChunkedBody, Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { CallTrace } from '../../infer/inference-call.js';
import type { FrontTrace } from '../../trace/front-trace.js';
import type { Tracer } from '../../trace/tracer.js';

/** What HTTP reports of a traced request. It stands in for the reply, so that it sees when the response is sent. */
export class HttpTrace implements CallTrace, Http1Reply {
  readonly request: RequestTrace;
  readonly #trace: FrontTrace;
  readonly #reply: Http1Reply;
  #responded = false;
  #ended = false;

  private constructor(trace: FrontTrace, reply: Http1Reply) {
    this.#trace = trace;
    this.#reply = reply;
    this.request = trace.request;
  }

  /** The trace of a request, if this one is to be traced. Called only while the tracer is active. */
  static start(tracer: Tracer, model: string, request: Http1Request, reply: Http1Reply): HttpTrace | undefined {
    const trace = tracer.start(model, (name) => request.header(name));
    if (trace === undefined) return undefined;
    const now = nowNs();
    trace.event('HTTP_RECV_START', request.receivedFromNs === 0 ? now : request.receivedFromNs);
    trace.event('HTTP_RECV_END', now);
    return new HttpTrace(trace, reply);
  }

  responded(some: boolean): void {
    if (!some) return;
    this.#responded = true;
    this.#trace.event('INFER_RESPONSE_COMPLETE', nowNs());
  }

  /** Nothing more will be sent. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#trace.end();
  }

  get closed(): boolean {
    return this.#reply.closed;
  }

  send(status: number, headers: HeaderList, body?: Uint8Array | readonly Uint8Array[]): void {
    this.#sending(() => this.#reply.send(status, headers, body));
    this.end();
  }

  startChunked(status: number, headers: HeaderList): Http1ChunkedBody {
    const body = this.#reply.startChunked(status, headers);
    return {
      write: (chunk) => this.#sending(() => body.write(chunk)),
      onDrain: (listener) => body.onDrain(listener),
      end: () => {
        body.end();
        this.end();
      },
    };
  }

  hold(bytes: number): boolean {
    return this.#reply.hold(bytes);
  }

  handOver(bytes: number): void {
    this.#reply.handOver(bytes);
  }

  onClose(listener: () => void): void {
    this.#reply.onClose(listener);
  }

  /** A request that was refused before the engine responded shows no sending (as in Triton). */
  #sending<Result>(send: () => Result): Result {
    if (!this.#responded) return send();
    this.#trace.event('HTTP_SEND_START', nowNs());
    const result = send();
    this.#trace.event('HTTP_SEND_END', nowNs());
    return result;
  }
}
