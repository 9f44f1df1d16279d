import type { ByteBudget } from '../byte-budget.js';

/** Limits and choices of an HTTP/2 connection. Every one has a default, see `HTTP2_DEFAULTS`. */
export interface Http2Options {
  /** Receive window of one stream in bytes. */
  readonly streamWindowSize?: number;
  /** Receive window of the connection in bytes. */
  readonly connectionWindowSize?: number;
  /** Bytes received for paused streams, all together, above which the connection's window is not given back. */
  readonly maxUnreadSize?: number;
  /** Largest frame payload accepted (16,384 to 16,777,215). */
  readonly maxFrameSize?: number;
  /** Streams open at a time; more are refused. */
  readonly maxConcurrentStreams?: number;
  /** Size of the table of header fields that the peer may refer to. */
  readonly headerTableSize?: number;
  /** Largest header list: names, values and 32 bytes for each field. A larger one is refused. */
  readonly maxHeaderListSize?: number;
  /** Largest encoded header block, all its CONTINUATION frames together; a larger one ends the connection. */
  readonly maxHeaderBlockSize?: number;
  /** Most CONTINUATION frames of one header block; more end the connection. */
  readonly maxContinuationFrames?: number;
  /** Streams that the peer may reset in a row; `resetRefillPerSecond` more each second. Beyond: the connection ends. */
  readonly maxResets?: number;
  readonly resetRefillPerSecond?: number;
  /** Frames without payload of their own (settings, pings, priorities, window updates, empty data) in a row; refilled as above and by every request and answer. */
  readonly maxControlFrames?: number;
  readonly controlRefillPerSecond?: number;
  /** Bytes waiting for a peer that does not read above which we do not read from it either. */
  readonly maxSendBacklog?: number;
  /** Bytes of one stream waiting to be sent above which it asks its writer to wait. */
  readonly writeHighWater?: number;
  /** Memory of responses that wait for the peer's windows above which no more streams and responses are taken. */
  readonly maxSendQueue?: number;
  /** Counts what waits for peers in the whole process; undefined = nothing does. */
  readonly sendBudget?: ByteBudget | undefined;
  /**
   * Milliseconds in which the client's preface and every frame and header block have to be complete, and after which a
   * request that is half-sent and makes no progress ends; 0 = never.
   */
  readonly readTimeoutMs?: number;
  /** Milliseconds after which a response of which the peer takes nothing is dropped; 0 = never. */
  readonly writeTimeoutMs?: number;
  /** Milliseconds after the begin of a shutdown in which the peer may still open streams, and finish requests. */
  readonly shutdownGraceMs?: number;
  /** Called with what was thrown inside a connection, which ends by it. */
  readonly onInternalError?: (error: unknown) => void;
  /** Milliseconds that a refused connection stays open to let the peer read the reason. */
  readonly lingerMs?: number;
  /** Milliseconds of silence after which we ping; 0 = never. */
  readonly keepaliveTimeMs?: number;
  /** Milliseconds to wait for the response to such a ping before the connection is dropped. */
  readonly keepaliveTimeoutMs?: number;
  /** Ping also when there is no stream. */
  readonly keepaliveWithoutStreams?: boolean;
  /** Pings that we send without anything else between them; 0 = any number. */
  readonly maxPingsWithoutData?: number;
  /** Pings of the peer closer than this, with nothing sent between them, are strikes; milliseconds, 0 = never. */
  readonly minPingIntervalMs?: number;
  /** Strikes tolerated before the connection ends; 0 = any number. */
  readonly maxPingStrikes?: number;
  /** Milliseconds after which a connection is asked to end; 0 = never. */
  readonly maxConnectionAgeMs?: number;
  /** Milliseconds that its streams then have to finish; 0 = any time. */
  readonly maxConnectionAgeGraceMs?: number;
}

/** All options, resolved. */
export type ResolvedHttp2Options = Required<Http2Options>;

/**
 * Defaults. Windows are large because 64 KB, the protocol's own default, holds requests of 600 KB to a few hundred a
 * second; the ping rules are those of gRPC servers.
 */
export const HTTP2_DEFAULTS: ResolvedHttp2Options = {
  streamWindowSize: 8 * 1024 * 1024,
  connectionWindowSize: 32 * 1024 * 1024,
  maxUnreadSize: 64 * 1024 * 1024,
  maxFrameSize: 16_384,
  maxConcurrentStreams: 10_000,
  headerTableSize: 4096,
  maxHeaderListSize: 64 * 1024,
  maxHeaderBlockSize: 256 * 1024,
  maxContinuationFrames: 64,
  maxResets: 1000,
  resetRefillPerSecond: 200,
  maxControlFrames: 10_000,
  controlRefillPerSecond: 1000,
  maxSendBacklog: 2 * 1024 * 1024,
  writeHighWater: 256 * 1024,
  maxSendQueue: 1024 * 1024 * 1024,
  sendBudget: undefined,
  readTimeoutMs: 60_000,
  writeTimeoutMs: 300_000,
  shutdownGraceMs: 1000,
  onInternalError: () => {},
  lingerMs: 2000,
  keepaliveTimeMs: 7_200_000,
  keepaliveTimeoutMs: 20_000,
  keepaliveWithoutStreams: false,
  maxPingsWithoutData: 2,
  minPingIntervalMs: 300_000,
  maxPingStrikes: 2,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
};

/** Fills in the defaults. */
export function resolveHttp2Options(options: Http2Options): ResolvedHttp2Options {
  return { ...HTTP2_DEFAULTS, ...options };
}
