import { Pool } from 'undici';
import { invalidArg, TritonError } from '../../protocol/error.js';
import type { JsonValue } from '../../protocol/json/json-value.js';
import type { IndexEntry, ModelStatistics } from '../../protocol/management.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
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
import {
  type GenerateCall,
  type GenerateEvent,
  type GenerateResult,
  generateBody,
  generateError,
  readGenerateResult,
} from '../api/generate.js';
import { withRequestId } from '../api/request-error.js';
import { parseServerUrl } from '../api/url.js';
import { decodeHttpInferResponse, encodeHttpInferRequest, type HttpEncodeOptions } from '../infer/http-codec.js';
import { compressBody, decompressBody } from './compress.js';
import { errorOfAnswer } from './error-of-answer.js';
import { exchange, type HttpRequest, type HttpResponse } from './exchange.js';
import { generateEvents } from './generate-stream.js';
import { HttpControl } from './http-control.js';
import { modelPath, repositoryPath, statisticsPath } from './paths.js';
import {
  readJsonAnswer,
  readModelMetadata,
  readModelStatistics,
  readRepositoryIndex,
  readServerMetadata,
} from './read-answers.js';

/** Connections that a client opens at most, unless told otherwise. */
const DEFAULT_CONNECTIONS = 128;
/** Bodies up to this size leave as one buffer; the chunks of larger ones are written one by one, without a copy. */
const MAX_JOINED_BODY = 64 * 1024;

/** A client over HTTP/1.1 with keep-alive connections. Nothing is sent before the first call. Throws INVALID_ARG for wrong options. */
export function createHttpClient(options: ClientOptions): InferenceServerClient {
  checkClientOptions(options);
  return new HttpClient(options);
}

/** Everything about a request that does not change from one sending to the next. */
class HttpPreparedCall implements PreparedCall {
  readonly protocol = 'http';
  readonly byteLength: number;
  readonly request: HttpRequest;
  readonly id: string | undefined;

  constructor(request: HttpRequest, byteLength: number, id: string | undefined) {
    this.request = request;
    this.byteLength = byteLength;
    this.id = id;
  }
}

class HttpClient implements InferenceServerClient {
  readonly protocol = 'http';
  readonly control: ServerControl;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #timeoutMs: number;
  readonly #compression: 'none' | 'gzip' | 'deflate';
  readonly #format: HttpEncodeOptions;

  constructor(options: ClientOptions) {
    const address = parseServerUrl(options.url);
    const { tls } = options;
    const secure = address.secure || tls !== undefined;
    this.control = new HttpControl((...call) => this.#call(...call));
    this.#basePath = address.basePath;
    this.#timeoutMs = options.timeoutMs ?? 0;
    this.#compression = options.compression ?? 'none';
    this.#format = { binaryInputs: options.inputFormat !== 'json', binaryOutputs: options.outputFormat !== 'json' };
    this.#pool = new Pool(`${secure ? 'https' : 'http'}://${address.authority}`, {
      connections: options.maxConnections ?? DEFAULT_CONNECTIONS,
      // Limits are the calls' own: a model may compute for as long as it likes.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(secure
        ? {
            connect: {
              ...(tls?.rootCertificates === undefined ? {} : { ca: tls.rootCertificates }),
              ...(tls?.certificate === undefined ? {} : { cert: tls.certificate }),
              ...(tls?.privateKey === undefined ? {} : { key: tls.privateKey }),
              ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
              rejectUnauthorized: tls?.verifyPeer ?? true,
            },
          }
        : {}),
    });
  }

  isServerLive(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/v2/health/live', options);
  }

  isServerReady(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/v2/health/ready', options);
  }

  isModelReady(name: string, version?: string, options?: CallOptions): Promise<boolean> {
    return this.#isOk(modelPath(name, version, 'ready'), options);
  }

  serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#get('/v2', 'server metadata', readServerMetadata, options);
  }

  modelMetadata(name: string, version?: string, options?: CallOptions): Promise<ModelMetadata> {
    return this.#get(modelPath(name, version), 'model metadata', readModelMetadata, options);
  }

  async modelConfig(name: string, version?: string, options?: CallOptions): Promise<ModelConfig> {
    const response = await this.#call('GET', modelPath(name, version, 'config'), undefined, options);
    const { configFromJson } = await import('../../modelconfig/json/config-json.js');
    return configFromJson(Buffer.from(response.body).toString('utf8'));
  }

  modelStatistics(name = '', version?: string, options?: CallOptions): Promise<readonly ModelStatistics[]> {
    return this.#get(statisticsPath(name, version), 'model statistics', readModelStatistics, options);
  }

  async repositoryIndex(ready = false, options?: CallOptions): Promise<readonly IndexEntry[]> {
    const body = ready ? Buffer.from('{"ready":true}') : undefined;
    const response = await this.#call('POST', '/v2/repository/index', body, options);
    return readJsonAnswer(response.body, 'repository index', readRepositoryIndex);
  }

  async loadModel(
    name: string,
    parameters: { config?: string; files?: ReadonlyMap<string, Uint8Array> } = {},
    options?: CallOptions,
  ): Promise<void> {
    const sent: Record<string, string> = {};
    if (parameters.config !== undefined) sent['config'] = parameters.config;
    for (const [path, content] of parameters.files ?? []) {
      const key = path.startsWith('file:') ? path : `file:${path}`;
      sent[key] = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
    }
    const body = Object.keys(sent).length === 0 ? {} : { parameters: sent };
    await this.#call('POST', repositoryPath(name, 'load'), Buffer.from(JSON.stringify(body)), options);
  }

  async unloadModel(name: string, parameters?: { unloadDependents?: boolean }, options?: CallOptions): Promise<void> {
    const body = { parameters: { unload_dependents: parameters?.unloadDependents ?? false } };
    await this.#call('POST', repositoryPath(name, 'unload'), Buffer.from(JSON.stringify(body)), options);
  }

  async infer(call: InferCall, options?: CallOptions): Promise<InferResult> {
    const response = await this.#send(this.#encode(call), options);
    return decodeResult(response);
  }

  prepare(call: InferCall): PreparedCall {
    const { request, byteLength, id } = this.#encode(call);
    const body = request.body as Uint8Array | readonly Uint8Array[];
    // A copy, so that later changes of the caller's buffers do not show.
    return new HttpPreparedCall(
      { ...request, body: Array.isArray(body) ? joined(body) : Buffer.from(body as Uint8Array) },
      byteLength,
      id,
    );
  }

  async inferPrepared(prepared: PreparedCall, options?: CallOptions): Promise<RawInferResult> {
    if (!(prepared instanceof HttpPreparedCall))
      throw invalidArg('the request was prepared by a client of another protocol');
    const response = await this.#send(prepared, options);
    return { timing: response.timing, decode: () => decodeResult(response) };
  }

  async generate(call: GenerateCall, options?: CallOptions): Promise<GenerateResult> {
    const path = modelPath(call.modelName, call.modelVersion, 'generate');
    try {
      const response = await this.#call('POST', path, Buffer.from(generateBody(call)), options);
      const answer = readJsonAnswer(response.body, 'generate response', (json) => {
        const error = generateError(json);
        return error === undefined ? { result: readGenerateResult(json) } : { error };
      });
      if (answer.error === undefined) return answer.result;
      // A model that does not answer exactly once is told of under status 200.
      throw new TritonError('INTERNAL', answer.error, { status: response.status });
    } catch (reason) {
      throw withRequestId(reason, call.id);
    }
  }

  generateStream(call: GenerateCall, options: CallOptions = {}): AsyncIterable<GenerateEvent> {
    const path = this.#basePath + modelPath(call.modelName, call.modelVersion, 'generate_stream');
    return generateEvents(this.#pool, path, generateBody(call), options.timeoutMs ?? this.#timeoutMs, options);
  }

  stream(): InferStream {
    throw new TritonError('UNSUPPORTED', 'HTTP has no inference streams; use the gRPC client (createGrpcClient)');
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #encode(call: InferCall): HttpPreparedCall {
    checkCall(call);
    const { chunks, byteLength, headerLength } = encodeHttpInferRequest(call, this.#format);
    // As the original's C++ client: the length of the JSON part is always told, the type says how inputs travel.
    const type = this.#format.binaryInputs === false ? 'application/json' : 'application/octet-stream';
    const headers = ['content-type', type, 'Inference-Header-Content-Length', String(headerLength ?? byteLength)];
    if (byteLength > MAX_JOINED_BODY) headers.push('content-length', String(byteLength));
    return new HttpPreparedCall(
      {
        method: 'POST',
        path: this.#basePath + modelPath(call.modelName, call.modelVersion, 'infer'),
        headers,
        body: byteLength > MAX_JOINED_BODY ? chunks : joined(chunks),
      },
      byteLength,
      call.id,
    );
  }

  /** Sends an inference request; resolves with a good answer, decompressed. */
  async #send(prepared: HttpPreparedCall, options: CallOptions | undefined): Promise<HttpResponse> {
    let { request } = prepared;
    if (this.#compression !== 'none') request = await this.#compressed(request);
    if (options?.headers !== undefined) request = withHeaders(request, options.headers);
    const limit = options?.timeoutMs ?? this.#timeoutMs;
    let response: HttpResponse;
    try {
      response = await exchange(this.#pool, request, limit, options?.signal);
    } catch (reason) {
      throw withRequestId(reason, prepared.id);
    }
    if (response.status !== 200) throw withRequestId(errorOfAnswer(response), prepared.id);
    if (response.encoding === undefined) return response;
    return { ...response, body: await decompressBody(response.body, response.encoding) };
  }

  async #compressed(request: HttpRequest): Promise<HttpRequest> {
    const encoding = this.#compression as 'gzip' | 'deflate';
    const body = await compressBody(joined(chunksOf(request.body)), encoding);
    const headers: string[] = [];
    for (let i = 0; i < request.headers.length; i += 2) {
      if (request.headers[i] !== 'content-length') headers.push(...request.headers.slice(i, i + 2));
    }
    headers.push('content-encoding', encoding, 'accept-encoding', encoding);
    return { ...request, headers, body };
  }

  async #isOk(path: string, options: CallOptions | undefined): Promise<boolean> {
    const response = await this.#request('GET', path, undefined, options);
    return response.status === 200;
  }

  async #get<T>(
    path: string,
    what: string,
    read: (json: JsonValue) => T,
    options: CallOptions | undefined,
  ): Promise<T> {
    return readJsonAnswer((await this.#call('GET', path, undefined, options)).body, what, read);
  }

  async #call(
    method: 'GET' | 'POST',
    path: string,
    body: Uint8Array | undefined,
    options: CallOptions | undefined,
  ): Promise<HttpResponse> {
    const response = await this.#request(method, path, body, options);
    if (response.status !== 200) throw errorOfAnswer(response);
    return response;
  }

  #request(
    method: 'GET' | 'POST',
    path: string,
    body: Uint8Array | undefined,
    options: CallOptions | undefined,
  ): Promise<HttpResponse> {
    const headers = body === undefined ? [] : ['content-type', 'application/json'];
    const request = { method, path: this.#basePath + path, headers, ...(body === undefined ? {} : { body }) };
    return exchange(
      this.#pool,
      withHeaders(request, options?.headers),
      options?.timeoutMs ?? this.#timeoutMs,
      options?.signal,
    );
  }
}

function decodeResult(response: HttpResponse): InferResult {
  return decodeHttpInferResponse(response.body, response.headerLength);
}

function withHeaders(request: HttpRequest, headers: Readonly<Record<string, string>> | undefined): HttpRequest {
  if (headers === undefined) return request;
  return { ...request, headers: [...request.headers, ...Object.entries(headers).flat()] };
}

function chunksOf(body: HttpRequest['body']): readonly Uint8Array[] {
  if (body === undefined) return [];
  return body instanceof Uint8Array ? [body] : body;
}

function joined(chunks: readonly Uint8Array[]): Buffer {
  const first = chunks[0];
  if (chunks.length === 1 && first !== undefined) return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  return Buffer.concat(chunks);
}
