import type { Duplex } from 'node:stream';
import type { GrpcConnection, GrpcMethod } from './grpc-api.js';
import type { GrpcServerOptions } from './grpc-options.js';

export type { GrpcCall, GrpcCompressionLevel, GrpcConnection, GrpcMethod, GrpcStreamListener } from './grpc-api.js';
export type { GrpcServerOptions } from './grpc-options.js';

/** Serves gRPC over HTTP/2 (prior knowledge or ALPN) on a connected stream. */
export function serveGrpc(
  socket: Duplex,
  methods: ReadonlyMap<string, GrpcMethod>,
  options: GrpcServerOptions,
): GrpcConnection {
  void methods;
  void options;
  socket.destroy();
  throw new Error('not yet');
}
