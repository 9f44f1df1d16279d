/**
 * The one error class of the project and its closed set of codes, with the maps between codes, HTTP statuses and
 * gRPC statuses (Triton's `TRITONSERVER_Error_Code` in tritonserver.h).
 */

/** Error codes in the numbering of the server's C API. */
export const ErrorCode = {
  UNKNOWN: 0,
  INTERNAL: 1,
  NOT_FOUND: 2,
  INVALID_ARG: 3,
  UNAVAILABLE: 4,
  UNSUPPORTED: 5,
  ALREADY_EXISTS: 6,
  CANCELLED: 7,
} as const;

/** Name of an error code. */
export type ErrorCodeName = keyof typeof ErrorCode;

/** gRPC status codes by name (the numbers of the gRPC specification). */
export const GrpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

const HTTP_STATUS: Record<ErrorCodeName, number> = {
  UNKNOWN: 400,
  INTERNAL: 500,
  NOT_FOUND: 404,
  INVALID_ARG: 400,
  UNAVAILABLE: 503,
  UNSUPPORTED: 501,
  ALREADY_EXISTS: 400,
  CANCELLED: 400,
};

const GRPC_STATUS: Record<ErrorCodeName, number> = {
  UNKNOWN: GrpcStatus.UNKNOWN,
  INTERNAL: GrpcStatus.INTERNAL,
  NOT_FOUND: GrpcStatus.NOT_FOUND,
  INVALID_ARG: GrpcStatus.INVALID_ARGUMENT,
  UNAVAILABLE: GrpcStatus.UNAVAILABLE,
  UNSUPPORTED: GrpcStatus.UNIMPLEMENTED,
  ALREADY_EXISTS: GrpcStatus.ALREADY_EXISTS,
  CANCELLED: GrpcStatus.CANCELLED,
};

/** The words printed before a message, as in `Invalid argument: <message>`; CANCELLED has none in Triton. */
const CODE_TEXT: Record<ErrorCodeName, string> = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARG: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNSUPPORTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: '<invalid code>',
};

/** An expected failure with one of the protocol's codes. `message` is what clients see, to the letter. */
export class TritonError extends Error {
  override readonly name = 'TritonError';
  readonly code: ErrorCodeName;
  /** HTTP or gRPC status as received, where a client read this error off the wire. */
  readonly status: number | undefined;
  /** Id of the request that failed, where it is known. */
  readonly requestId: string | undefined;

  constructor(
    code: ErrorCodeName,
    message: string,
    options?: { cause?: unknown; status?: number; requestId?: string },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options?.status;
    this.requestId = options?.requestId;
  }

  /** `Invalid argument: <message>`: the form in logs and in state reasons. */
  toStatusText(): string {
    return `${CODE_TEXT[this.code]}: ${this.message}`;
  }

  /** The words of the code alone, as in `creating server: Internal - <message>`. */
  get codeText(): string {
    return CODE_TEXT[this.code];
  }

  /** Turns anything thrown into a TritonError; what is not one already becomes INTERNAL with its message. */
  static from(reason: unknown): TritonError {
    if (reason instanceof TritonError) return reason;
    if (reason instanceof Error) return new TritonError('INTERNAL', reason.message, { cause: reason });
    return new TritonError('INTERNAL', String(reason), { cause: reason });
  }
}

/** Shorthand for the most frequent kind of error. */
export function invalidArg(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}

/** HTTP status of a response with an error code. */
export function httpStatusOf(code: ErrorCodeName): number {
  return HTTP_STATUS[code];
}

/** gRPC status of a response with an error code. */
export function grpcStatusOf(code: ErrorCodeName): number {
  return GRPC_STATUS[code];
}

/** Error code that a client reads back from an HTTP status (the first of those that share it). */
export function codeOfHttpStatus(status: number): ErrorCodeName {
  switch (status) {
    case 400:
      return 'INVALID_ARG';
    case 404:
      return 'NOT_FOUND';
    case 403:
    case 503:
      return 'UNAVAILABLE';
    case 405:
    case 501:
      return 'UNSUPPORTED';
    case 500:
      return 'INTERNAL';
    default:
      return 'UNKNOWN';
  }
}

/** Error code that a client reads back from a gRPC status. */
export function codeOfGrpcStatus(status: number): ErrorCodeName {
  switch (status) {
    case GrpcStatus.INTERNAL:
    case GrpcStatus.DATA_LOSS:
      return 'INTERNAL';
    case GrpcStatus.NOT_FOUND:
      return 'NOT_FOUND';
    case GrpcStatus.INVALID_ARGUMENT:
    case GrpcStatus.OUT_OF_RANGE:
    case GrpcStatus.FAILED_PRECONDITION:
      return 'INVALID_ARG';
    case GrpcStatus.UNAVAILABLE:
    case GrpcStatus.DEADLINE_EXCEEDED:
    case GrpcStatus.RESOURCE_EXHAUSTED:
      return 'UNAVAILABLE';
    case GrpcStatus.UNIMPLEMENTED:
      return 'UNSUPPORTED';
    case GrpcStatus.ALREADY_EXISTS:
      return 'ALREADY_EXISTS';
    case GrpcStatus.CANCELLED:
      return 'CANCELLED';
    default:
      return 'UNKNOWN';
  }
}
