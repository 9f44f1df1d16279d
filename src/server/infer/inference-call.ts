/**
 * The life of an inference request in the server, whatever endpoint it came to: the model is looked up, a trace begins, the
 * decoded request is submitted, and what it holds is given back after its last response. Endpoints decode before and
 * encode and send after.
 */

import { TritonError } from '../../base/error.js';
import type { Log } from '../../base/log.js';
import type { ReadyModel } from '../../contract/engine.js';
import type { InferenceRequest, InferenceResponse, PendingRequest, ResponseHandler } from '../../contract/request.js';
import type { RequestTrace } from '../../contract/request-trace.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { RegionLease } from '../../protocol/infer/shared-memory.js';
import { cutText } from '../../transport/cut-text.js';
import type { ServerContext } from '../context/server-context.js';
import type { Tracer } from '../trace/tracer.js';
import { withForwardedHeaders } from './forward-headers.js';
import { RequestTiming, TIMING_HEADER } from './request-timing.js';
import { VerboseBuffers } from './verbose-buffers.js';

/** What sets one inference endpoint apart from the others. */
export interface CallKind {
  readonly protocol: 'http' | 'grpc';
  /** How models are refused that may send any number of responses; absent where such models are served. */
  readonly refusesDecoupled?: string;
  /** Headers that `--http-header-forward-pattern` or `--grpc-header-forward-pattern` names become parameters. */
  readonly forwardsHeaders: boolean;
  /** The header `triton-request-timing` asks for the times of the request. */
  readonly timed: boolean;
  /** The verbose log shows the buffers of the outputs. */
  readonly logsBuffers: boolean;
}

/** What a front end reports of a traced request. */
export interface CallTrace {
  /** Goes with the request into the engine. */
  readonly request: RequestTrace;
  /** The engine has handed something over. `some`: a response, or the end of a model that may send any number of them. */
  responded(some: boolean): void;
}

/** Who waits for the responses, as the protocol shows it. */
export interface CallClient {
  /** The message that the tensors of the request may be views on; undefined where they never are. */
  readonly message: Uint8Array | undefined;
  /** Value of a header or metadata key (lower case). */
  header(name: string): string | undefined;
  headers(): Iterable<readonly [name: string, value: string]>;
  /** The engine counts these bytes of the message from now on. */
  handOver(bytes: number): void;
  /** Calls `listener` once when nobody waits for the responses any more. */
  onGone(listener: () => void): void;
  /** The memory of the message is not needed any more. May be called more than once. */
  release(): void;
}

/** What is submitted: a request, and what it holds of shared memory. */
export interface Submission {
  readonly request: InferenceRequest;
  readonly sharedMemory?: RegionLease;
}

/** One request to a model. */
export class InferenceCall<Trace extends CallTrace> {
  readonly model: ReadyModel;
  /** Absent where the request is not traced. */
  trace: Trace | undefined;
  /** The id of the request once it is submitted; '' before and where it has none. */
  id = '';
  /** The times of the request where the client asked for them. */
  timing: RequestTiming | undefined;
  readonly #context: ServerContext;
  readonly #kind: CallKind;
  readonly #version: string;
  #client: CallClient | undefined;
  #lease: RegionLease | undefined;
  #buffers: VerboseBuffers | undefined;
  #pending: PendingRequest | undefined;
  #cancelled = false;

  private constructor(context: ServerContext, kind: CallKind, model: ReadyModel, version: string) {
    this.#context = context;
    this.#kind = kind;
    this.model = model;
    this.#version = version;
  }

  /**
   * Looks the model up and begins the trace, where the request is to be traced. Throws NOT_FOUND, UNAVAILABLE, INVALID_ARG
   * for a model that cannot be had, and UNSUPPORTED for one that the endpoint does not serve.
   */
  static begin<Trace extends CallTrace>(
    context: ServerContext,
    kind: CallKind,
    { model: name, version }: { readonly model: string; readonly version: string },
    startTrace: (tracer: Tracer) => Trace | undefined,
  ): InferenceCall<Trace> {
    const model = context.engine.model(name, version);
    if (model.decoupled && kind.refusesDecoupled !== undefined) {
      throw new TritonError('UNSUPPORTED', kind.refusesDecoupled);
    }
    const call = new InferenceCall<Trace>(context, kind, model, version);
    const { tracer } = context;
    if (tracer.active) call.trace = startTrace(tracer);
    return call;
  }

  /**
   * Submits the decoded request; `onResponse` gets the responses. When this throws (INVALID_ARG, UNAVAILABLE, ...),
   * what the request held is given back.
   */
  submit(submission: Submission, client: CallClient, onResponse: ResponseHandler): void {
    const { model, trace } = this;
    this.id = submission.request.id;
    this.#client = client;
    this.#lease = submission.sharedMemory;
    try {
      if (this.#kind.protocol === 'grpc') this.#context.admission.check(model, submission.request);
      const request = this.#prepare(submission.request, client);
      if (client.message !== undefined) client.handOver(viewedBytes(request, client.message));
      const pending = model.submit(request, (response, final) => {
        trace?.responded(response !== undefined || model.decoupled);
        onResponse(response, final);
      });
      this.#pending = pending;
      // A response that came before `submit` returned may have ended the call.
      if (this.#cancelled) pending.cancel();
      client.onGone(() => pending.cancel());
    } catch (reason) {
      this.release();
      throw reason;
    }
  }

  /**
   * The same for an endpoint that sends one response: `use` gets the first one and how many there were, once after the last
   * one and when all times are known that the client asked for.
   */
  submitForOne(
    submission: Submission,
    client: CallClient,
    use: (first: InferenceResponse | undefined, count: number) => void,
  ): void {
    let count = 0;
    let first: InferenceResponse | undefined;
    this.submit(submission, client, (response, final) => {
      if (response !== undefined) {
        count++;
        first ??= response;
      }
      if (!final) return;
      if (this.timing === undefined) use(first, count);
      else this.timing.whenKnown(() => use(first, count));
    });
  }

  /** Asks for the end of the request: what is queued is dropped, models that ask learn of it. */
  cancel(): void {
    this.#cancelled = true;
    this.#pending?.cancel();
  }

  /** Gives back what the request holds: after its last response was encoded or sent. */
  release(): void {
    this.#buffers?.release();
    this.#lease?.release();
    this.#client?.release();
  }

  /** The request with everything that the endpoint adds to it. */
  #prepare(decoded: InferenceRequest, client: CallClient): InferenceRequest {
    const kind = this.#kind;
    const { log, options } = this.#context;
    const pattern = kind.forwardsHeaders ? options[kind.protocol].headerForward : undefined;
    const request = pattern === undefined ? decoded : withForwardedHeaders(decoded, pattern, client.headers());
    if (kind.timed && client.header(TIMING_HEADER) !== undefined) this.timing = new RequestTiming(this.trace?.request);
    if (kind.logsBuffers && log.isVerbose(1)) this.#buffers = new VerboseBuffers(log, kind.protocol, this.#version);
    const trace = this.timing ?? this.trace?.request;
    if (trace === undefined && this.#buffers === undefined) return request;
    return { ...request, trace, verbose: this.#buffers };
  }
}

/** The verbose record of a request that was refused. `id` '' = none. */
export function logRefusal(log: Log, id: string, reason: unknown): void {
  if (log.isVerbose?.(1) !== true) return;
  log.verbose(1, cutText(`${requestPrefix(id)}Infer failed: ${TritonError.from(reason).message}`));
}

/**
 * Bytes of a request's tensors that are views on the message they came in. The engine counts tensors from admission to the
 * last response; so for these bytes the front end hands its own count over, or they would be counted twice.
 */
function viewedBytes({ inputs, raw }: InferenceRequest, message: Uint8Array): number {
  let bytes = raw?.buffer === message.buffer ? raw.byteLength : 0;
  for (let i = 0; i < inputs.length; i++) {
    const { data } = inputs[i]!;
    if (data.buffer === message.buffer) bytes += data.byteLength;
  }
  return bytes;
}
