/**
 * The one client interface over both transports. HTTP (`createHttpClient`) and gRPC (`createGrpcClient`) implement it;
 * the image client, the load generator, the tests and library users hold nothing else.
 */
import type { Datatype } from '../../protocol/datatype.js';
import type { IndexEntry, ModelStatistics } from '../../protocol/management.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Parameters, ParameterValue, Tensor, TensorMetadata } from '../../protocol/tensor.js';
import type { ServerControl } from './control.js';
import type { GenerateCall, GenerateEvent, GenerateResult } from './generate.js';

/** Options of one call. */
export interface CallOptions {
  /** Limit of the call in milliseconds; beyond it, the call rejects with UNAVAILABLE `Deadline Exceeded`. 0 = no limit. Default: the client's. */
  readonly timeoutMs?: number;
  /** Extra HTTP headers or gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An input of a request: tensor data, or a range of registered shared memory. */
export interface InferInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Bytes in wire form (see Tensor), unless `sharedMemory` is given. */
  readonly data?: Uint8Array;
  readonly sharedMemory?: SharedMemoryReference;
}

/** A range inside a registered region. */
export interface SharedMemoryReference {
  readonly region: string;
  readonly byteSize: number;
  readonly offset?: number;
}

/** An output that is wanted. */
export interface InferRequestedOutput {
  readonly name: string;
  /** Asks for the k highest classes instead of the tensor; 0 or absent = the tensor. */
  readonly classification?: number;
  readonly sharedMemory?: SharedMemoryReference;
}

/** A request to a model. */
export interface InferCall {
  readonly modelName: string;
  readonly modelVersion?: string;
  readonly id?: string;
  readonly inputs: readonly InferInput[];
  /** Absent or empty = all outputs. */
  readonly outputs?: readonly InferRequestedOutput[];
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
  /** Integers are bigint or safe numbers; strings up to 128 bytes. */
  readonly sequenceId?: bigint | number | string;
  readonly sequenceStart?: boolean;
  readonly sequenceEnd?: boolean;
  readonly priority?: bigint | number;
  /** Queue timeout at the server, in microseconds. */
  readonly timeoutMicroseconds?: bigint | number;
}

/** The response of a model. */
export interface InferResult {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: readonly Tensor[];
  /** The output of that name; undefined when the response has none. */
  output(name: string): Tensor | undefined;
}

/** Server metadata. */
export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** Model metadata. */
export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** A request encoded once, to be sent any number of times. Made by `prepare` of the client that sends it. */
export interface PreparedCall {
  readonly protocol: 'http' | 'grpc';
  /** Bytes of the encoded request, without the transport's own headers. */
  readonly byteLength: number;
}

/**
 * When the parts of a call happened, in nanoseconds of the clock of `nowNs`. What counts as send and receive is what
 * NVIDIA's client libraries count: HTTP, from the start of the transfer to the last byte handed over and from the first
 * to the last byte of the response; gRPC, building the request and unpacking the response.
 */
export interface CallTiming {
  readonly sendStartNs: number;
  readonly sendEndNs: number;
  readonly receiveStartNs: number;
  readonly receiveEndNs: number;
}

/** A successful response that was not decoded yet. */
export interface RawInferResult {
  readonly timing: CallTiming;
  /** Decodes it; throws a TritonError (INTERNAL) for a response that is not well formed. */
  decode(): InferResult;
}

/** A bidirectional inference stream (gRPC): write calls, iterate over results and in-band errors. */
export interface InferStream extends AsyncIterable<StreamEvent> {
  /** Resolves when the message was handed to the transport (back-pressure). */
  send(call: InferCall | PreparedCall, options?: { enableEmptyFinalResponse?: boolean }): Promise<void>;
  /** Half-closes: the server finishes what is in flight, the iteration ends. */
  end(): void;
  cancel(): void;
}

/** One message of a stream. */
export type StreamEvent =
  | { readonly result: InferResult; readonly error?: undefined; readonly final: boolean }
  | { readonly error: string; readonly id: string; readonly result?: undefined; readonly final: boolean };

/** Everything a server can be asked, over either transport. Every call rejects with a TritonError. */
export interface InferenceServerClient {
  readonly protocol: 'http' | 'grpc';
  /** Trace and log settings, shared memory. */
  readonly control: ServerControl;
  isServerLive(options?: CallOptions): Promise<boolean>;
  isServerReady(options?: CallOptions): Promise<boolean>;
  isModelReady(name: string, version?: string, options?: CallOptions): Promise<boolean>;
  serverMetadata(options?: CallOptions): Promise<ServerMetadata>;
  modelMetadata(name: string, version?: string, options?: CallOptions): Promise<ModelMetadata>;
  modelConfig(name: string, version?: string, options?: CallOptions): Promise<ModelConfig>;
  modelStatistics(name?: string, version?: string, options?: CallOptions): Promise<readonly ModelStatistics[]>;
  repositoryIndex(ready?: boolean, options?: CallOptions): Promise<readonly IndexEntry[]>;
  loadModel(
    name: string,
    parameters?: { config?: string; files?: ReadonlyMap<string, Uint8Array> },
    options?: CallOptions,
  ): Promise<void>;
  unloadModel(name: string, parameters?: { unloadDependents?: boolean }, options?: CallOptions): Promise<void>;
  infer(call: InferCall, options?: CallOptions): Promise<InferResult>;
  /**
   * Encodes a request once, for repeated sending: the data is copied, changes of its buffers have no effect.
   * `enableEmptyFinalResponse` (gRPC only) asks, in a stream, for a message that says that a request is complete;
   * perf_analyzer sends it with other calls too.
   */
  prepare(call: InferCall, options?: { enableEmptyFinalResponse?: boolean }): PreparedCall;
  /** Sends a prepared request; the response is decoded only if asked for. The cheapest way to send the same again. */
  inferPrepared(prepared: PreparedCall, options?: CallOptions): Promise<RawInferResult>;
  /** HTTP only; the gRPC client rejects with UNSUPPORTED. One response of a model as plain values. */
  generate(call: GenerateCall, options?: CallOptions): Promise<GenerateResult>;
  /** HTTP only. Every response of a model, decoupled ones too, as it comes; leaving the loop cancels. */
  generateStream(call: GenerateCall, options?: CallOptions): AsyncIterable<GenerateEvent>;
  /** gRPC only; the HTTP client rejects with UNSUPPORTED and says to use gRPC. */
  stream(options?: CallOptions): InferStream;
  close(): Promise<void>;
}

/** TLS of a client connection. All in PEM format. */
export interface TlsOptions {
  readonly rootCertificates?: string | Buffer;
  readonly certificate?: string | Buffer;
  readonly privateKey?: string | Buffer;
  /** Default true. */
  readonly verifyPeer?: boolean;
  readonly serverName?: string;
}

/** Options of both clients. */
export interface ClientOptions {
  /** `host:port`, with an optional base path for HTTP (`host:port/base`) and an optional scheme. */
  readonly url: string;
  /** Default of every call, in milliseconds; 0 = no limit. Default 0. */
  readonly timeoutMs?: number;
  /** Connections that the HTTP client may open at once. Default 128. */
  readonly maxConnections?: number;
  readonly tls?: TlsOptions;
  /** gRPC keep-alive pings: milliseconds between them; default: none. */
  readonly keepAliveTimeMs?: number;
  readonly keepAliveTimeoutMs?: number;
  /** HTTP: inputs as binary data behind the JSON part of the body, or inside it. Default binary. */
  readonly inputFormat?: 'binary' | 'json';
  /** HTTP: how the outputs are asked for. Default binary. */
  readonly outputFormat?: 'binary' | 'json';
  /** HTTP: compress request bodies / ask for compressed responses. gRPC: message compression. Default none. */
  readonly compression?: 'none' | 'gzip' | 'deflate';
}
