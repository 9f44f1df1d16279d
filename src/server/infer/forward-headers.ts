import { invalidArg } from '../../base/error.js';
import type { NamePattern } from '../../base/name-pattern.js';
import type { InferenceRequest } from '../../contract/request.js';
import { isReservedParameter } from '../../protocol/infer/parameters.js';

/**
 * The request with every header whose name the pattern finds as a string parameter behind its own parameters. Throws
 * INVALID_ARG for names that mean something to the server.
 */
export function withForwardedHeaders(
  request: InferenceRequest,
  pattern: NamePattern,
  headers: Iterable<readonly [name: string, value: string]>,
): InferenceRequest {
  const added: [string, string][] = [];
  for (const [name, value] of headers) {
    if (!pattern.test(name)) continue;
    if (isReservedParameter(name)) {
      throw invalidArg(`Header '${name}' is reserved for Triton usage and cannot be forwarded.`);
    }
    added.push([name, value]);
  }
  return added.length === 0 ? request : { ...request, parameters: [...request.parameters, ...added] };
}
