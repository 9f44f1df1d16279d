import { invalidArg, TritonError } from '../../base/error.js';
import type { IndexEntry, ModelStatistics } from '../../protocol/management.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { create } from '../../protocol/proto/schema.js';
import { ModelRepositoryParameter } from '../../protocol/proto/service/service.js';
import type {
  CallOptions,
  InferCall,
  InferenceServerClient,
  InferResult,
  InferStream,
  ModelMetadata,
  PreparedCall,
  RawInferResult,
  ServerMetadata,
} from '../api/client.js';
import type { ServerControl } from '../api/control.js';
import type { GenerateCall, GenerateEvent, GenerateResult } from '../api/generate.js';
import { checkCall } from './check-call.js';
import { withRequestId } from './errors.js';
import { readIndexEntry, readModelMetadata, readModelStatistics } from './read-messages.js';
import { RpcControl } from './server-control.js';
import type { GenerateTransport, RpcName, RpcRequest, RpcResponse, Transport } from './transport.js';

const NO_OPTIONS: CallOptions = {};

/** The client over either protocol: what does not depend on how requests travel. */
export class ServerClient implements InferenceServerClient {
  readonly protocol: 'http' | 'grpc';
  readonly control: ServerControl;
  readonly #transport: Transport;
  readonly #timeoutMs: number;

  /** `timeoutMs`: the limit of calls that have none of their own, in milliseconds; 0 = no limit. */
  constructor(transport: Transport, timeoutMs: number) {
    this.protocol = transport.protocol;
    this.control = new RpcControl((rpc, request, options) => this.#call(rpc, request, options));
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
  }

  async isServerLive(options?: CallOptions): Promise<boolean> {
    return (await this.#call('ServerLive', {}, options)).live;
  }

  async isServerReady(options?: CallOptions): Promise<boolean> {
    return (await this.#call('ServerReady', {}, options)).ready;
  }

  async isModelReady(name: string, version = '', options?: CallOptions): Promise<boolean> {
    return (await this.#call('ModelReady', { name, version }, options)).ready;
  }

  serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#call('ServerMetadata', {}, options);
  }

  async modelMetadata(name: string, version = '', options?: CallOptions): Promise<ModelMetadata> {
    return readModelMetadata(await this.#call('ModelMetadata', { name, version }, options));
  }

  async modelConfig(name: string, version = '', options?: CallOptions): Promise<ModelConfig> {
    const { config } = await this.#call('ModelConfig', { name, version }, options);
    if (config === undefined) throw new TritonError('INTERNAL', 'the response holds no model configuration');
    return config;
  }

  async modelStatistics(name = '', version = '', options?: CallOptions): Promise<readonly ModelStatistics[]> {
    return (await this.#call('ModelStatistics', { name, version }, options)).model_stats.map(readModelStatistics);
  }

  async repositoryIndex(ready = false, options?: CallOptions): Promise<readonly IndexEntry[]> {
    const { models } = await this.#call('RepositoryIndex', { repository_name: '', ready }, options);
    return models.map(readIndexEntry);
  }

  async loadModel(
    name: string,
    { config, files }: { config?: string; files?: ReadonlyMap<string, Uint8Array> } = {},
    options?: CallOptions,
  ): Promise<void> {
    const parameters = new Map<string, ModelRepositoryParameter>();
    if (config !== undefined) parameters.set('config', { ...create(ModelRepositoryParameter), string_param: config });
    for (const [path, content] of files ?? []) {
      const key = path.startsWith('file:') ? path : `file:${path}`;
      parameters.set(key, { ...create(ModelRepositoryParameter), bytes_param: content });
    }
    await this.#call('RepositoryModelLoad', { repository_name: '', model_name: name, parameters }, options);
  }

  async unloadModel(name: string, parameters?: { unloadDependents?: boolean }, options?: CallOptions): Promise<void> {
    const unloadDependents = { ...create(ModelRepositoryParameter), bool_param: parameters?.unloadDependents ?? false };
    const request = {
      repository_name: '',
      model_name: name,
      parameters: new Map([['unload_dependents', unloadDependents]]),
    };
    await this.#call('RepositoryModelUnload', request, options);
  }

  async infer(call: InferCall, options?: CallOptions): Promise<InferResult> {
    return (await this.#transport.infer(this.#encode(call, false), this.#complete(options))).decode();
  }

  prepare(call: InferCall, options?: { enableEmptyFinalResponse?: boolean }): PreparedCall {
    const prepared = this.#encode(call, options?.enableEmptyFinalResponse ?? false);
    return this.#transport.detach === undefined ? prepared : this.#transport.detach(prepared);
  }

  inferPrepared(prepared: PreparedCall, options?: CallOptions): Promise<RawInferResult> {
    return this.#transport.infer(prepared, this.#complete(options));
  }

  async generate(call: GenerateCall, options?: CallOptions): Promise<GenerateResult> {
    const generate = this.#generate();
    try {
      return await generate.once(call, this.#complete(options));
    } catch (reason) {
      throw withRequestId(reason, call.id);
    }
  }

  generateStream(call: GenerateCall, options?: CallOptions): AsyncIterable<GenerateEvent> {
    return this.#generate().stream(call, this.#complete(options));
  }

  stream(options?: CallOptions): InferStream {
    if (this.#transport.stream === undefined) {
      throw new TritonError('UNSUPPORTED', 'HTTP has no inference streams; use the gRPC client (createGrpcClient)');
    }
    return this.#transport.stream(
      (call, enableEmptyFinalResponse) => this.#encodeForStream(call, enableEmptyFinalResponse),
      this.#complete(options),
    );
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #encode(call: InferCall, enableEmptyFinalResponse: boolean): PreparedCall {
    checkCall(call);
    return this.#transport.encode(call, enableEmptyFinalResponse);
  }

  #encodeForStream(call: InferCall | PreparedCall, enableEmptyFinalResponse: boolean): PreparedCall {
    if (!('protocol' in call)) return this.#encode(call, enableEmptyFinalResponse);
    if (enableEmptyFinalResponse) throw invalidArg('give enableEmptyFinalResponse with a request that is not prepared');
    return call;
  }

  #generate(): GenerateTransport {
    const { generate } = this.#transport;
    if (generate !== undefined) return generate;
    throw new TritonError('UNSUPPORTED', 'gRPC has no generate calls; use infer or stream, or the HTTP client');
  }

  #call<N extends RpcName>(rpc: N, request: RpcRequest<N>, options: CallOptions | undefined): Promise<RpcResponse<N>> {
    return this.#transport.call(rpc, request, this.#complete(options));
  }

  /** The options of a call with the client's limit where it has none of its own. */
  #complete(options: CallOptions = NO_OPTIONS): CallOptions {
    if (this.#timeoutMs === 0 || options.timeoutMs !== undefined) return options;
    return { ...options, timeoutMs: this.#timeoutMs };
  }
}
