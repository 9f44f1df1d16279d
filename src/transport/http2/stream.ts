import type { HeaderSource, Http2ServerStream, Http2StreamListener } from './http2-api.js';
import type { Http2ErrorCode } from './protocol.js';
import type { RequestHead } from './request-head.js';

/** What a stream needs of its connection. */
export interface StreamOwner {
  sendHeaders(stream: Stream, source: HeaderSource, end: boolean): void;
  sendData(stream: Stream, pieces: readonly Uint8Array[], size: number): boolean;
  sendEnd(stream: Stream): void;
  consumed(stream: Stream, size: number): void;
  reset(stream: Stream, code: Http2ErrorCode): void;
}

/** State of one stream, kept by the connection while either side is open. */
export class Stream implements Http2ServerStream {
  readonly id: number;
  readonly head: RequestHead;
  listener!: Http2StreamListener;
  /** The peer has ended its side, we have ended ours, the stream is over. */
  remoteEnded = false;
  localEnded = false;
  closed = false;
  /** Bytes that we may send, that the peer may send, and those to be given back to it. */
  sendWindow: number;
  receiveWindow: number;
  returnable = 0;
  /** Bytes of the body so far. */
  received = 0;
  /** Handed to the listener and not yet consumed. */
  unread = 0;
  /** Data that waits for windows: pieces, the first of them without its first `sentOfFirst` bytes. */
  pieces: Uint8Array[] = [];
  sentOfFirst = 0;
  queued = 0;
  /** Whether the listener was told to wait. */
  waiting = false;
  /** What ends the stream behind the data: a header block, or an empty frame. */
  trailers: HeaderSource | 'none' | undefined;
  readonly #owner: StreamOwner;

  constructor(owner: StreamOwner, id: number, head: RequestHead, sendWindow: number, receiveWindow: number) {
    this.#owner = owner;
    this.id = id;
    this.head = head;
    this.sendWindow = sendWindow;
    this.receiveWindow = receiveWindow;
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
