import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceResponse } from '../../../contract/request.js';
import { GrpcStatus, grpcStatusOf, TritonError } from '../../../protocol/error.js';
import { requestPrefix } from '../../../protocol/infer/request-prefix.js';
import type { RegionLease } from '../../../protocol/infer/shared-memory.js';
import { decodeModelInferRequest } from '../../../protocol/proto/infer-codec.js';
import { cutText } from '../../../transport/cut-text.js';
import type { GrpcCall, GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { withForwardedHeaders } from '../../infer/forward-headers.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';
import { RequestTiming, TIMING_HEADER } from '../../infer/request-timing.js';
import { VerboseBuffers } from '../../infer/verbose-buffers.js';
import { viewedBytes } from '../../infer/viewed-bytes.js';
import { GRPC_MAX_MESSAGE_BYTES } from '../../options/option-table.js';
import type { CompressionLevel } from '../../options/server-options.js';
import { GrpcTrace, WaitForRequest } from '../infer/call-trace.js';
import { decodeGrpcInferRequest, encodeGrpcInferResponse } from '../infer/decode-request.js';
import { finishWithError } from '../message/respond.js';

/** ModelInfer: one request, one response. */
export function modelInfer({ engine, options, decoding, tracer, log }: ServerContext): GrpcMethod {
  const { headerForward, responseCompression } = options.grpc;
  const wait = new WaitForRequest();
  return {
    kind: 'unary',
    handle(call, bytes) {
      let regions: RegionLease | undefined;
      let trace: GrpcTrace | undefined;
      let id = '';
      // The tensors are views on the message: it is held until the last response, also when the client is gone.
      const release = call.retain();
      try {
        const message = decodeModelInferRequest(bytes);
        const model = engine.model(message.modelName, message.modelVersion);
        if (model.decoupled) {
          throw new TritonError(
            'UNSUPPORTED',
            "ModelInfer RPC doesn't support models with decoupled transaction policy",
          );
        }
        if (tracer.active) trace = GrpcTrace.start(tracer, message.modelName, call, wait);
        const decoded = decodeGrpcInferRequest(message, model, decoding.grpc);
        regions = decoded.sharedMemory;
        id = decoded.request.id;
        let { request } = decoded;
        if (headerForward !== undefined) request = withForwardedHeaders(request, headerForward, call.metadataEntries());
        const timing = call.metadata(TIMING_HEADER) === undefined ? undefined : new RequestTiming(trace?.request);
        const listener = timing ?? trace?.request;
        const buffers = log.isVerbose(1) ? new VerboseBuffers(log, 'grpc', message.modelVersion) : undefined;
        if (listener !== undefined || buffers !== undefined)
          request = { ...request, trace: listener, verbose: buffers };
        let count = 0;
        let answer: InferenceResponse | undefined;
        release(viewedBytes(request, bytes));
        const pending = model.submit(request, (response, final) => {
          if (response !== undefined) {
            count++;
            answer = response;
          }
          trace?.responded();
          if (!final) return;
          const send = () =>
            respond(
              count === 1 ? withTiming(answer, timing) : undefined,
              count,
              decoded,
              model,
              call,
              responseCompression,
            );
          const finish = () => {
            if (!call.cancelled) {
              if (trace === undefined) send();
              else trace.sending(send);
            }
            trace?.end();
            buffers?.release();
            decoded.sharedMemory?.release();
            release();
          };
          if (timing === undefined) finish();
          else timing.whenKnown(finish);
        });
        call.onCancel(() => pending.cancel());
      } catch (reason) {
        regions?.release();
        release();
        if (log.isVerbose(1))
          log.verbose(1, cutText(`${requestPrefix(id)}Infer failed: ${TritonError.from(reason).message}`));
        if (trace === undefined) finishWithError(call, reason);
        else {
          trace.sending(() => finishWithError(call, reason));
          trace.end();
        }
      }
    },
  };
}

function withTiming(
  answer: InferenceResponse | undefined,
  timing: RequestTiming | undefined,
): InferenceResponse | undefined {
  if (answer === undefined || timing === undefined) return answer;
  return { ...answer, parameters: [...answer.parameters, ...timing.parameters()] };
}

function respond(
  answer: InferenceResponse | undefined,
  count: number,
  decoded: DecodedInferRequest,
  model: ReadyModel,
  call: GrpcCall,
  compression: CompressionLevel,
): void {
  try {
    if (answer === undefined) throw new TritonError('INTERNAL', `expected a single response, got ${count}`);
    if (answer.error !== undefined) {
      call.finish(grpcStatusOf(answer.error.code), answer.error.message);
      return;
    }
    if (compression !== 'none') call.compress(compression);
    sendLimited(call, encodeGrpcInferResponse(answer, decoded, model));
    call.finish(GrpcStatus.OK);
  } catch (reason) {
    finishWithError(call, reason);
  }
}

/** Sends a response, unless it is larger than gRPC allows: then throws INVALID_ARG. Returns what `call.send` does. */
export function sendLimited(call: GrpcCall, chunks: readonly Uint8Array[]): boolean {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  if (size > GRPC_MAX_MESSAGE_BYTES) {
    throw new TritonError(
      'INVALID_ARG',
      `Response has byte size ${size} which exceeds gRPC's byte size limit ${GRPC_MAX_MESSAGE_BYTES}.`,
    );
  }
  return call.send(chunks);
}
