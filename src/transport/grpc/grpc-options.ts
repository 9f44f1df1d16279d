import type { Http2Options } from '../http2/http2-options.js';

/** Limits and choices of a gRPC connection. */
export interface GrpcServerOptions extends Http2Options {
  /** Largest message accepted, in bytes after decompression. Default 2147483647. */
  readonly maxReceiveMessageSize?: number;
  /** Told what a handler threw; the call ends with UNKNOWN. */
  readonly onHandlerError?: (error: unknown) => void;
}
