import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceResponse, PendingRequest } from '../../../contract/request.js';
import { GrpcStatus, grpcStatusOf, TritonError } from '../../../protocol/error.js';
import {
  decodeModelInferRequest,
  encodeModelInferResponse,
  encodeModelStreamInferResponse,
  type InferRequestMessage,
  NO_PARAMETERS,
  type ParameterMap,
} from '../../../protocol/proto/infer-codec.js';
import { cutText } from '../../../transport/cut-text.js';
import type { GrpcCall, GrpcMethod, GrpcStreamListener, Release } from '../../../transport/grpc/grpc-api.js';
import { PIECE_OVERHEAD } from '../../../transport/send-account.js';
import type { ServerContext } from '../../context/server-context.js';
import { withForwardedHeaders } from '../../infer/forward-headers.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';
import { StreamBacklog } from '../../infer/stream-backlog.js';
import { viewedBytes } from '../../infer/viewed-bytes.js';
import { GrpcTrace, WaitForRequest } from '../infer/call-trace.js';
import { decodeGrpcInferRequest, encodeGrpcInferResponse } from '../infer/decode-request.js';
import { finishWithError } from '../message/respond.js';

/** What a stopping server answers to requests that still come. */
export const SHUTTING_DOWN = 'GRPC server is shutting down and has stopped accepting new requests.';

const FINAL: ParameterMap = new Map([['triton_final_response', { kind: 'bool', value: true }]]);
const NOT_FINAL: ParameterMap = new Map([['triton_final_response', { kind: 'bool', value: false }]]);

/** ModelStreamInfer and the streams that are open, which a stopping server has to end. */
export interface StreamInferMethod {
  readonly method: GrpcMethod;
  /** Refuses further requests; streams end as soon as nothing of theirs is in flight. */
  shutdown(): void;
}

/** Makes the method for one server. */
export function modelStreamInfer(context: ServerContext): StreamInferMethod {
  const open = new Set<InferStreamSession>();
  let stopping = false;
  return {
    method: {
      kind: 'stream',
      open(call) {
        const session = new InferStreamSession(context, call, () => open.delete(session));
        open.add(session);
        if (stopping) session.shutdown();
        return session;
      },
    },
    shutdown() {
      stopping = true;
      for (const session of open) session.shutdown();
    },
  };
}

/** The turn of one request's messages in the order of the stream. */
interface Slot {
  /** Messages that wait for earlier slots. */
  waiting: (readonly Uint8Array[])[];
  done: boolean;
  /** The slot behind it. */
  next: Slot | undefined;
}

/** Bytes that wait for earlier responses of their stream, from which on no more requests are read. */
const MAX_OUT_OF_ORDER = 16 * 1024 * 1024;

/**
 * One stream. Responses of models that answer once leave in the order of the requests: each such request has a slot, the
 * first slot writes at once, the others collect. Responses of decoupled models leave as they come.
 */
class InferStreamSession implements GrpcStreamListener {
  readonly #context: ServerContext;
  readonly #call: GrpcCall;
  readonly #onEnd: () => void;
  readonly #endOnError: boolean;
  /** The slots in the order of the requests: a list, because there may be any number of them. */
  #firstSlot: Slot | undefined;
  #lastSlot: Slot | undefined;
  /** Bytes of messages that wait in slots, and whether requests are not read because of them, or of a slow client. */
  #outOfOrder = 0;
  #waitsForOrder = false;
  #waitsForClient = false;
  readonly #pending = new Set<PendingRequest>();
  readonly #wait = new WaitForRequest();
  readonly #backlog: StreamBacklog;
  /** Requests that have no final response yet. */
  #open = 0;
  #halfClosed = false;
  #ended = false;
  #stopping = false;

  constructor(context: ServerContext, call: GrpcCall, onEnd: () => void) {
    this.#context = context;
    this.#call = call;
    this.#onEnd = onEnd;
    this.#backlog = new StreamBacklog(context.options.streamMaxBacklog);
    this.#endOnError = call.metadata('triton_grpc_error') === 'true';
    if (context.options.grpc.responseCompression !== 'none') call.compress(context.options.grpc.responseCompression);
    call.onCancel(() => {
      this.#end();
      this.#cancelAll();
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
    let slot: Slot | undefined;
    let trace: GrpcTrace | undefined;
    const release = this.#call.retain();
    const { tracer } = this.#context;
    try {
      if (this.#stopping) throw new TritonError('UNAVAILABLE', SHUTTING_DOWN);
      const model = this.#context.engine.model(message.modelName, message.modelVersion);
      if (!model.decoupled) slot = this.#newSlot();
      if (tracer.active) trace = GrpcTrace.start(tracer, message.modelName, this.#call, this.#wait);
      this.#submit(message, model, slot, trace, release, bytes);
    } catch (reason) {
      release();
      // Before execution: only the id, no final flag.
      slot ??= this.#newSlot();
      this.#write(slot, errorMessage(TritonError.from(reason).message, message.id, '', '', NO_PARAMETERS), trace);
      trace?.end();
      this.#finishSlot(slot);
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

  #submit(
    message: InferRequestMessage,
    model: ReadyModel,
    slot: Slot | undefined,
    trace: GrpcTrace | undefined,
    release: Release,
    bytes: Uint8Array,
  ): void {
    const decoded = decodeGrpcInferRequest(message, model, this.#context.decoding.grpc);
    try {
      this.#submitDecoded(decoded, message, model, slot, trace, release, bytes);
    } catch (reason) {
      decoded.sharedMemory?.release();
      throw reason;
    }
  }

  #submitDecoded(
    decoded: DecodedInferRequest,
    message: InferRequestMessage,
    model: ReadyModel,
    slot: Slot | undefined,
    trace: GrpcTrace | undefined,
    release: Release,
    bytes: Uint8Array,
  ): void {
    const { headerForward } = this.#context.options.grpc;
    let { request } = decoded;
    if (headerForward !== undefined) {
      request = withForwardedHeaders(request, headerForward, this.#call.metadataEntries());
    }
    if (trace !== undefined) request = { ...request, trace: trace.request };
    const wantsEmptyFinal = message.parameters.get('triton_enable_empty_final_response')?.value === true;
    let answered = false;
    release(viewedBytes(request, bytes));
    const pending = model.submit(request, (response, final) => {
      if (final) {
        this.#open--;
        this.#pending.delete(pending);
      }
      trace?.responded();
      if (!this.#ended) {
        if (response !== undefined) {
          // Of a model that is not decoupled Triton sends the first response only, however many there are.
          if (model.decoupled || !answered) this.#answer(response, final, message, decoded, model, slot, trace);
          answered = true;
        } else if (final && model.decoupled && wantsEmptyFinal) {
          this.#write(slot, successMessage(encodeModelInferResponse(emptyResponse(message, FINAL))), trace);
        }
      }
      if (!final) return;
      trace?.end();
      decoded.sharedMemory?.release();
      release();
      if (this.#ended) return;
      if (slot !== undefined) this.#finishSlot(slot);
      this.#endIfDone();
    });
    this.#open++;
    this.#pending.add(pending);
  }

  #answer(
    response: InferenceResponse,
    final: boolean,
    message: InferRequestMessage,
    decoded: DecodedInferRequest,
    model: ReadyModel,
    slot: Slot | undefined,
    trace: GrpcTrace | undefined,
  ): void {
    try {
      if (response.error !== undefined) throw response.error;
      this.#write(slot, successMessage(encodeGrpcInferResponse(response, decoded, model, final)), trace);
    } catch (reason) {
      const error = TritonError.from(reason);
      if (this.#endOnError) {
        this.#fail(error);
        return;
      }
      const flag = final ? FINAL : NOT_FINAL;
      this.#write(slot, errorMessage(error.message, message.id, message.modelName, message.modelVersion, flag), trace);
    }
  }

  #newSlot(): Slot {
    const slot: Slot = { waiting: [], done: false, next: undefined };
    if (this.#lastSlot === undefined) this.#firstSlot = slot;
    else this.#lastSlot.next = slot;
    this.#lastSlot = slot;
    return slot;
  }

  #write(slot: Slot | undefined, chunks: readonly Uint8Array[], trace: GrpcTrace | undefined): void {
    if (trace === undefined) this.#sendInOrder(slot, chunks);
    else trace.sending(() => this.#sendInOrder(slot, chunks));
  }

  #sendInOrder(slot: Slot | undefined, chunks: readonly Uint8Array[]): void {
    if (slot === undefined || slot === this.#firstSlot) {
      this.#send(chunks);
      return;
    }
    slot.waiting.push(chunks);
    this.#outOfOrder += memoryOf(chunks);
    if (this.#outOfOrder > MAX_OUT_OF_ORDER) this.#waitsForOrder = true;
    this.#regulate();
  }

  #finishSlot(slot: Slot): void {
    slot.done = true;
    while (this.#firstSlot?.done === true) {
      const next: Slot | undefined = this.#firstSlot.next;
      this.#firstSlot = next;
      if (next === undefined) this.#lastSlot = undefined;
      else {
        for (const chunks of next.waiting) {
          this.#outOfOrder -= memoryOf(chunks);
          this.#send(chunks);
        }
        next.waiting = [];
      }
    }
    if (this.#outOfOrder <= MAX_OUT_OF_ORDER / 2) this.#waitsForOrder = false;
    this.#regulate();
  }

  /** A peer that reads slowly is no longer read from until it has caught up. */
  #send(chunks: readonly Uint8Array[]): void {
    if (this.#ended || this.#call.send(chunks)) return;
    if (this.#backlog.empty) {
      this.#waitsForClient = true;
      this.#regulate();
      this.#call.onDrain(() => {
        this.#backlog.clear();
        this.#waitsForClient = false;
        this.#regulate();
      });
    }
    const tooSlow = this.#backlog.add(memoryOf(chunks));
    if (tooSlow === undefined) return;
    this.#context.log.warning(`stream of a gRPC client ended: ${tooSlow.message}`);
    this.#fail(tooSlow);
  }

  /** Reads requests only while nothing piles up. */
  #regulate(): void {
    if (this.#waitsForClient || this.#waitsForOrder) this.#call.pause();
    else this.#call.resume();
  }

  #endIfDone(): void {
    if (this.#ended || this.#open > 0) return;
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
    for (const pending of this.#pending) pending.cancel();
  }

  #end(): void {
    this.#ended = true;
    this.#firstSlot = undefined;
    this.#lastSlot = undefined;
    this.#onEnd();
  }
}

/** What a message costs while it waits: its bytes, and the objects around them. */
function memoryOf(chunks: readonly Uint8Array[]): number {
  let size = PIECE_OVERHEAD;
  for (const { length } of chunks) size += length;
  return size;
}

function emptyResponse(message: InferRequestMessage, parameters: ParameterMap) {
  return {
    modelName: message.modelName,
    modelVersion: message.modelVersion,
    id: message.id,
    parameters,
    outputs: [],
    rawOutputContents: [],
  };
}

function successMessage(response: readonly Uint8Array[]): Uint8Array[] {
  return encodeModelStreamInferResponse('', response);
}

function errorMessage(
  text: string,
  id: string,
  modelName: string,
  modelVersion: string,
  parameters: ParameterMap,
): Uint8Array[] {
  const response = { modelName, modelVersion, id, parameters, outputs: [], rawOutputContents: [] };
  return encodeModelStreamInferResponse(cutText(text), encodeModelInferResponse(response));
}
