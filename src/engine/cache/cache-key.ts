import { createHash } from 'node:crypto';
import type { Tensor } from '../../protocol/tensor.js';

/** What decides a response, as far as a cache knows. */
export interface CachedRequest {
  readonly inputs: readonly Tensor[];
  readonly requestedOutputs: readonly string[];
}

/**
 * The key of a request: a digest of model, version, inputs by name (datatype, shape, data) and the outputs wanted.
 * Parameters are no part of it, as in the original. The original's key is 64 bits over less; a cryptographic one also
 * keeps clients from making two requests that share a key.
 */
export function cacheKey(model: string, version: string, { inputs, requestedOutputs }: CachedRequest): string {
  const hash = createHash('sha256');
  const sorted = inputs.length < 2 ? inputs : [...inputs].sort((a, b) => (a.name < b.name ? -1 : 1));
  const head = sorted.map(({ name, datatype, shape, data }) => [name, datatype, shape, data.byteLength]);
  hash.update(JSON.stringify([model, version, head, [...requestedOutputs].sort()]));
  for (const { data } of sorted) hash.update(data);
  return hash.digest('base64url');
}
