import { TritonError } from '../../../base/error.js';
import type { InferenceResponse } from '../../../contract/request.js';
import { GrpcStatus, grpcStatusOf } from '../../../protocol/error.js';
import { decodeModelInferRequest } from '../../../protocol/proto/infer/infer-codec.js';
import type { GrpcCall, GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { type CallKind, InferenceCall, logRefusal } from '../../infer/inference-call.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';
import type { RequestTiming } from '../../infer/request-timing.js';
import type { ServerLog } from '../../log/server-log.js';
import { GRPC_MAX_MESSAGE_BYTES } from '../../options/grpc-options.js';
import { GrpcCallClient } from '../infer/call-client.js';
import { GrpcTrace, WaitForRequest } from '../infer/call-trace.js';
import { Cancellation } from '../infer/cancellation.js';
import { decodeGrpcInferRequest } from '../infer/decode-request.js';
import { encodeGrpcInferResponse } from '../infer/encode-response.js';
import { afterDelay, type GrpcDelays, grpcDelays } from '../infer/test-delays.js';
import { finishWithError } from '../message/respond.js';

const KIND: CallKind = {
  protocol: 'grpc',
  refusesDecoupled: "ModelInfer RPC doesn't support models with decoupled transaction policy",
  forwardsHeaders: true,
  timed: true,
  logsBuffers: true,
};

/** A request on its way. */
interface Exchange {
  readonly context: ServerContext;
  readonly call: GrpcCall;
  readonly inference: InferenceCall<GrpcTrace>;
  readonly delays: GrpcDelays | undefined;
}

/** ModelInfer: one request, one response. */
export function modelInfer(context: ServerContext): GrpcMethod {
  const wait = new WaitForRequest();
  const delays = grpcDelays();
  const cancellation = new Cancellation(context.log, delays, 'ModelInferHandler');
  const method: UnaryMethod = {
    kind: 'unary',
    handle(call, bytes) {
      const client = new GrpcCallClient(call, bytes, cancellation);
      let inference: InferenceCall<GrpcTrace> | undefined;
      try {
        const message = decodeModelInferRequest(bytes);
        const { modelName: model, modelVersion: version } = message;
        inference = InferenceCall.begin(context, KIND, { model, version }, (tracer) =>
          GrpcTrace.start(tracer, model, call, wait),
        );
        const decoded = decodeGrpcInferRequest(message, inference.model, context.decoding.grpc);
        const exchange = { context, call, inference, delays };
        inference.submitForOne(decoded, client, (response, count) => answer(exchange, decoded, response, count));
      } catch (reason) {
        client.release();
        logRefusal(context.log, inference?.id ?? '', reason);
        send(inference?.trace, () => finishWithError(call, reason));
      }
    },
  };
  return delays === undefined ? method : delayed(method, delays, context.log, cancellation);
}

type UnaryMethod = Extract<GrpcMethod, { readonly kind: 'unary' }>;

/** The method with what delays its requests. */
function delayed(method: UnaryMethod, { process }: GrpcDelays, log: ServerLog, cancellation: Cancellation): GrpcMethod {
  return {
    kind: 'unary',
    handle(call, bytes) {
      afterDelay(process, log, 'the Process execution', () => {
        if (call.cancelled) cancellation.receive('START', () => {});
        else method.handle(call, bytes);
      });
    },
  };
}

/** Sends the model's response, and gives back what the request held; later, where the environment asks for that. */
function answer(
  exchange: Exchange,
  decoded: DecodedInferRequest,
  response: InferenceResponse | undefined,
  count: number,
): void {
  const { context, call, delays } = exchange;
  if (delays === undefined) {
    answerNow(exchange, decoded, response, count);
    return;
  }
  const { log } = context;
  afterDelay(delays.responseCompletion, log, 'InferResponseComplete execution', () =>
    afterDelay(call.cancelled ? delays.enqueue : 0, log, 'PutTaskBackToQueue', () =>
      answerNow(exchange, decoded, response, count),
    ),
  );
}

function answerNow(
  exchange: Exchange,
  decoded: DecodedInferRequest,
  response: InferenceResponse | undefined,
  count: number,
): void {
  const { call, inference } = exchange;
  if (call.cancelled) inference.trace?.end();
  else {
    send(inference.trace, () => {
      try {
        if (count !== 1) throw new TritonError('INTERNAL', `expected a single response, got ${count}`);
        respond(exchange, decoded, withTiming(response!, inference.timing));
      } catch (reason) {
        finishWithError(call, reason);
      }
    });
  }
  inference.release();
}

/** Sends inside the trace, which ends with it. */
function send(trace: GrpcTrace | undefined, what: () => void): void {
  if (trace === undefined) what();
  else {
    trace.sending(what);
    trace.end();
  }
}

function withTiming(response: InferenceResponse, timing: RequestTiming | undefined): InferenceResponse {
  if (timing === undefined) return response;
  return { ...response, parameters: [...response.parameters, ...timing.parameters()] };
}

/** Throws what cannot be encoded or sent. */
function respond(
  { context, call, inference }: Exchange,
  decoded: DecodedInferRequest,
  response: InferenceResponse,
): void {
  if (response.error !== undefined) {
    call.finish(grpcStatusOf(response.error.code), response.error.message);
    return;
  }
  const { responseCompression } = context.options.grpc;
  if (responseCompression !== 'none') call.compress(responseCompression);
  sendLimited(call, encodeGrpcInferResponse(response, decoded, inference.model));
  call.finish(GrpcStatus.OK);
}

/** Sends a response, unless it is larger than gRPC allows: then throws INVALID_ARG. */
function sendLimited(call: GrpcCall, chunks: readonly Uint8Array[]): void {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  if (size > GRPC_MAX_MESSAGE_BYTES) {
    throw new TritonError(
      'INVALID_ARG',
      `Response has byte size ${size} which exceeds gRPC's byte size limit ${GRPC_MAX_MESSAGE_BYTES}.`,
    );
  }
  call.send(chunks);
}
