import type { ByteBudget } from '../byte-budget.js';
import type { Http2Options } from '../http2/http2-options.js';

/** Limits and choices of a gRPC connection. */
export interface GrpcServerOptions extends Http2Options {
  /** Largest message accepted, in bytes. Default 2147483647. */
  readonly maxReceiveMessageSize?: number;
  /** Largest message accepted that comes compressed, in bytes after decompression. Default: maxReceiveMessageSize. */
  readonly maxInflatedMessageSize?: number;
  /** Counts the bytes of requests that are held, in the whole process; undefined = nothing does. */
  readonly requestBudget?: ByteBudget | undefined;
  /** Called with what a handler threw; the call ends with UNKNOWN. */
  readonly onHandlerError?: (error: unknown) => void;
}
