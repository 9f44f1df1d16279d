import { createHash } from 'node:crypto';
import type { Tensor } from '../../protocol/tensor.js';

/** What decides a response, as far as a cache knows. */
export interface CachedRequest {
  readonly inputs: readonly Tensor[];
  readonly requestedOutputs: readonly string[];
}

/**
 * The key of a request: a digest of what executes it, inputs by name (datatype, shape, data) and the outputs wanted.
 * `loads` are the load numbers of the version and, for an ensemble, of its members: neither other weights under the same
 * name nor a model of the same name in another repository can share a key. Request parameters are not part of it, as in
 * Triton. Triton's key is 64 bits over less; a cryptographic one also keeps clients from making two requests that share
 * a key.
 */
export function cacheKey(loads: readonly number[], { inputs, requestedOutputs }: CachedRequest): string {
  const hash = createHash('sha256');
  const sorted = inputs.length < 2 ? inputs : [...inputs].sort((a, b) => (a.name < b.name ? -1 : 1));
  const head = sorted.map(({ name, datatype, shape, data }) => [name, datatype, shape, data.byteLength]);
  hash.update(JSON.stringify([loads, head, [...requestedOutputs].sort()]));
  for (const { data } of sorted) hash.update(data);
  return hash.digest('base64url');
}
