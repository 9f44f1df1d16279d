/** What a server sees of HTTP/1.1: requests that are complete, replies, and the connection itself. */

/** Status, header and body of a response: a list keeps the order of the fields and allows a name twice. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** One complete request. It stays valid after the reply. */
export interface Http1Request {
  /** As sent, any token: methods nobody knows are passed on too. */
  readonly method: string;
  /** Request target as sent. */
  readonly target: string;
  /** Path of the target: not percent-decoded, without query, scheme and authority. */
  readonly path: string;
  readonly version: '1.0' | '1.1';
  /**
   * Value of the first header of that name (given in lower case), undefined without one. A header that was sent with an
   * empty value is one blank.
   */
  header(name: string): string | undefined;
  /** All headers in order, names as sent; values, too, but for the spaces in front. */
  headers(): Iterable<readonly [name: string, value: string]>;
  /** When its first bytes were at hand, by the receive clock of the options; 0 while that is off. */
  readonly receivedFromNs: number;
  /** The whole body; empty without one. May be a view on a larger buffer. */
  readonly body: Uint8Array;
}

/** Body of a chunked response. */
export interface Http1ChunkedBody {
  /** Sends one chunk (none for empty ones). False: the peer reads slower than we write, wait for `onDrain`. */
  write(chunk: Uint8Array | string): boolean;
  /** Calls `listener` once, when what was written has left; at once if nothing is waiting. */
  onDrain(listener: () => void): void;
  end(): void;
}

/** The one response to a request. Calls after the first response, or after the peer went away, do nothing. */
export interface Http1Reply {
  /**
   * Sends a whole response. Adds `Content-Length`, `Content-Type: text/plain` where none is given, and what the
   * connection needs.
   */
  send(status: number, headers: HeaderList, body?: Uint8Array | readonly Uint8Array[]): void;
  /** Starts a response of unknown length. */
  startChunked(status: number, headers: HeaderList): Http1ChunkedBody;
  /** True once the response is complete or the peer has gone. */
  readonly closed: boolean;
  /**
   * Counts bytes that are kept for the request besides its body, until the response is complete or the peer has gone.
   * False: all requests together hold as much as they may, and nothing was counted.
   */
  hold(bytes: number): boolean;
  /** So many bytes of what is counted for the request, its body included, are counted by somebody else from now on. */
  handOver(bytes: number): void;
  /** Calls `listener` once if the peer goes away before the response is complete; at once if it has gone already. */
  onClose(listener: () => void): void;
}

/** Called once per request, one request of a connection at a time, in order. */
export type Http1Handler = (request: Http1Request, reply: Http1Reply) => void;

/** A connection being served. */
export interface Http1Connection {
  /** Requests handed to the handler and not yet answered: 0 or 1. */
  readonly inFlight: number;
  /** Answers what is in flight, then closes. */
  shutdown(): void;
  /** Drops the connection at once. */
  destroy(): void;
  /** Settles when the socket is closed; never rejects. */
  readonly finished: Promise<void>;
}
