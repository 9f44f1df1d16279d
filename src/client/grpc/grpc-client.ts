import type { ChannelInterface } from '@grpc/grpc-js';
import { nowNs } from '../../base/clock.js';
import { invalidArg } from '../../base/error.js';
import { fromBinary, toBinary } from '../../protocol/proto/codec.js';
import type { MessageOf, MessageSchema } from '../../protocol/proto/schema.js';
import { SERVICE_PATH } from '../../protocol/proto/service/service.js';
import type {
  CallOptions,
  ClientOptions,
  InferCall,
  InferenceServerClient,
  InferStream,
  PreparedCall,
  RawInferResult,
} from '../api/client.js';
import { checkClientOptions } from '../core/check-options.js';
import { withRequestId } from '../core/errors.js';
import { ServerClient } from '../core/server-client.js';
import {
  type CallEncoder,
  RPCS,
  type RpcName,
  type RpcRequest,
  type RpcResponse,
  type Transport,
} from '../core/transport.js';
import { decodeGrpcInferResponse, encodeGrpcInferRequest } from '../infer/grpc-codec.js';
import { openChannel } from './channel.js';
import { GrpcInferStream } from './infer-stream.js';
import { unary } from './unary.js';

const INFER_PATH = `${SERVICE_PATH}ModelInfer`;
const STREAM_PATH = `${SERVICE_PATH}ModelStreamInfer`;

/** A client over gRPC with one connection of its own. Connects at the first call. Throws INVALID_ARG for wrong options. */
export function createGrpcClient(options: ClientOptions): InferenceServerClient {
  checkClientOptions(options);
  return new ServerClient(new GrpcTransport(options), options.timeoutMs ?? 0);
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

class GrpcTransport implements Transport {
  readonly protocol = 'grpc';
  readonly #channel: ChannelInterface;

  constructor(options: ClientOptions) {
    this.#channel = openChannel(options);
  }

  async call<N extends RpcName>(rpc: N, request: RpcRequest<N>, options: CallOptions): Promise<RpcResponse<N>> {
    const schemas: { request: MessageSchema; response: MessageSchema } = RPCS[rpc];
    const bytes = toBinary(schemas.request, request as MessageOf<MessageSchema>);
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const response = await unary(this.#channel, SERVICE_PATH + rpc, message, options);
    return fromBinary(schemas.response, response, 'response') as RpcResponse<N>;
  }

  /** One message as one buffer: grpc-js frames whole messages only. */
  encode(call: InferCall, enableEmptyFinalResponse: boolean): PreparedCall {
    return new GrpcPreparedCall(Buffer.concat(encodeGrpcInferRequest(call, enableEmptyFinalResponse)), call.id);
  }

  async infer(call: PreparedCall, options: CallOptions): Promise<RawInferResult> {
    const sendStartNs = nowNs();
    const prepared = preparedOf(call);
    const pending = unary(this.#channel, INFER_PATH, prepared.message, options);
    const sendEndNs = nowNs();
    let response: Uint8Array;
    try {
      response = await pending;
    } catch (reason) {
      throw withRequestId(reason, prepared.id);
    }
    const receiveStartNs = nowNs();
    const result = {
      timing: { sendStartNs, sendEndNs, receiveStartNs, receiveEndNs: receiveStartNs },
      decode: () => decodeGrpcInferResponse(response),
    };
    result.timing.receiveEndNs = nowNs();
    return result;
  }

  stream(encode: CallEncoder, options: CallOptions): InferStream {
    return new GrpcInferStream(
      this.#channel,
      STREAM_PATH,
      (call, enableEmptyFinalResponse) => preparedOf(encode(call, enableEmptyFinalResponse)).message,
      options,
    );
  }

  async close(): Promise<void> {
    this.#channel.close();
  }
}

function preparedOf(prepared: PreparedCall): GrpcPreparedCall {
  if (prepared instanceof GrpcPreparedCall) return prepared;
  throw invalidArg('the request was prepared by a client of another protocol');
}
