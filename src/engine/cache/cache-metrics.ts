import type { CustomFamily } from '../../contract/metrics.js';
import type { LocalCache } from './local-cache.js';

/** The cache's own metric families: gauges without labels. */
export function cacheMetrics(cache: LocalCache): readonly CustomFamily[] {
  const { hits, misses, evictions, lookupNs, insertionNs } = cache.counts;
  const gauge = (name: string, description: string, value: number): CustomFamily => ({
    name,
    description,
    kind: 'GAUGE',
    series: [{ labels: {}, value, bounds: undefined, counts: [] }],
  });
  return [
    gauge('nv_cache_util', 'Cache utilization [0.0 - 1.0]', cache.utilization),
    gauge('nv_cache_num_entries', 'Number of responses stored in response cache', cache.entries),
    gauge('nv_cache_num_hits', 'Number of cache hits in response cache', hits),
    gauge('nv_cache_num_misses', 'Number of cache misses in response cache', misses),
    gauge('nv_cache_num_lookups', 'Number of cache lookups in response cache', hits + misses),
    gauge('nv_cache_num_evictions', 'Number of cache evictions in response cache', evictions),
    gauge(
      'nv_cache_lookup_duration',
      'Total cache lookup duration (hit and miss), in microseconds',
      Math.floor(lookupNs / 1000),
    ),
    gauge(
      'nv_cache_insertion_duration',
      'Total cache insertion duration, in microseconds',
      Math.floor(insertionNs / 1000),
    ),
  ];
}
