/** Errors on the wire: the maps between their codes, HTTP statuses and gRPC statuses. */
import type { ErrorCodeName } from '../base/error.js';

export { ErrorCode, type ErrorCodeName, invalidArg, TritonError } from '../base/error.js';

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

/** The statuses of a response with an error, by its code. */
const STATUSES: Readonly<Record<ErrorCodeName, { readonly http: number; readonly grpc: number }>> = {
  UNKNOWN: { http: 400, grpc: GrpcStatus.UNKNOWN },
  INTERNAL: { http: 500, grpc: GrpcStatus.INTERNAL },
  NOT_FOUND: { http: 404, grpc: GrpcStatus.NOT_FOUND },
  INVALID_ARG: { http: 400, grpc: GrpcStatus.INVALID_ARGUMENT },
  UNAVAILABLE: { http: 503, grpc: GrpcStatus.UNAVAILABLE },
  UNSUPPORTED: { http: 501, grpc: GrpcStatus.UNIMPLEMENTED },
  ALREADY_EXISTS: { http: 400, grpc: GrpcStatus.ALREADY_EXISTS },
  CANCELLED: { http: 400, grpc: GrpcStatus.CANCELLED },
};

/** HTTP status of a response with an error code. */
export function httpStatusOf(code: ErrorCodeName): number {
  return STATUSES[code].http;
}

/** gRPC status of a response with an error code. */
export function grpcStatusOf(code: ErrorCodeName): number {
  return STATUSES[code].grpc;
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
