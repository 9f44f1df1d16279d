/** The messages of the two inference calls as the hand-tuned codec holds them. */

/** Most inputs, and most outputs, of one request. */
export const MAX_TENSORS = 10_000;

/** Most dimensions of a shape. */
export const MAX_RANK = 1024;

/** One value of an InferParameter; `none`: no member of the oneof is set. */
export type ParameterMessage =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int64'; readonly value: bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'uint64'; readonly value: bigint }
  | { readonly kind: 'none'; readonly value: undefined };

/** Parameters by name. */
export type ParameterMap = ReadonlyMap<string, ParameterMessage>;

/** An input of a request, or an output of a response. */
export interface InferTensorMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: ParameterMap;
  /** InferTensorContents in its binary form; undefined when absent. Read it with `tensorOfContents`. */
  readonly contents: Uint8Array | undefined;
}

/** An output that a request asks for. */
export interface InferRequestedOutputMessage {
  readonly name: string;
  readonly parameters: ParameterMap;
}

/** ModelInferRequest. */
export interface InferRequestMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: ParameterMap;
  readonly inputs: readonly InferTensorMessage[];
  readonly outputs: readonly InferRequestedOutputMessage[];
  readonly rawInputContents: readonly Uint8Array[];
}

/** ModelInferResponse. */
export interface InferResponseMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: ParameterMap;
  readonly outputs: readonly InferTensorMessage[];
  readonly rawOutputContents: readonly Uint8Array[];
}

/** ModelStreamInferResponse. */
export interface StreamInferResponseMessage {
  readonly errorMessage: string;
  readonly inferResponse: InferResponseMessage | undefined;
}

/** Shared by all messages without parameters. */
export const NO_PARAMETERS: ParameterMap = new Map();
