import { TritonError } from '../../protocol/error.js';

/** What a call failed with, with the id of its request: it tells calls that were in flight together apart. */
export function withRequestId(reason: unknown, id: string | undefined): TritonError {
  const error = TritonError.from(reason);
  if (id === undefined || id === '' || error.requestId !== undefined) return error;
  const { code, message, status, cause } = error;
  return new TritonError(code, message, {
    requestId: id,
    ...(cause === undefined ? {} : { cause }),
    ...(status === undefined ? {} : { status }),
  });
}
