import type { ChannelInterface } from '@grpc/grpc-js';
import { nowNs } from '../../base/clock.js';
import { invalidArg, TritonError } from '../../protocol/error.js';
import type { IndexEntry, ModelStatistics } from '../../protocol/management.js';
import { fromBinary, toBinary } from '../../protocol/proto/codec.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { create, type FieldTable, type MessageOf, type MessageSchema } from '../../protocol/proto/schema.js';
import * as messages from '../../protocol/proto/service.js';
import { checkCall } from '../api/check-call.js';
import { checkClientOptions } from '../api/check-options.js';
import type {
  CallOptions,
  ClientOptions,
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
import type { GenerateEvent, GenerateResult } from '../api/generate.js';
import { indexEntry } from '../api/index-entry.js';
import { withRequestId } from '../api/request-error.js';
import { decodeGrpcInferResponse, encodeGrpcInferRequest } from '../infer/grpc-codec.js';
import { openChannel } from './channel.js';
import { GrpcControl } from './grpc-control.js';
import { GrpcInferStream } from './infer-stream.js';
import { readModelMetadata, readModelStatistics } from './read-messages.js';
import { unary } from './unary.js';

const INFER_PATH = `${messages.SERVICE_PATH}ModelInfer`;
const STREAM_PATH = `${messages.SERVICE_PATH}ModelStreamInfer`;

/** A client over gRPC with one connection of its own. Connects at the first call. Throws INVALID_ARG for wrong options. */
export function createGrpcClient(options: ClientOptions): InferenceServerClient {
  checkClientOptions(options);
  return new GrpcClient(options);
}

class GrpcPreparedCall implements PreparedCall {
  readonly protocol = 'grpc';
  readonly message: Buffer;
  readonly id: string | undefined;

  constructor(message: Buffer, id: string | undefined) {
    this.message = message;
    this.id = id;
  }

  get byteLength(): number {
    return this.message.length;
  }
}

class GrpcClient implements InferenceServerClient {
  readonly protocol = 'grpc';
  readonly control: ServerControl;
  readonly #channel: ChannelInterface;
  readonly #timeoutMs: number;

  constructor(options: ClientOptions) {
    this.control = new GrpcControl((...call) => this.#call(...call));
    this.#channel = openChannel(options);
    this.#timeoutMs = options.timeoutMs ?? 0;
  }

  async isServerLive(options?: CallOptions): Promise<boolean> {
    const { ServerLiveRequest, ServerLiveResponse } = messages;
    return (await this.#call('ServerLive', ServerLiveRequest, {}, ServerLiveResponse, options)).live;
  }

  async isServerReady(options?: CallOptions): Promise<boolean> {
    const { ServerReadyRequest, ServerReadyResponse } = messages;
    return (await this.#call('ServerReady', ServerReadyRequest, {}, ServerReadyResponse, options)).ready;
  }

  async isModelReady(name: string, version = '', options?: CallOptions): Promise<boolean> {
    const { ModelReadyRequest, ModelReadyResponse } = messages;
    return (await this.#call('ModelReady', ModelReadyRequest, { name, version }, ModelReadyResponse, options)).ready;
  }

  serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    const { ServerMetadataRequest, ServerMetadataResponse } = messages;
    return this.#call('ServerMetadata', ServerMetadataRequest, {}, ServerMetadataResponse, options);
  }

  async modelMetadata(name: string, version = '', options?: CallOptions): Promise<ModelMetadata> {
    const { ModelMetadataRequest, ModelMetadataResponse } = messages;
    const request = { name, version };
    return readModelMetadata(
      await this.#call('ModelMetadata', ModelMetadataRequest, request, ModelMetadataResponse, options),
    );
  }

  async modelConfig(name: string, version = '', options?: CallOptions): Promise<ModelConfig> {
    const { ModelConfigRequest, ModelConfigResponse } = messages;
    const answer = await this.#call('ModelConfig', ModelConfigRequest, { name, version }, ModelConfigResponse, options);
    if (answer.config === undefined) throw new TritonError('INTERNAL', 'the answer holds no model configuration');
    return answer.config;
  }

  async modelStatistics(name = '', version = '', options?: CallOptions): Promise<readonly ModelStatistics[]> {
    const { ModelStatisticsRequest, ModelStatisticsResponse } = messages;
    const request = { name, version };
    const answer = await this.#call(
      'ModelStatistics',
      ModelStatisticsRequest,
      request,
      ModelStatisticsResponse,
      options,
    );
    return answer.model_stats.map(readModelStatistics);
  }

  async repositoryIndex(ready = false, options?: CallOptions): Promise<readonly IndexEntry[]> {
    const { RepositoryIndexRequest, RepositoryIndexResponse } = messages;
    const request = { repository_name: '', ready };
    const answer = await this.#call(
      'RepositoryIndex',
      RepositoryIndexRequest,
      request,
      RepositoryIndexResponse,
      options,
    );
    return answer.models.map(({ name, version, state, reason }) => indexEntry(name, version, state, reason));
  }

  async loadModel(
    name: string,
    parameters: { config?: string; files?: ReadonlyMap<string, Uint8Array> } = {},
    options?: CallOptions,
  ): Promise<void> {
    const { ModelRepositoryParameter, RepositoryModelLoadRequest, RepositoryModelLoadResponse } = messages;
    const request = create(RepositoryModelLoadRequest);
    request.model_name = name;
    if (parameters.config !== undefined) {
      request.parameters.set('config', { ...create(ModelRepositoryParameter), string_param: parameters.config });
    }
    for (const [path, content] of parameters.files ?? []) {
      const key = path.startsWith('file:') ? path : `file:${path}`;
      request.parameters.set(key, { ...create(ModelRepositoryParameter), bytes_param: content });
    }
    await this.#call('RepositoryModelLoad', RepositoryModelLoadRequest, request, RepositoryModelLoadResponse, options);
  }

  async unloadModel(name: string, parameters?: { unloadDependents?: boolean }, options?: CallOptions): Promise<void> {
    const { ModelRepositoryParameter, RepositoryModelUnloadRequest, RepositoryModelUnloadResponse } = messages;
    const request = create(RepositoryModelUnloadRequest);
    request.model_name = name;
    request.parameters.set('unload_dependents', {
      ...create(ModelRepositoryParameter),
      bool_param: parameters?.unloadDependents ?? false,
    });
    await this.#call(
      'RepositoryModelUnload',
      RepositoryModelUnloadRequest,
      request,
      RepositoryModelUnloadResponse,
      options,
    );
  }

  async infer(call: InferCall, options?: CallOptions): Promise<InferResult> {
    const message = encode(call, false);
    let answer: Uint8Array;
    try {
      answer = await unary(this.#channel, INFER_PATH, message, this.#timeoutMs, options);
    } catch (reason) {
      throw withRequestId(reason, call.id);
    }
    return decodeGrpcInferResponse(answer);
  }

  prepare(call: InferCall, options?: { enableEmptyFinalResponse?: boolean }): PreparedCall {
    return new GrpcPreparedCall(encode(call, options?.enableEmptyFinalResponse ?? false), call.id);
  }

  async inferPrepared(prepared: PreparedCall, options?: CallOptions): Promise<RawInferResult> {
    const sendStartNs = nowNs();
    const message = messageOf(prepared);
    const pending = unary(this.#channel, INFER_PATH, message, this.#timeoutMs, options);
    const sendEndNs = nowNs();
    let answer: Uint8Array;
    try {
      answer = await pending;
    } catch (reason) {
      throw withRequestId(reason, (prepared as GrpcPreparedCall).id);
    }
    const receiveStartNs = nowNs();
    const result = {
      timing: { sendStartNs, sendEndNs, receiveStartNs, receiveEndNs: receiveStartNs },
      decode: () => decodeGrpcInferResponse(answer),
    };
    result.timing.receiveEndNs = nowNs();
    return result;
  }

  async generate(): Promise<GenerateResult> {
    throw generateRefused();
  }

  generateStream(): AsyncIterable<GenerateEvent> {
    throw generateRefused();
  }

  stream(options?: CallOptions): InferStream {
    return new GrpcInferStream(this.#channel, STREAM_PATH, encodeForStream, this.#timeoutMs, options);
  }

  async close(): Promise<void> {
    this.#channel.close();
  }

  async #call<Q extends FieldTable, A extends FieldTable>(
    rpc: string,
    requestSchema: MessageSchema<Q>,
    request: MessageOf<MessageSchema<Q>>,
    answerSchema: MessageSchema<A>,
    options: CallOptions | undefined,
  ): Promise<MessageOf<MessageSchema<A>>> {
    const bytes = toBinary(requestSchema, request);
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const answer = await unary(this.#channel, messages.SERVICE_PATH + rpc, message, this.#timeoutMs, options);
    return fromBinary(answerSchema, answer, 'response');
  }
}

function generateRefused(): TritonError {
  return new TritonError('UNSUPPORTED', 'gRPC has no generate calls; use infer or stream, or the HTTP client');
}

function messageOf(prepared: PreparedCall): Buffer {
  if (!(prepared instanceof GrpcPreparedCall)) {
    throw invalidArg('the request was prepared by a client of another protocol');
  }
  return prepared.message;
}

function encodeForStream(call: InferCall | PreparedCall, enableEmptyFinalResponse: boolean): Buffer {
  if (!('protocol' in call)) return encode(call, enableEmptyFinalResponse);
  if (enableEmptyFinalResponse) throw invalidArg('give enableEmptyFinalResponse with a request that is not prepared');
  return messageOf(call);
}

/** One message as one buffer: grpc-js frames whole messages only. */
function encode(call: InferCall, enableEmptyFinalResponse: boolean): Buffer {
  checkCall(call);
  return Buffer.concat(encodeGrpcInferRequest(call, enableEmptyFinalResponse));
}
