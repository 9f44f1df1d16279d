import type { StatusObject } from '@grpc/grpc-js';
import { codeOfGrpcStatus, GrpcStatus, TritonError } from '../../protocol/error.js';
import { deadlineExceeded, grpcSystemText } from '../api/system-errors.js';

/** The error of a call that ended with a status other than OK. */
export function errorOfStatus(status: Pick<StatusObject, 'code' | 'details'>): TritonError {
  if (status.code === GrpcStatus.DEADLINE_EXCEEDED) return deadlineExceeded(status.code);
  const text = status.code === GrpcStatus.UNAVAILABLE ? grpcSystemText(status.details) : undefined;
  return new TritonError(codeOfGrpcStatus(status.code), text ?? status.details, { status: status.code });
}
