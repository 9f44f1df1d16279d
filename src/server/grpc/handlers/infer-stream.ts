import { TritonError } from '../../../base/error.js';
import type { InferenceResponse, ResponseHandler } from '../../../contract/request.js';
import { GrpcStatus, grpcStatusOf } from '../../../protocol/error.js';
import { decodeModelInferRequest, type InferRequestMessage } from '../../../protocol/proto/infer/infer-codec.js';
import type { GrpcCall, GrpcMethod, GrpcStreamListener } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { type CallKind, InferenceCall } from '../../infer/inference-call.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';
import { GrpcCallClient } from '../infer/call-client.js';
import { GrpcTrace, WaitForRequest } from '../infer/call-trace.js';
import { Cancellation } from '../infer/cancellation.js';
import { decodeGrpcInferRequest } from '../infer/decode-request.js';
import {
  encodeGrpcEmptyResponse,
  encodeGrpcInferResponse,
  encodeGrpcStreamError,
  encodeGrpcStreamResponse,
  type StreamErrorContext,
} from '../infer/encode-response.js';
import { OrderedMessages, type Slot } from '../infer/ordered-messages.js';
import { wantsEmptyFinalResponse } from '../infer/settings.js';
import { delayedResponses, type GrpcDelays, grpcDelays } from '../infer/test-delays.js';
import { finishWithError, SHUTTING_DOWN } from '../message/respond.js';
import type { OnStop } from '../route/endpoint.js';

const KIND: CallKind = { protocol: 'grpc', forwardsHeaders: true, timed: false, logsBuffers: false };

/** ModelStreamInfer. A stop refuses further requests; streams end as soon as nothing of theirs is in flight. */
export function modelStreamInfer(context: ServerContext, onStop: OnStop): GrpcMethod {
  const open = new Set<InferStreamSession>();
  const delays = grpcDelays();
  const shared = { context, delays, cancellation: new Cancellation(context.log, delays, 'ModelStreamInferHandler') };
  let stopping = false;
  onStop(() => {
    stopping = true;
    for (const session of open) session.shutdown();
  });
  return {
    kind: 'stream',
    open(call) {
      const session = new InferStreamSession(shared, call, () => open.delete(session));
      open.add(session);
      if (stopping) session.shutdown();
      return session;
    },
  };
}

/** What all streams have in common. */
interface Shared {
  readonly context: ServerContext;
  readonly delays: GrpcDelays | undefined;
  readonly cancellation: Cancellation;
}

/** A request on its way. */
interface Exchange {
  readonly message: InferRequestMessage;
  readonly inference: InferenceCall<GrpcTrace>;
  readonly decoded: DecodedInferRequest;
  /** Absent for decoupled models. */
  readonly slot: Slot | undefined;
}

/**
 * One stream. Responses of models that respond once leave in the order of the requests, those of decoupled models as they
 * come.
 */
class InferStreamSession implements GrpcStreamListener {
  readonly #context: ServerContext;
  readonly #delays: GrpcDelays | undefined;
  readonly #call: GrpcCall;
  readonly #onEnd: () => void;
  readonly #endOnError: boolean;
  readonly #messages: OrderedMessages;
  /** Requests that have no final response yet. */
  readonly #open = new Set<InferenceCall<GrpcTrace>>();
  readonly #wait = new WaitForRequest();
  #halfClosed = false;
  #ended = false;
  #stopping = false;

  constructor({ context, delays, cancellation }: Shared, call: GrpcCall, onEnd: () => void) {
    this.#context = context;
    this.#delays = delays;
    this.#call = call;
    this.#onEnd = onEnd;
    this.#messages = new OrderedMessages(call, context.options.limits.streamMaxBacklog, (tooSlow) => {
      context.log.warning(`stream of a gRPC client ended: ${tooSlow.message}`);
      this.#fail(tooSlow);
    });
    this.#endOnError = call.metadata('triton_grpc_error') === 'true';
    if (context.options.grpc.responseCompression !== 'none') call.compress(context.options.grpc.responseCompression);
    call.onCancel(() => {
      this.#end();
      // All requests of the stream at once.
      cancellation.receive(this.#open.size === 0 ? 'START' : 'ISSUED', () => this.#cancelAll());
    });
  }

  onMessage(bytes: Uint8Array): void {
    if (this.#ended) return;
    let message: InferRequestMessage;
    try {
      message = decodeModelInferRequest(bytes);
    } catch (reason) {
      this.#fail(TritonError.from(reason));
      return;
    }
    const client = new GrpcCallClient(this.#call, bytes);
    let slot: Slot | undefined;
    let inference: InferenceCall<GrpcTrace> | undefined;
    try {
      if (this.#stopping) throw new TritonError('UNAVAILABLE', SHUTTING_DOWN);
      const { modelName: model, modelVersion: version } = message;
      inference = InferenceCall.begin(this.#context, KIND, { model, version }, (tracer) =>
        GrpcTrace.start(tracer, model, this.#call, this.#wait),
      );
      if (!inference.model.decoupled) slot = this.#messages.addSlot();
      const decoded = decodeGrpcInferRequest(message, inference.model, this.#context.decoding.grpc);
      this.#submit({ message, inference, decoded, slot }, client);
    } catch (reason) {
      client.release();
      slot ??= this.#messages.addSlot();
      // Before execution: only the id, no final flag.
      const { message: text } = TritonError.from(reason);
      this.#write(slot, encodeGrpcStreamError(text, { id: message.id }), inference?.trace);
      inference?.trace?.end();
      this.#messages.finish(slot);
      this.#endIfDone();
    }
  }

  onHalfClose(): void {
    this.#halfClosed = true;
    this.#endIfDone();
  }

  shutdown(): void {
    this.#stopping = true;
    this.#endIfDone();
  }

  #submit(exchange: Exchange, client: GrpcCallClient): void {
    const { inference, decoded } = exchange;
    let answered = false;
    const deliver: ResponseHandler = (response, final) => {
      if (final) this.#open.delete(inference);
      // Of a model that is not decoupled Triton sends the first response only, however many there are.
      if (!this.#ended && (inference.model.decoupled || !answered)) this.#answer(exchange, response, final);
      if (response !== undefined) answered = true;
      if (final) this.#finish(exchange);
    };
    const delays = inference.model.decoupled ? this.#delays : undefined;
    const use = delays === undefined ? deliver : delayedResponses(delays, this.#context.log, deliver);
    // Before it is submitted: the final response may come within.
    this.#open.add(inference);
    try {
      inference.submit(decoded, client, use);
    } catch (reason) {
      this.#open.delete(inference);
      throw reason;
    }
  }

  /** Sends a response; where there is none, the empty one with the final flag, if the client wants it. */
  #answer(
    { message, inference, decoded, slot }: Exchange,
    response: InferenceResponse | undefined,
    final: boolean,
  ): void {
    const { model, trace } = inference;
    if (response === undefined) {
      if (!final || !model.decoupled || !wantsEmptyFinalResponse(message)) return;
      this.#write(slot, encodeGrpcStreamResponse(encodeGrpcEmptyResponse(aboutResponse(message, final))), trace);
      return;
    }
    try {
      if (response.error !== undefined) throw response.error;
      this.#write(slot, encodeGrpcStreamResponse(encodeGrpcInferResponse(response, decoded, model, final)), trace);
    } catch (reason) {
      const error = TritonError.from(reason);
      if (this.#endOnError) this.#fail(error);
      else this.#write(slot, encodeGrpcStreamError(error.message, aboutResponse(message, final)), trace);
    }
  }

  /** The last response of a request was written. */
  #finish({ inference, slot }: Exchange): void {
    inference.trace?.end();
    inference.release();
    if (this.#ended) return;
    if (slot !== undefined) this.#messages.finish(slot);
    this.#endIfDone();
  }

  #write(slot: Slot | undefined, chunks: readonly Uint8Array[], trace: GrpcTrace | undefined): void {
    if (trace === undefined) this.#messages.write(slot, chunks);
    else trace.sending(() => this.#messages.write(slot, chunks));
  }

  #endIfDone(): void {
    if (this.#ended || this.#open.size > 0) return;
    if (this.#halfClosed) {
      this.#end();
      this.#call.finish(GrpcStatus.OK);
    } else if (this.#stopping) {
      this.#end();
      this.#call.finish(GrpcStatus.UNAVAILABLE, SHUTTING_DOWN);
    }
  }

  /** Ends the stream with an error's status; everything else in flight is cancelled. */
  #fail(error: TritonError): void {
    this.#end();
    if (error.message === '') finishWithError(this.#call, error);
    else this.#call.finish(grpcStatusOf(error.code), error.message);
    this.#cancelAll();
  }

  #cancelAll(): void {
    for (const inference of this.#open) inference.cancel();
  }

  #end(): void {
    this.#ended = true;
    this.#messages.end();
    this.#onEnd();
  }
}

/** What a response without outputs says: name and version of the model as in the request. */
function aboutResponse({ id, modelName, modelVersion }: InferRequestMessage, final: boolean): StreamErrorContext {
  return { id, modelName, modelVersion, final };
}
