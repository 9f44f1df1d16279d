/**
 * Delays that test suites made for Triton ask for by environment variables (docs/environment.md). Each concerns its own request and
 * blocks nothing else.
 */
import type { Log } from '../../../base/log.js';
import type { ResponseHandler } from '../../../contract/request.js';
import type { GrpcCall, GrpcMethod } from '../../../transport/grpc/grpc-api.js';

/** Longest delay that a timer takes, in ms. */
const MAX_DELAY_MS = 2_147_483_647;

/** Delays of inference calls, in ms; 0 = none. */
export interface GrpcDelays {
  /** Before a request of ModelInfer is handled. One that is cancelled meanwhile is not executed. */
  readonly process: number;
  /** Before each response of a decoupled model is written to its stream. */
  readonly response: number;
  /** Before a stream learns that a request to a decoupled model is complete. */
  readonly complete: number;
  /** Before the response of ModelInfer is handled. */
  readonly responseCompletion: number;
  /** Before a cancellation by the client is handled. */
  readonly notification: number;
  /** Before a request of ModelInfer that was cancelled gives back what it holds. */
  readonly enqueue: number;
}

/** The delays that the environment asks for; undefined where there are none. */
export function grpcDelays(): GrpcDelays | undefined {
  const delays = {
    process: numberOf('TRITONSERVER_DELAY_GRPC_PROCESS') + numberOf('TRITONSERVER_DELAY_GRPC_PROCESS_ENTRY'),
    response: numberOf('TRITONSERVER_DELAY_GRPC_RESPONSE'),
    complete: numberOf('TRITONSERVER_DELAY_GRPC_COMPLETE'),
    responseCompletion:
      numberOf('TRITONSERVER_DELAY_RESPONSE_COMPLETE_EXEC') + numberOf('TRITONSERVER_DELAY_RESPONSE_COMPLETION'),
    notification: numberOf('TRITONSERVER_DELAY_GRPC_NOTIFICATION'),
    enqueue: numberOf('TRITONSERVER_DELAY_GRPC_ENQUEUE'),
  };
  return Object.values(delays).some((ms) => ms > 0) ? delays : undefined;
}

/** Calls `action` after `ms` milliseconds, with an info record that says `what` is delayed; at once where it is 0. */
export function afterDelay(ms: number, log: Log, what: string, action: () => void): void {
  if (ms === 0) {
    action();
    return;
  }
  log.info(`Delaying ${what} by ${ms} ms...`);
  setTimeout(action, Math.min(ms, MAX_DELAY_MS)).unref();
}

/** `deliver`, with each response and the end of the request delayed; what comes later waits for what is before it. */
export function delayedResponses(
  { response, complete }: GrpcDelays,
  log: Log,
  deliver: ResponseHandler,
): ResponseHandler {
  const waiting: Parameters<ResponseHandler>[] = [];
  const next = (): void => {
    const first = waiting[0];
    if (first === undefined) return;
    const [answer, final] = first;
    afterDelay(answer === undefined ? 0 : response, log, 'the write of the response', () =>
      afterDelay(final ? complete : 0, log, 'the completion of the request', () => {
        deliver(answer, final);
        waiting.shift();
        next();
      }),
    );
  };
  return (answer, final) => {
    waiting.push([answer, final]);
    if (waiting.length === 1) next();
  };
}

/** The method of an endpoint other than inference, with its responses delayed as the environment asks for, in s. */
export function withResponseDelay(method: GrpcMethod): GrpcMethod {
  const ms = Math.min(numberOf('TRITONSERVER_SERVER_DELAY_GRPC_RESPONSE_SEC') * 1000, MAX_DELAY_MS);
  if (ms === 0 || method.kind !== 'unary') return method;
  return { kind: 'unary', handle: (call, message) => method.handle(new LateCall(call, ms), message) };
}

/** A unary call whose response leaves some time after it was made. */
class LateCall implements GrpcCall {
  readonly #call: GrpcCall;
  readonly #ms: number;
  readonly #messages: (Uint8Array | readonly Uint8Array[])[] = [];

  constructor(call: GrpcCall, ms: number) {
    this.#call = call;
    this.#ms = ms;
  }

  get path(): string {
    return this.#call.path;
  }

  get deadlineMs(): number | undefined {
    return this.#call.deadlineMs;
  }

  get cancelled(): boolean {
    return this.#call.cancelled;
  }

  metadata(name: string): string | undefined {
    return this.#call.metadata(name);
  }

  metadataBinary(name: string): Uint8Array | undefined {
    return this.#call.metadataBinary(name);
  }

  metadataEntries(): Iterable<readonly [name: string, value: string]> {
    return this.#call.metadataEntries();
  }

  compress(level: Parameters<GrpcCall['compress']>[0]): void {
    this.#call.compress(level);
  }

  send(message: Uint8Array | readonly Uint8Array[]): boolean {
    this.#messages.push(message);
    return true;
  }

  onDrain(listener: () => void): void {
    this.#call.onDrain(listener);
  }

  retain(): ReturnType<GrpcCall['retain']> {
    return this.#call.retain();
  }

  finish(status: number, message?: string): void {
    setTimeout(() => {
      for (const part of this.#messages) this.#call.send(part);
      this.#call.finish(status, message);
    }, this.#ms).unref();
  }

  onCancel(listener: () => void): void {
    this.#call.onCancel(listener);
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }
}

/** As C's atoi reads it, but not below 0. */
function numberOf(variable: string): number {
  const count = Number.parseInt(process.env[variable] ?? '', 10);
  return Number.isFinite(count) ? Math.max(0, count) : 0;
}
