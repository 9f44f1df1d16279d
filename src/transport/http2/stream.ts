import { ByteQueue } from '../byte-queue.js';
import type { HeaderSource, Http2ServerStream, Http2StreamListener } from './http2-api.js';
import type { Http2ErrorCode } from './protocol.js';
import type { RequestHead } from './request-head.js';

/** Of a stream whose handler has not returned: it hears nothing. */
const NO_LISTENER: Http2StreamListener = {
  onData() {},
  onEnd() {},
  onAbort() {},
  onWritable() {},
  onFinished() {},
  onStalled() {},
  incomplete: false,
};

/** What a stream needs of its connection. */
export interface StreamOwner {
  sendHeaders(stream: Stream, source: HeaderSource, end: boolean): void;
  sendData(stream: Stream, pieces: readonly Uint8Array[], size: number): boolean;
  sendEnd(stream: Stream): void;
  admits(size: number): boolean;
  consumed(stream: Stream, size: number): void;
  reset(stream: Stream, code: Http2ErrorCode): void;
}

/** State of one stream, kept by the connection while either side is open. */
export class Stream implements Http2ServerStream {
  readonly id: number;
  readonly head: RequestHead;
  listener: Http2StreamListener = NO_LISTENER;
  /** The peer has ended its side, we have ended ours, the stream is over. */
  remoteEnded = false;
  localEnded = false;
  closed = false;
  /** Bytes that we may send, more or less than the peer's setting for new streams says. */
  sendDelta = 0;
  /** Bytes that the peer may send, and those to be given back to it. */
  receiveWindow: number;
  returnable = 0;
  /** Bytes of the body so far. */
  received = 0;
  /** Handed to the listener and not yet consumed. */
  unread = 0;
  /** Data that waits for windows. */
  readonly queue = new ByteQueue();
  /** The connection's ticks at which data came, and at which data was sent or began to wait. */
  receivedAt: number;
  sentAt: number;
  /** Whether the listener was asked to wait. */
  waiting = false;
  /** What ends the stream behind the data: a header block, or an empty frame. */
  trailers: HeaderSource | 'none' | undefined;
  readonly #owner: StreamOwner;

  // biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
  constructor(owner: StreamOwner, id: number, head: RequestHead, receiveWindow: number, tick: number) {
    this.#owner = owner;
    this.id = id;
    this.head = head;
    this.receiveWindow = receiveWindow;
    this.receivedAt = tick;
    this.sentAt = tick;
  }

  get queued(): number {
    return this.queue.size;
  }

  admits(size: number): boolean {
    return this.#owner.admits(size);
  }

  consumed(size: number): void {
    this.#owner.consumed(this, size);
  }

  sendHeaders(source: HeaderSource, end: boolean): void {
    this.#owner.sendHeaders(this, source, end);
  }

  sendData(pieces: readonly Uint8Array[], size: number): boolean {
    return this.#owner.sendData(this, pieces, size);
  }

  sendEnd(): void {
    this.#owner.sendEnd(this);
  }

  reset(code: Http2ErrorCode): void {
    this.#owner.reset(this, code);
  }
}
