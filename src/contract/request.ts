import type { TritonError } from '../base/error.js';
import type { Parameters, Tensor } from '../protocol/tensor.js';
import type { RequestTrace } from './request-trace.js';

/** A tensor of a request, before the model's configuration was asked about it. */
export interface RequestInput {
  readonly name: string;
  /** As sent: may be no datatype at all (the engine then says `<invalid>`). */
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** What the front end of a request adds to its verbose records. */
export interface VerboseFront {
  /** As the client asked for it; '' = none. */
  readonly requestedVersion: string;
  /** An output of the response has its place. */
  output(tensor: Tensor): void;
}

/** An inference request as the front ends hand it to the engine; knows nothing of HTTP or gRPC. */
export interface InferenceRequest {
  /** Empty when the client gave none. */
  readonly id: string;
  readonly inputs: readonly RequestInput[];
  /** Names of the outputs wanted; empty = all of the model's outputs. */
  readonly requestedOutputs: readonly string[];
  readonly parameters: Parameters;
  /** 0n or '' = not in a sequence. */
  readonly correlationId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  /** 0n = the model's default. */
  readonly priority: bigint;
  /** Queue timeout that the client asked for, in microseconds; 0n = none. */
  readonly timeoutMicroseconds: bigint;
  /** Set for a raw binary request (HTTP): the whole body is the data of the model's only input, `inputs` is empty. */
  readonly raw?: Uint8Array;
  /** Set when the request is traced. */
  readonly trace?: RequestTrace | undefined;
  /** Set by front ends while verbose records are shown. */
  readonly verbose?: VerboseFront | undefined;
}

/** One response. `error` set: the request failed and `outputs` is empty. */
export interface InferenceResponse {
  readonly modelName: string;
  /** The version that ran, as text. */
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  /** In the order in which the backend produced them. */
  readonly outputs: readonly Tensor[];
  readonly error?: TritonError;
}

/**
 * Receives the responses of one request, in order. `final` is true exactly once, on the last call; then `response` is
 * undefined when a decoupled model closed the request without a further response. Called from the event loop, never
 * from inside `submit`.
 */
export type ResponseHandler = (response: InferenceResponse | undefined, final: boolean) => void;

/** Handle on an accepted request. */
export interface PendingRequest {
  /** Asks for the request's end: dropped if still queued (answered CANCELLED, empty text), else backends may poll it. */
  cancel(): void;
}
