import { invalidArg, TritonError } from '../../protocol/error.js';
import type { ServerOptions } from './server-options.js';

/** What the original finds out only when it creates the server. Throws the error that ends the start. */
export function checkCreation(options: ServerOptions): void {
  if (options.repositories.length === 0) throw invalidArg('--model-repository must be specified');
  if (options.repoagentDirectory === '') throw invalidArg('--repoagent-directory can not be empty');
  const caches = new Set(options.cacheConfig.map(({ cache }) => cache));
  if (caches.size > 1) {
    throw invalidArg('found multiple cache configurations, but only a single cache is currently supported');
  }
  const [cache] = caches;
  if (cache === undefined) return;
  if (cache !== 'local') {
    throw invalidArg(`unable to find 'libtritoncache_${cache}.so' for cache. Searched: ${options.cacheDirectory}`);
  }
  throw new TritonError(
    'UNSUPPORTED',
    'the local response cache is not supported by this server; leave --cache-config out',
  );
}
