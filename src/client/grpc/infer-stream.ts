import { type ChannelInterface, status as Status } from '@grpc/grpc-js';
import { TritonError } from '../../base/error.js';
import type { CallOptions, InferCall, InferStream, PreparedCall, StreamEvent } from '../api/client.js';
import { cancelledByCaller } from '../core/errors.js';
import { decodeGrpcStreamResponse } from '../infer/grpc-codec.js';
import { deadlineOf, errorOfStatus, metadataOf } from './unary.js';

/** Messages taken from the transport ahead of the reader; beyond, HTTP/2's flow control holds the server. */
const READ_AHEAD = 64;

/** Encodes what is sent on a stream. */
export type StreamEncoder = (call: InferCall | PreparedCall, enableEmptyFinalResponse: boolean) => Buffer;

type Call = ReturnType<ChannelInterface['createCall']>;

/**
 * One ModelStreamInfer call. The iteration ends when the server finishes with OK or after `cancel()`, and throws the
 * TritonError of any other end. Messages that were received are delivered first.
 */
export class GrpcInferStream implements InferStream {
  readonly #call: Call;
  readonly #encode: StreamEncoder;
  readonly #release: () => void;
  readonly #events: StreamEvent[] = [];
  /** Consumers that wait for an event. */
  readonly #waiting: { resolve(result: IteratorResult<StreamEvent>): void; reject(error: Error): void }[] = [];
  #reading = false;
  #halfClosed = false;
  #cancelled = false;
  /** Set when the call is over: the error, or null for a good end. */
  #end: TritonError | null | undefined;

  constructor(channel: ChannelInterface, path: string, encode: StreamEncoder, options: CallOptions) {
    const { signal } = options;
    if (signal?.aborted) throw cancelledByCaller(signal);
    this.#encode = encode;
    this.#call = channel.createCall(path, deadlineOf(options.timeoutMs), null, null, undefined);
    const onAbort = (): void => this.cancel();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#release = () => signal?.removeEventListener('abort', onAbort);
    this.#call.start(metadataOf(options.headers), {
      onReceiveMetadata() {},
      onReceiveMessage: (message: Uint8Array) => this.#receive(message),
      onReceiveStatus: (status) => {
        if (status.code === Status.OK || this.#cancelled) this.#finish(null);
        else this.#finish(errorOfStatus(status));
      },
    });
    this.#readOn();
  }

  send(call: InferCall | PreparedCall, options?: { enableEmptyFinalResponse?: boolean }): Promise<void> {
    if (this.#halfClosed) {
      return Promise.reject(new TritonError('INVALID_ARG', 'the stream was ended: no further request can be sent'));
    }
    if (this.#end !== undefined) return Promise.reject(this.#closedError());
    return new Promise((resolve, reject) => {
      const message = this.#encode(call, options?.enableEmptyFinalResponse ?? false);
      const callback = (error?: Error | null): void => {
        if (error) reject(this.#closedError(error));
        else resolve();
      };
      this.#call.sendMessageWithContext({ callback }, message);
    });
  }

  end(): void {
    if (this.#halfClosed || this.#end !== undefined) return;
    this.#halfClosed = true;
    this.#call.halfClose();
  }

  cancel(): void {
    if (this.#end !== undefined) return;
    this.#cancelled = true;
    this.#call.cancelWithStatus(Status.CANCELLED, 'Locally cancelled by application!');
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamEvent> {
    return {
      next: () => this.#next(),
      return: async () => {
        // The reader left the loop: nobody will read the rest.
        this.cancel();
        return { done: true, value: undefined };
      },
    };
  }

  #next(): Promise<IteratorResult<StreamEvent>> {
    const event = this.#events.shift();
    if (event !== undefined) {
      this.#readOn();
      return Promise.resolve({ done: false, value: event });
    }
    if (this.#end === null) return Promise.resolve({ done: true, value: undefined });
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #receive(message: Uint8Array): void {
    this.#reading = false;
    if (this.#end !== undefined) return;
    let event: StreamEvent;
    try {
      event = decodeGrpcStreamResponse(message);
    } catch (reason) {
      this.#call.cancelWithStatus(Status.INTERNAL, 'malformed response');
      this.#finish(TritonError.from(reason));
      return;
    }
    const reader = this.#waiting.shift();
    if (reader) reader.resolve({ done: false, value: event });
    else this.#events.push(event);
    this.#readOn();
  }

  #readOn(): void {
    if (this.#reading || this.#end !== undefined || this.#events.length >= READ_AHEAD) return;
    this.#reading = true;
    this.#call.startRead();
  }

  #finish(end: TritonError | null): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#release();
    for (const reader of this.#waiting.splice(0)) {
      if (end === null) reader.resolve({ done: true, value: undefined });
      else reader.reject(end);
    }
  }

  #closedError(cause?: Error): TritonError {
    return this.#end ?? new TritonError('UNAVAILABLE', 'the stream is closed', cause ? { cause } : undefined);
  }
}
