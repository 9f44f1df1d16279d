import grpc from '@grpc/grpc-js';
import { fromBinary, toBinary } from '../../../src/protocol/proto/codec.js';
import type { FieldTable, MessageOf, MessageSchema } from '../../../src/protocol/proto/schema.js';
import { SERVICE_PATH } from '../../../src/protocol/proto/service/service.js';

/** A gRPC client that knows the project's message tables only. */
export class TestGrpcClient {
  readonly client: grpc.Client;

  constructor(port: number, credentials = grpc.credentials.createInsecure(), options: grpc.ClientOptions = {}) {
    this.client = new grpc.Client(`127.0.0.1:${port}`, credentials, {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      ...options,
    });
  }

  /** Calls a unary method by its name or full path. Rejects with grpc-js's error (code, details). */
  call<Q extends FieldTable, A extends FieldTable>(
    method: string,
    request: MessageSchema<Q>,
    response: MessageSchema<A>,
    message: MessageOf<MessageSchema<Q>>,
  ): Promise<MessageOf<MessageSchema<A>>> {
    return this.callBytes(method, toBinary(request, message)).then((bytes) => fromBinary(response, bytes));
  }

  /** The same with encoded messages. */
  callBytes(method: string, message: Uint8Array, metadata: Readonly<Record<string, string>> = {}): Promise<Uint8Array> {
    const path_ = method.startsWith('/') ? method : SERVICE_PATH + method;
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        path_,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => bytes,
        message,
        metadataOf(metadata),
        (error, answer) => (error === null ? resolve(answer as Buffer) : reject(error)),
      );
    });
  }

  /** Opens ModelStreamInfer with encoded messages. */
  stream(metadata: Readonly<Record<string, string>> = {}): grpc.ClientDuplexStream<Uint8Array, Buffer> {
    return this.client.makeBidiStreamRequest(
      `${SERVICE_PATH}ModelStreamInfer`,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => bytes,
      metadataOf(metadata),
    );
  }

  close(): void {
    this.client.close();
  }
}

function metadataOf(entries: Readonly<Record<string, string>>): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
}
