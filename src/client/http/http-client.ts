import type { Pool } from 'undici';
import { invalidArg } from '../../base/error.js';
import type {
  CallOptions,
  ClientOptions,
  InferCall,
  InferenceServerClient,
  PreparedCall,
  RawInferResult,
} from '../api/client.js';
import type { GenerateCall } from '../api/generate.js';
import { checkClientOptions } from '../core/check-options.js';
import { withRequestId } from '../core/errors.js';
import { ServerClient } from '../core/server-client.js';
import type { GenerateTransport, RpcName, RpcRequest, RpcResponse, Transport } from '../core/transport.js';
import { parseServerUrl } from '../core/url.js';
import { decodeHttpInferResponse, encodeHttpInferRequest, type HttpEncodeOptions } from '../infer/http-codec.js';
import { compressRequest, decompressBody } from './compress.js';
import { chunksOf, exchange, type HttpRequest, type HttpResponse, joined } from './exchange.js';
import { generateBody, generateEvents, generateResult } from './generate.js';
import { HTTP_FORMS, type HttpForm, type ManagementRequest } from './management.js';
import { modelPath } from './paths.js';
import { openPool } from './pool.js';
import { errorOfResponse } from './response-error.js';

/** Bodies up to this size in bytes leave as one buffer; the chunks of larger ones are written one by one, without a copy. */
const MAX_JOINED_BODY = 64 * 1024;

/** A client over HTTP/1.1 with keep-alive connections. Nothing is sent before the first call. Throws INVALID_ARG for wrong options. */
export function createHttpClient(options: ClientOptions): InferenceServerClient {
  checkClientOptions(options);
  return new ServerClient(new HttpTransport(options), options.timeoutMs ?? 0);
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

class HttpTransport implements Transport {
  readonly protocol = 'http';
  readonly generate: GenerateTransport;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #compression: 'none' | 'gzip' | 'deflate';
  readonly #format: HttpEncodeOptions;

  constructor(options: ClientOptions) {
    const address = parseServerUrl(options.url);
    this.#basePath = address.basePath;
    this.#compression = options.compression ?? 'none';
    this.#format = { binaryInputs: options.inputFormat !== 'json', binaryOutputs: options.outputFormat !== 'json' };
    this.#pool = openPool(address, options);
    this.generate = {
      once: async (call, callOptions) => {
        const response = await this.#request(this.#generateRequest(call, 'generate'), callOptions);
        if (response.status !== 200) throw errorOfResponse(response);
        return generateResult(response);
      },
      stream: (call, callOptions) => {
        const { path, body } = this.#generateRequest(call, 'generate_stream');
        return generateEvents(this.#pool, this.#basePath + path, body, callOptions);
      },
    };
  }

  async call<N extends RpcName>(rpc: N, request: RpcRequest<N>, options: CallOptions): Promise<RpcResponse<N>> {
    const form: HttpForm<N> = HTTP_FORMS[rpc];
    return form.receive(await this.#request(form.send(request), options));
  }

  encode(call: InferCall): PreparedCall {
    const { chunks, byteLength, headerLength } = encodeHttpInferRequest(call, this.#format);
    // As Triton's C++ client: the length of the JSON part is always sent, the type says how inputs travel.
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

  detach(prepared: PreparedCall): PreparedCall {
    const { request, byteLength, id } = preparedOf(prepared);
    return new HttpPreparedCall({ ...request, body: Buffer.concat(chunksOf(request.body)) }, byteLength, id);
  }

  async infer(call: PreparedCall, options: CallOptions): Promise<RawInferResult> {
    const prepared = preparedOf(call);
    let { request } = prepared;
    if (this.#compression !== 'none') request = await compressRequest(request, this.#compression);
    if (options.headers !== undefined) request = withHeaders(request, options.headers);
    let response: HttpResponse;
    try {
      response = await exchange(this.#pool, request, options.timeoutMs ?? 0, options.signal);
    } catch (reason) {
      throw withRequestId(reason, prepared.id);
    }
    const { status, encoding, timing, headerLength } = response;
    if (status !== 200) throw withRequestId(errorOfResponse(response), prepared.id);
    const body = encoding === undefined ? response.body : await decompressBody(response.body, encoding);
    return { timing, decode: () => decodeHttpInferResponse(body, headerLength) };
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #generateRequest(call: GenerateCall, action: 'generate' | 'generate_stream') {
    return {
      method: 'POST',
      path: modelPath(call.modelName, call.modelVersion, action),
      body: generateBody(call),
    } as const;
  }

  #request({ method, path, body }: ManagementRequest, options: CallOptions): Promise<HttpResponse> {
    const request = {
      method,
      path: this.#basePath + path,
      headers: body === undefined ? [] : ['content-type', 'application/json'],
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
    };
    return exchange(this.#pool, withHeaders(request, options.headers), options.timeoutMs ?? 0, options.signal);
  }
}

function preparedOf(prepared: PreparedCall): HttpPreparedCall {
  if (prepared instanceof HttpPreparedCall) return prepared;
  throw invalidArg('the request was prepared by a client of another protocol');
}

function withHeaders(request: HttpRequest, headers: CallOptions['headers']): HttpRequest {
  if (headers === undefined) return request;
  return { ...request, headers: [...request.headers, ...Object.entries(headers).flat()] };
}
