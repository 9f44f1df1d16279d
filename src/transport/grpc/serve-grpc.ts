import type { Duplex } from 'node:stream';
import type { ByteBudget } from '../byte-budget.js';
import { Http2Connection } from '../http2/connection.js';
import type { Http2ServerStream, Http2StreamListener } from '../http2/http2-api.js';
import { type Http2Options, resolveHttp2Options } from '../http2/http2-options.js';
import { Call, type CallContext } from './call.js';
import { type CallHead, callHead } from './call-head.js';
import type { GrpcConnection, GrpcMethod } from './grpc-api.js';
import { PlainAnswer } from './plain-answer.js';
import { ResponseHeaders } from './response-headers.js';
import { Status } from './status.js';

export type { GrpcCall, GrpcCompressionLevel, GrpcConnection, GrpcMethod, GrpcStreamListener } from './grpc-api.js';

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

/** Serves gRPC over HTTP/2 (prior knowledge or ALPN) on a connected stream (a plain or a TLS socket). */
export function serveGrpc(
  socket: Duplex,
  methods: ReadonlyMap<string, GrpcMethod>,
  options: GrpcServerOptions,
): GrpcConnection {
  const onHandlerError = options.onHandlerError ?? (() => {});
  const resolved = resolveHttp2Options({ onInternalError: onHandlerError, ...options });
  const maxReceiveMessageSize = options.maxReceiveMessageSize ?? MAX_MESSAGE_SIZE;
  const context: CallContext = {
    headers: new ResponseHeaders(),
    maxReceiveMessageSize,
    maxInflatedMessageSize: Math.min(options.maxInflatedMessageSize ?? MAX_MESSAGE_SIZE, maxReceiveMessageSize),
    readTimeoutMs: resolved.readTimeoutMs,
    requestBudget: options.requestBudget,
    onHandlerError,
  };
  // A client's calls have the same head again and again, and the connection then gives the same object.
  let known: CallHead | undefined;
  const connection = new Http2Connection(
    socket,
    (stream, head, tooLarge) => {
      if (known?.head !== head) known = callHead(head, methods);
      return startCall(stream, known, tooLarge, context);
    },
    resolved,
  );
  return {
    get inFlight() {
      return connection.streamCount;
    },
    shutdown: () => connection.shutdown(),
    destroy: () => connection.destroy(),
    finished: connection.finished,
  };
}

/** Largest message unless an option says otherwise. */
const MAX_MESSAGE_SIZE = 2_147_483_647;

function startCall(
  stream: Http2ServerStream,
  head: CallHead,
  tooLarge: boolean,
  context: CallContext,
): Http2StreamListener {
  if (tooLarge) return refused(stream, context, Status.RESOURCE_EXHAUSTED, 'received metadata size exceeds limit');
  if (!head.grpc) return new PlainAnswer(stream, head.head.method);
  if (head.method === undefined) return refused(stream, context, Status.UNIMPLEMENTED, '');
  const call = new Call(stream, head, head.method, context);
  call.open();
  return call;
}

/** Ends a call before it starts. What its peer may still send is dropped by the connection. */
function refused(
  stream: Http2ServerStream,
  context: CallContext,
  status: number,
  message: string,
): Http2StreamListener {
  stream.sendHeaders(context.headers.end(status, message, true), true);
  return NOBODY;
}

const NOBODY: Http2StreamListener = {
  onData() {},
  onEnd() {},
  onAbort() {},
  onWritable() {},
  onFinished() {},
  onStalled() {},
  incomplete: false,
};
