/** What a server sees of gRPC: calls, messages as bytes, and the connection itself. */

/** Level of response compression; which algorithm that means depends on what the peer accepts. */
export type GrpcCompressionLevel = 'none' | 'low' | 'medium' | 'high';

/** Gives back the given number of bytes of what was retained, or all that is left of it; may be called any number of times. */
export type Release = (bytes?: number) => void;

/** One call. It stays valid after its end; what is done to it then has no effect. */
export interface GrpcCall {
  /** `/package.Service/Method` */
  readonly path: string;
  /** First value of a metadata key (lower case), as text; keys that end in `-bin` as sent (base64). */
  metadata(name: string): string | undefined;
  /** Decoded value of a `-bin` key, undefined if absent or not base64. */
  metadataBinary(name: string): Uint8Array | undefined;
  /** What the client added to the call, in order, without HTTP/2's and gRPC's own fields (but with `user-agent`). */
  metadataEntries(): Iterable<readonly [name: string, value: string]>;
  /** When the client's deadline passes, on the clock of `performance.now()`; undefined without one. */
  readonly deadlineMs: number | undefined;
  /** Compresses the messages sent from now on, if the peer accepts an algorithm. Default: none. */
  compress(level: GrpcCompressionLevel): void;
  /**
   * Sends one message, given in one or more parts. False: the peer reads slower than we send, wait for `onDrain`. Where
   * too much waits for the peer, or for all peers, the call ends with UNAVAILABLE instead, and is `cancelled`.
   */
  send(message: Uint8Array | readonly Uint8Array[]): boolean;
  /** Calls `listener` once, when what was sent has left; at once if nothing is waiting. */
  onDrain(listener: () => void): void;
  /**
   * The memory of the message that is being handed over is in use, in the budget of the process, until the function that
   * is returned is called; else until the call ends (unary methods) or the listener returns (stream methods).
   */
  retain(): Release;
  /** Ends the call; trailers-only if nothing was sent. */
  finish(status: number, message?: string): void;
  /** True once the peer cancelled, went away, or the deadline passed, before `finish`. */
  readonly cancelled: boolean;
  /** Calls `listener` once when the call becomes cancelled; at once if it is. */
  onCancel(listener: () => void): void;
  /** Stops handing over messages (stream methods); the peer is held back by flow control. */
  pause(): void;
  resume(): void;
}

/** Receives the messages of a stream call. */
export interface GrpcStreamListener {
  /** One message; may be a view on a larger buffer, which is never written again. */
  onMessage(message: Uint8Array): void;
  /** The client sends no more. */
  onHalfClose(): void;
}

/** How a method is served: with one request message, or with a stream of them. Both may answer any number of messages. */
export type GrpcMethod =
  | { readonly kind: 'unary'; handle(call: GrpcCall, message: Uint8Array): void }
  | { readonly kind: 'stream'; open(call: GrpcCall): GrpcStreamListener };

/** A connection being served. */
export interface GrpcConnection {
  /** Calls that were started and not yet finished. */
  readonly inFlight: number;
  /** Tells the peer to start no more calls, finishes those in flight, then closes. */
  shutdown(): void;
  /** Drops the connection at once; calls in flight are cancelled. */
  destroy(): void;
  /** Settles when the socket is closed; never rejects. */
  readonly finished: Promise<void>;
}
