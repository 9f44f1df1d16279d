/** What the two protocols do differently: the part of a client below `ServerClient`. */
import type { MessageOf, MessageSchema } from '../../protocol/proto/schema.js';
import * as messages from '../../protocol/proto/service/service.js';
import type { CallOptions, InferCall, InferStream, PreparedCall, RawInferResult } from '../api/client.js';
import type { GenerateCall, GenerateEvent, GenerateResult } from '../api/generate.js';

/**
 * The management calls of a server by their names in gRPC, with the messages that go out and come back. HTTP has other
 * forms of the same messages.
 */
export const RPCS = {
  ServerLive: { request: messages.ServerLiveRequest, response: messages.ServerLiveResponse },
  ServerReady: { request: messages.ServerReadyRequest, response: messages.ServerReadyResponse },
  ModelReady: { request: messages.ModelReadyRequest, response: messages.ModelReadyResponse },
  ServerMetadata: { request: messages.ServerMetadataRequest, response: messages.ServerMetadataResponse },
  ModelMetadata: { request: messages.ModelMetadataRequest, response: messages.ModelMetadataResponse },
  ModelConfig: { request: messages.ModelConfigRequest, response: messages.ModelConfigResponse },
  ModelStatistics: { request: messages.ModelStatisticsRequest, response: messages.ModelStatisticsResponse },
  RepositoryIndex: { request: messages.RepositoryIndexRequest, response: messages.RepositoryIndexResponse },
  RepositoryModelLoad: { request: messages.RepositoryModelLoadRequest, response: messages.RepositoryModelLoadResponse },
  RepositoryModelUnload: {
    request: messages.RepositoryModelUnloadRequest,
    response: messages.RepositoryModelUnloadResponse,
  },
  TraceSetting: { request: messages.TraceSettingRequest, response: messages.TraceSettingResponse },
  LogSettings: { request: messages.LogSettingsRequest, response: messages.LogSettingsResponse },
  SystemSharedMemoryStatus: {
    request: messages.SystemSharedMemoryStatusRequest,
    response: messages.SystemSharedMemoryStatusResponse,
  },
  SystemSharedMemoryRegister: {
    request: messages.SystemSharedMemoryRegisterRequest,
    response: messages.SystemSharedMemoryRegisterResponse,
  },
  SystemSharedMemoryUnregister: {
    request: messages.SystemSharedMemoryUnregisterRequest,
    response: messages.SystemSharedMemoryUnregisterResponse,
  },
  CudaSharedMemoryStatus: {
    request: messages.CudaSharedMemoryStatusRequest,
    response: messages.CudaSharedMemoryStatusResponse,
  },
  CudaSharedMemoryRegister: {
    request: messages.CudaSharedMemoryRegisterRequest,
    response: messages.CudaSharedMemoryRegisterResponse,
  },
  CudaSharedMemoryUnregister: {
    request: messages.CudaSharedMemoryUnregisterRequest,
    response: messages.CudaSharedMemoryUnregisterResponse,
  },
} as const satisfies Readonly<Record<string, { request: MessageSchema; response: MessageSchema }>>;

/** Name of a management call. */
export type RpcName = keyof typeof RPCS;

/** The message that a management call sends. */
export type RpcRequest<N extends RpcName> = MessageOf<(typeof RPCS)[N]['request']>;

/** The message that a management call gets back. */
export type RpcResponse<N extends RpcName> = MessageOf<(typeof RPCS)[N]['response']>;

/** Encodes a call that was checked, or takes over one that was encoded before. */
export type CallEncoder = (call: InferCall | PreparedCall, enableEmptyFinalResponse: boolean) => PreparedCall;

/**
 * Requests on their way to a server over one protocol. Options come complete: without `timeoutMs` a call has no limit.
 * Every call rejects with a TritonError.
 */
export interface Transport {
  readonly protocol: 'http' | 'grpc';
  /** One management call. */
  call<N extends RpcName>(rpc: N, request: RpcRequest<N>, options: CallOptions): Promise<RpcResponse<N>>;
  /** Encodes a call that was checked. What comes back may hold the caller's buffers. */
  encode(call: InferCall, enableEmptyFinalResponse: boolean): PreparedCall;
  /** An encoded request without the caller's buffers; absent where encoding copies anyway. */
  detach?(prepared: PreparedCall): PreparedCall;
  /** Sends an encoded request. Errors carry the id of the request. */
  infer(prepared: PreparedCall, options: CallOptions): Promise<RawInferResult>;
  /** Opens an inference stream; absent where the protocol has none. */
  stream?(encode: CallEncoder, options: CallOptions): InferStream;
  /** Absent where the protocol has no such calls. */
  readonly generate?: GenerateTransport;
  close(): Promise<void>;
}

/** The generate calls of a transport. */
export interface GenerateTransport {
  once(call: GenerateCall, options: CallOptions): Promise<GenerateResult>;
  stream(call: GenerateCall, options: CallOptions): AsyncIterable<GenerateEvent>;
}
