import { nowNs } from '../../base/clock.js';
import type { InferenceServerClient, InferResult, InferStream } from '../../client/index.js';
import type { RequestPlan } from './request-maker.js';
import { PreparedRequests, type RequestMaker } from './request-maker.js';

/** How a request ended. Times in nanoseconds of the monotonic clock. */
export interface Outcome {
  readonly startNs: number;
  /** Last response that was not empty; 0 when all were. */
  readonly endNs: number;
  /** When the last message came, be it empty or not. */
  readonly doneNs: number;
  /** Responses that were not empty. */
  readonly responses: number;
  /** Times of the client library; all 0 for decoupled responses. */
  readonly sendNs: number;
  readonly receiveNs: number;
  readonly error?: { readonly kind: 'submit' | 'result'; readonly message: string };
  /** Every response in order, where they are wanted. */
  readonly results?: readonly InferResult[];
  readonly responseNs?: readonly number[];
}

/** Sends requests over one connection context. */
export interface Sender {
  /** `done` is called exactly once, later. `startNs` is when the request counts as begun. */
  send(plan: RequestPlan, startNs: number, done: (outcome: Outcome) => void): void;
  close(): Promise<void>;
}

/** What a sender needs besides its client. */
export interface SenderOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Decode responses and hand them over. */
  readonly wantResults: boolean;
  /** Called for every response on a stream, the empty last one too. */
  readonly onResponse?: (id: string) => void;
  /** Failures of asynchronous calls are found in the response, those of synchronous ones in the call. */
  readonly async: boolean;
}

/** One call per request. */
export class UnarySender implements Sender {
  readonly #client: InferenceServerClient;
  readonly #prepared: PreparedRequests;
  readonly #options: SenderOptions;
  readonly #callOptions: { readonly headers: Readonly<Record<string, string>> } | undefined;

  constructor(client: InferenceServerClient, maker: RequestMaker, options: SenderOptions) {
    this.#client = client;
    this.#prepared = new PreparedRequests(client, maker);
    this.#options = options;
    this.#callOptions = Object.keys(options.headers).length > 0 ? { headers: options.headers } : undefined;
  }

  send(plan: RequestPlan, startNs: number, done: (outcome: Outcome) => void): void {
    const prepared = this.#prepared.get(plan);
    this.#client.inferPrepared(prepared, this.#callOptions).then(
      (raw) => {
        const endNs = nowNs();
        const { sendStartNs, sendEndNs, receiveStartNs, receiveEndNs } = raw.timing;
        const base = {
          startNs,
          endNs,
          doneNs: endNs,
          responses: 1,
          sendNs: Math.max(0, sendEndNs - sendStartNs),
          receiveNs: Math.max(0, receiveEndNs - receiveStartNs),
        };
        if (!this.#options.wantResults) done(base);
        else done({ ...base, results: [raw.decode()], responseNs: [endNs] });
      },
      (reason: unknown) => done(failed(startNs, this.#options.async ? 'result' : 'submit', reason)),
    );
  }

  async close(): Promise<void> {
    // The client may be shared; whoever made it closes it.
  }
}

interface PendingStreamRequest {
  readonly startNs: number;
  readonly sendNs: number;
  readonly done: (outcome: Outcome) => void;
  endNs: number;
  responses: number;
  readonly results: InferResult[];
  readonly responseNs: number[];
}

/** All requests over one bidirectional stream; responses are matched by their ids. */
export class StreamSender implements Sender {
  readonly #maker: RequestMaker;
  readonly #options: SenderOptions;
  readonly #stream: InferStream;
  readonly #pending = new Map<string, PendingStreamRequest>();
  readonly #reader: Promise<void>;

  constructor(client: InferenceServerClient, maker: RequestMaker, options: SenderOptions) {
    this.#maker = maker;
    this.#options = options;
    this.#stream = client.stream({ headers: options.headers });
    this.#reader = this.#read();
  }

  send(plan: RequestPlan, startNs: number, done: (outcome: Outcome) => void): void {
    const sendStartNs = nowNs();
    const call = this.#maker.call(plan);
    const sending = this.#stream.send(call, { enableEmptyFinalResponse: true });
    const pending: PendingStreamRequest = {
      startNs,
      sendNs: nowNs() - sendStartNs,
      done,
      endNs: 0,
      responses: 0,
      results: [],
      responseNs: [],
    };
    this.#pending.set(plan.id, pending);
    sending.catch((reason: unknown) => this.#fail(plan.id, 'submit', reason));
  }

  async close(): Promise<void> {
    this.#stream.end();
    await this.#reader;
  }

  async #read(): Promise<void> {
    try {
      for await (const event of this.#stream) {
        if (event.result === undefined) {
          if (event.id === '') this.#failAll(event.error);
          else this.#fail(event.id, 'result', event.error);
        } else this.#receive(event.result, event.final);
      }
      this.#failAll('the server ended the stream');
    } catch (reason) {
      this.#failAll(reason);
    }
  }

  #receive(result: InferResult, final: boolean): void {
    const pending = this.#pending.get(result.id);
    if (pending === undefined) return;
    const receiveStartNs = nowNs();
    // The response that only says "final" carries no outputs.
    const empty = final && result.outputs.length === 0;
    if (!empty) {
      pending.endNs = receiveStartNs;
      pending.responses += 1;
    }
    if (this.#options.wantResults) {
      pending.results.push(result);
      pending.responseNs.push(receiveStartNs);
    }
    this.#options.onResponse?.(result.id);
    if (!final) return;
    this.#pending.delete(result.id);
    const { startNs, endNs, responses, sendNs, done, results, responseNs } = pending;
    const base = { startNs, endNs, doneNs: receiveStartNs, responses, sendNs, receiveNs: 0 };
    done(this.#options.wantResults ? { ...base, results, responseNs } : base);
  }

  #fail(id: string, kind: 'submit' | 'result', reason: unknown): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.done(failed(pending.startNs, kind, reason));
  }

  #failAll(reason: unknown): void {
    for (const id of [...this.#pending.keys()]) this.#fail(id, 'result', reason);
  }
}

function failed(startNs: number, kind: 'submit' | 'result', reason: unknown): Outcome {
  const message = reason instanceof Error ? reason.message : String(reason);
  return { startNs, endNs: 0, doneNs: nowNs(), responses: 0, sendNs: 0, receiveNs: 0, error: { kind, message } };
}
