import { TritonError } from '../../../base/error.js';
import { GrpcStatus, grpcStatusOf } from '../../../protocol/error.js';
import { fromBinary, toBinary } from '../../../protocol/proto/codec.js';
import type { FieldTable, MessageOf, MessageSchema } from '../../../protocol/proto/schema.js';
import type { GrpcCall, GrpcMethod } from '../../../transport/grpc/grpc-api.js';

/** The error of a stopping server for requests that still come on open streams. */
export const SHUTTING_DOWN = 'GRPC server is shutting down and has stopped accepting new requests.';

/** Ends a call with the mapped status of an error. */
export function finishWithError(call: GrpcCall, reason: unknown): void {
  const error = TritonError.from(reason);
  call.finish(grpcStatusOf(error.code), error.message);
}

/** Sends the one response of a unary call. */
export function finishWith(call: GrpcCall, message: Uint8Array | readonly Uint8Array[]): void {
  call.send(message);
  call.finish(GrpcStatus.OK);
}

/** A unary method over message tables. `answer` may be asynchronous; what it throws becomes the status. */
export function unaryMethod<Q extends FieldTable, A extends FieldTable>(
  request: MessageSchema<Q>,
  response: MessageSchema<A>,
  answer: (
    message: MessageOf<MessageSchema<Q>>,
    call: GrpcCall,
  ) => MessageOf<MessageSchema<A>> | Promise<MessageOf<MessageSchema<A>>>,
): GrpcMethod {
  return encodedMethod(request, async (message, call) => toBinary(response, await answer(message, call)));
}

/** Like `unaryMethod`, for a response that is encoded already. Synchronous ones leave in the same turn. */
export function encodedMethod<Q extends FieldTable>(
  request: MessageSchema<Q>,
  answer: (message: MessageOf<MessageSchema<Q>>, call: GrpcCall) => Uint8Array | Promise<Uint8Array>,
): GrpcMethod {
  return {
    kind: 'unary',
    handle(call, bytes) {
      try {
        const result = answer(fromBinary(request, bytes), call);
        if (result instanceof Uint8Array) finishWith(call, result);
        else
          result.then(
            (message) => finishWith(call, message),
            (reason) => finishWithError(call, reason),
          );
      } catch (reason) {
        finishWithError(call, reason);
      }
    },
  };
}
