import type { Dispatcher } from 'undici';
import { nowNs } from '../../base/clock.js';
import type { CallTiming } from '../api/client.js';
import { cancelledByCaller, deadlineExceeded, httpSystemError } from '../core/errors.js';

/** One request as it is handed to undici. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array | readonly Uint8Array[];
}

/** The parts of a request's body. */
export function chunksOf(body: HttpRequest['body']): readonly Uint8Array[] {
  if (body === undefined) return [];
  return body instanceof Uint8Array ? [body] : body;
}

/** Several chunks as one; a single one is not copied. */
export function joined(chunks: readonly Uint8Array[]): Buffer {
  const first = chunks[0];
  if (chunks.length === 1 && first !== undefined) return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  return Buffer.concat(chunks);
}

/** A complete response. */
export interface HttpResponse {
  readonly status: number;
  /** Value of `Inference-Header-Content-Length`, where it was sent. */
  readonly headerLength: number | undefined;
  readonly encoding: string | undefined;
  /** One contiguous block; a view on the socket's buffer when it came in one read. */
  readonly body: Uint8Array;
  readonly timing: CallTiming;
}

/** Bodies announced with at most this length are collected in one block that is allocated at once. */
const MAX_PREALLOCATED = 1 << 30;

/**
 * Sends a request and collects the response. Rejects with a TritonError: UNAVAILABLE `Deadline Exceeded` after
 * `timeoutMs` (0 = no limit), CANCELLED when the signal fires, the system's error otherwise.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(cancelledByCaller(signal));
      return;
    }
    const handler = new Exchange(resolve, reject, timeoutMs, signal);
    try {
      dispatcher.dispatch(request as unknown as Dispatcher.DispatchOptions, handler as Dispatcher.DispatchHandler);
    } catch (reason) {
      handler.onError(reason);
    }
  });
}

/**
 * Handler in undici's first handler interface. It saves the wrapper objects and the parsed header record of the newer
 * one, and it alone reports when the request was written; this is the hot path of the load generator.
 */
class Exchange implements CallTiming {
  sendStartNs = 0;
  sendEndNs = 0;
  receiveStartNs = 0;
  receiveEndNs = 0;
  #status = 0;
  #headerLength: number | undefined;
  #encoding: string | undefined;
  #contentLength = -1;
  #first: Uint8Array | undefined;
  /** Destination of an announced body that comes in several reads, or the reads themselves. */
  #block: Uint8Array | undefined;
  #chunks: Uint8Array[] | undefined;
  #received = 0;
  #abort: ((reason?: Error) => void) | undefined;
  #early: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (reason: Error) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: (() => void) | undefined;

  constructor(
    resolve: (response: HttpResponse) => void,
    reject: (reason: Error) => void,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    this.sendStartNs = nowNs();
    if (timeoutMs > 0) this.#timer = setTimeout(() => this.#giveUp(deadlineExceeded()), timeoutMs);
    if (signal !== undefined) {
      this.#onAbort = () => this.#giveUp(cancelledByCaller(signal));
      signal.addEventListener('abort', this.#onAbort, { once: true });
    }
  }

  /** Called when the request is about to be written (again, when undici had to take another connection). */
  onConnect(abort: (reason?: Error) => void): void {
    if (this.#early) {
      abort(this.#early);
      return;
    }
    this.#abort = abort;
    this.sendStartNs = nowNs();
  }

  onRequestSent(): void {
    this.sendEndNs = nowNs();
  }

  onHeaders(status: number, headers: readonly Buffer[]): boolean {
    this.receiveStartNs = nowNs();
    if (status < 200) return true;
    this.#status = status;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as Buffer;
      // The lengths of the three names differ, so that hardly any header is turned into a string.
      if (name.length === 31 && equals(name, 'inference-header-content-length')) {
        this.#headerLength = Number((headers[i + 1] as Buffer).toString('latin1'));
      } else if (name.length === 14 && equals(name, 'content-length')) {
        this.#contentLength = Number((headers[i + 1] as Buffer).toString('latin1'));
      } else if (name.length === 16 && equals(name, 'content-encoding')) {
        this.#encoding = (headers[i + 1] as Buffer).toString('latin1');
      }
    }
    return true;
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#received === 0) {
      this.#first = chunk;
    } else if (this.#block !== undefined) {
      this.#block.set(chunk, this.#received);
    } else if (this.#chunks !== undefined) {
      this.#chunks.push(chunk);
    } else if (this.#contentLength > this.#received && this.#contentLength <= MAX_PREALLOCATED) {
      this.#block = Buffer.allocUnsafeSlow(this.#contentLength);
      this.#block.set(this.#first as Uint8Array);
      this.#block.set(chunk, this.#received);
    } else {
      this.#chunks = [this.#first as Uint8Array, chunk];
    }
    this.#received += chunk.length;
    return true;
  }

  onComplete(): void {
    this.receiveEndNs = nowNs();
    this.#release();
    const body = this.#block ?? (this.#chunks ? Buffer.concat(this.#chunks) : this.#first) ?? new Uint8Array(0);
    this.#resolve({
      status: this.#status,
      headerLength: this.#headerLength,
      encoding: this.#encoding,
      body,
      timing: this,
    });
  }

  onError(reason: unknown): void {
    this.#release();
    this.#reject(this.#early ?? httpSystemError(reason));
  }

  /** Ends the call before its response; a request that waits for a connection is dropped when it gets one. */
  #giveUp(reason: Error): void {
    this.#early = reason;
    this.#release();
    if (this.#abort) this.#abort(reason);
    else this.#reject(reason);
  }

  #release(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** Compares a header name of the right length, whatever its case. */
function equals(name: Buffer, lower: string): boolean {
  for (let i = 0; i < name.length; i++) {
    if (((name[i] as number) | 0x20) !== (lower.charCodeAt(i) | 0x20)) return false;
  }
  return true;
}
