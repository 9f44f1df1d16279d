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
  /** Bytes waiting for a peer that does not read, of answers to control frames, above which the connection is dropped. */
  readonly maxQueuedControlSize?: number;
  /** Bytes of one stream waiting to be sent above which it asks its writer to wait. */
  readonly writeHighWater?: number;
  /** Milliseconds that a refused connection stays open to let the peer read the reason. */
  readonly lingerMs?: number;
  /** Milliseconds of silence after which we ping; 0 = never. */
  readonly keepaliveTimeMs?: number;
  /** Milliseconds to wait for the answer to such a ping before the connection is dropped. */
  readonly keepaliveTimeoutMs?: number;
  /** Ping also when there is no stream. */
  readonly keepaliveWithoutStreams?: boolean;
  /** Pings of the peer closer than this, with nothing sent between them, are strikes; milliseconds, 0 = never. */
  readonly minPingIntervalMs?: number;
  /** Strikes tolerated before the connection ends; 0 = any number. */
  readonly maxPingStrikes?: number;
  /** Milliseconds after which a connection is told to end; 0 = never. */
  readonly maxConnectionAgeMs?: number;
  /** Milliseconds that its streams then have to finish; 0 = any time. */
  readonly maxConnectionAgeGraceMs?: number;
}
