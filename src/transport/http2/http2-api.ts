import type { HpackEncoder } from './hpack/encoder.js';
import type { Http2ErrorCode } from './protocol.js';
import type { RequestHead } from './request-head.js';

/** Receives what comes on a stream. */
export interface Http2StreamListener {
  /**
   * Bytes of the body, `bytes[start, end)`; nobody writes to them again. They count against the stream's window until
   * `consumed` gives them back.
   */
  onData(bytes: Buffer, start: number, end: number): void;
  /** The peer sends no more. */
  onEnd(): void;
  /** The stream is over without our having ended it: reset by the peer, or the connection is gone. */
  onAbort(): void;
  /** What was waiting has gone down below the high-water mark. */
  onWritable(): void;
  /** Everything that was sent, the end included, has left; nothing follows. */
  onFinished(): void;
  /** What the peer has begun has made no progress for the time of the option `readTimeoutMs`; the listener ends the stream. */
  onStalled(): void;
  /** Whether the peer has to send more before the stream can be answered, and nothing but the peer holds it up. */
  readonly incomplete: boolean;
}

/**
 * Makes a header block when its turn to be sent has come: blocks must be sent in the order in which they were encoded,
 * because each may change the table that the next one refers to.
 */
export type HeaderSource = (encoder: HpackEncoder) => Uint8Array;

/** The serving side of a stream. */
export interface Http2ServerStream {
  readonly id: number;
  /** Bytes of data that wait for the peer's windows. */
  readonly queued: number;
  /** Whether that many more bytes may wait for the peer to read them; if not, the response must fail. */
  admits(size: number): boolean;
  /** Gives bytes of the receive window back. */
  consumed(size: number): void;
  /** Sends a header block. With `end` it is the last frame, and goes behind all data. */
  sendHeaders(source: HeaderSource, end: boolean): void;
  /** Sends data, in pieces that are not changed any more; `size` is their sum. False: wait for `onWritable`. */
  sendData(pieces: readonly Uint8Array[], size: number): boolean;
  /** Ends the stream behind all data, without trailers. */
  sendEnd(): void;
  /** Ends the stream at once. */
  reset(code: Http2ErrorCode): void;
}

/** Called for each stream that the peer opens. `tooLarge`: the header list was, and is incomplete. */
export type Http2Handler = (stream: Http2ServerStream, head: RequestHead, tooLarge: boolean) => Http2StreamListener;
