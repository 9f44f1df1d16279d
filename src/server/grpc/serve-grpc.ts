import type { Duplex } from 'node:stream';
import { serveGrpc } from '../../transport/grpc/serve-grpc.js';
import type { ServerContext } from '../context/server-context.js';
import { Endpoint } from '../listen/endpoint.js';
import { GRPC_MAX_MESSAGE_BYTES } from '../options/grpc-options.js';
import { grpcMethods } from './endpoints.js';

/** The gRPC endpoint, and what has to be done about its streams before it stops. */
export interface GrpcEndpoint {
  readonly endpoint: Endpoint;
  /** Open inference streams take no more requests and end when theirs are complete. */
  endStreams(): void;
}

/** Starts the gRPC endpoint. */
export async function serveGrpcEndpoint(context: ServerContext): Promise<GrpcEndpoint> {
  const { grpc } = context.options;
  const methods = grpcMethods(context);
  const options = {
    maxReceiveMessageSize: GRPC_MAX_MESSAGE_BYTES,
    maxInflatedMessageSize: grpc.maxInflatedSize,
    maxSendQueue: grpc.connectionMaxBacklog,
    readTimeoutMs: grpc.readTimeoutMs,
    writeTimeoutMs: grpc.writeTimeoutMs,
    requestBudget: context.budgets.requests,
    sendBudget: context.budgets.responses,
    keepaliveTimeMs: grpc.keepaliveTimeMs,
    keepaliveTimeoutMs: grpc.keepaliveTimeoutMs,
    keepaliveWithoutStreams: grpc.keepalivePermitWithoutCalls,
    maxPingsWithoutData: grpc.maxPingsWithoutData,
    minPingIntervalMs: grpc.minRecvPingIntervalWithoutDataMs,
    maxPingStrikes: grpc.maxPingStrikes,
    maxConnectionAgeMs: grpc.maxConnectionAgeMs,
    maxConnectionAgeGraceMs: grpc.maxConnectionAgeGraceMs,
    onHandlerError: (error: unknown) => context.log.error(`gRPC handler failed: ${String((error as Error)?.stack)}`),
  };
  const serve = (socket: Duplex) => serveGrpc(socket, methods.byPath, options);
  const endpoint = await Endpoint.listen(grpc, serve, { protocol: 'h2', security: grpc.tls });
  return { endpoint, endStreams: methods.shutdown };
}
