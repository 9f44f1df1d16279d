import type { ByteBudget } from '../byte-budget.js';

/** A clock that may be switched on and off. */
export interface ReceiveClock {
  readonly enabled: boolean;
  nowNs(): number;
}

/** Limits and choices of an HTTP/1.1 connection. Every one has a default, see `HTTP1_DEFAULTS`. */
export interface Http1Options {
  /** Longest single token (method, target, a header's name, a header's value) in bytes; a longer one closes the connection. */
  readonly maxTokenSize?: number;
  /** Most headers in one request; more are answered 431 and the connection is closed. Trailers count by themselves. */
  readonly maxHeaderCount?: number;
  /** Most bytes of request line and headers together; more are answered 431 and the connection is closed. */
  readonly maxHeadSize?: number;
  /** Largest body in bytes; a larger one is answered 413 and the connection is closed. */
  readonly maxBodySize?: number;
  /** Most chunks that are not empty in one body; more are answered 400 and the connection is closed. */
  readonly maxBodyChunks?: number;
  /** Most bytes of chunk extensions in one body; more are answered 400 and the connection is closed. */
  readonly maxChunkExtensionSize?: number;
  /** Bytes of a declared body that are reserved once its first bytes have come; from there on it grows with what comes. */
  readonly maxReservedBodySize?: number;
  /** Bytes of later requests kept while one is being answered; then reading stops until it is. */
  readonly maxPipelinedSize?: number;
  /** Bytes of responses that the peer has not taken above which its next request waits. */
  readonly maxSendBacklog?: number;
  /** Bytes of an unfinished chunked response waiting for the peer above which `write` returns false. */
  readonly writeHighWater?: number;
  /** Milliseconds that a refused connection stays open to let the peer read the response. */
  readonly lingerMs?: number;
  /**
   * Milliseconds without progress after which a peer is cut that has sent a part of a request, or does not read its
   * response; 0 = never. A head has this long as a whole, and a body has to bring a kilobyte in this time. Connections on
   * which nothing is under way stay open.
   */
  readonly stallTimeoutMs?: number;
  /**
   * Whether a peer that has closed its sending side still gets its response. If not, it counts as gone: a connection that
   * was closed altogether looks just the same.
   */
  readonly halfClose?: boolean;
  /** Whether an HTTP/1.1 request without a Host header is refused. */
  readonly requireHost?: boolean;
  /** What all connections together may hold of requests; a request beyond it is answered 503. */
  readonly requestBudget?: ByteBudget | undefined;
  /** What all connections together may let wait of responses; a response beyond it becomes a 503. */
  readonly responseBudget?: ByteBudget | undefined;
  /** Reads the clock, for the time at which a request began to come in; called only while it is enabled. */
  readonly receiveClock?: ReceiveClock;
  /** Called with what a handler threw (the peer gets an empty 500), and what was thrown elsewhere (the connection ends). */
  readonly onHandlerError?: (error: unknown) => void;
}

/** All options, resolved. */
export type ResolvedHttp1Options = Required<Http1Options>;

/** Defaults: Triton's limits where it has them, else bounds against abuse. */
export const HTTP1_DEFAULTS: ResolvedHttp1Options = {
  maxTokenSize: 8190,
  maxHeaderCount: 10_000,
  maxHeadSize: 1024 * 1024,
  maxBodySize: 2_147_483_647,
  maxBodyChunks: 65_536,
  maxChunkExtensionSize: 16 * 1024,
  maxReservedBodySize: 256 * 1024,
  maxPipelinedSize: 64 * 1024,
  maxSendBacklog: 1024 * 1024,
  writeHighWater: 64 * 1024,
  lingerMs: 2000,
  stallTimeoutMs: 60_000,
  halfClose: false,
  requireHost: false,
  requestBudget: undefined,
  responseBudget: undefined,
  receiveClock: { enabled: false, nowNs: () => 0 },
  onHandlerError: () => {},
};

/** Fills in the defaults. */
export function resolveHttp1Options(options: Http1Options): ResolvedHttp1Options {
  return { ...HTTP1_DEFAULTS, ...options };
}
