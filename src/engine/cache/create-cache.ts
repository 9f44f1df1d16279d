import { invalidArg, TritonError } from '../../base/error.js';
import { LocalCache } from './local-cache.js';

/** One `--cache-config=<cache>,<key>=<value>`. */
export interface CacheSetting {
  readonly cache: string;
  readonly key: string;
  readonly value: string;
}

/** Where Triton looks for caches. */
const DEFAULT_DIRECTORY = '/opt/tritonserver/caches';

/** The cache that the settings describe, undefined without any. Throws what ends the start. */
export function createCache(
  settings: readonly CacheSetting[],
  directory: string = DEFAULT_DIRECTORY,
): LocalCache | undefined {
  const [first] = settings;
  if (first === undefined) return undefined;
  if (settings.some(({ cache }) => cache !== first.cache)) {
    throw invalidArg('found multiple cache configurations, but only a single cache is currently supported');
  }
  if (first.cache !== 'local') {
    throw invalidArg(`unable to find 'libtritoncache_${first.cache}.so' for cache. Searched: ${directory}`);
  }
  const size = settings.findLast(({ key }) => key === 'size')?.value;
  if (size === undefined) {
    throw invalidArg("Failed to initialize LocalCache: config didn't contain a valid 'size' field.");
  }
  // As C reads it: leading blanks and a sign are skipped, what follows the digits is left.
  const digits = /^\s*[+-]?(\d+)/.exec(size)?.[1];
  if (digits === undefined || BigInt(digits) >= 2n ** 64n) {
    throw new TritonError('INTERNAL', 'Failed to initialize LocalCache: stoull');
  }
  return new LocalCache(size.includes('-') ? 0 : Number(digits));
}
