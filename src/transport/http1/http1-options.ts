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
  /** Bytes of a declared body that are reserved before they have come. */
  readonly maxReservedBodySize?: number;
  /** Bytes of later requests kept while one is being answered; then reading stops until it is. */
  readonly maxPipelinedSize?: number;
  /** Bytes of answers that the peer has not taken above which its next request waits. */
  readonly maxSendBacklog?: number;
  /** Bytes of an unfinished chunked answer waiting for the peer above which `write` returns false. */
  readonly writeHighWater?: number;
  /** Milliseconds that a refused connection stays open to let the peer read the answer. */
  readonly lingerMs?: number;
  /** Milliseconds without a byte in either direction, with no request in flight, after which the connection is closed; 0 = never. */
  readonly idleTimeoutMs?: number;
  /** Tells when requests began to come in; asked only while it is enabled. */
  readonly receiveClock?: ReceiveClock;
  /** Told what a handler threw; the peer gets an empty 500. */
  readonly onHandlerError?: (error: unknown) => void;
}

/** All options, resolved. */
export type ResolvedHttp1Options = Required<Http1Options>;

/** Defaults: the original server's limits where it has them (spec: wire protocol, sections 1.2 and 1.8), else bounds against abuse. */
export const HTTP1_DEFAULTS: ResolvedHttp1Options = {
  maxTokenSize: 8190,
  maxHeaderCount: 10_000,
  maxHeadSize: 1024 * 1024,
  maxBodySize: 2_147_483_647,
  maxBodyChunks: 65_536,
  maxChunkExtensionSize: 16 * 1024,
  maxReservedBodySize: 8 * 1024 * 1024,
  maxPipelinedSize: 64 * 1024,
  maxSendBacklog: 1024 * 1024,
  writeHighWater: 64 * 1024,
  lingerMs: 2000,
  idleTimeoutMs: 0,
  receiveClock: { enabled: false, nowNs: () => 0 },
  onHandlerError: () => {},
};

/** Fills in the defaults. */
export function resolveHttp1Options(options: Http1Options): ResolvedHttp1Options {
  return { ...HTTP1_DEFAULTS, ...options };
}
