import type { CountNs, ServerStats } from './server-stats.js';

/** Average times at the server, microseconds, whole numbers (inference_profiler.cc of perf_analyzer). */
export interface ServerLatency {
  /** A whole request. */
  readonly request: number;
  readonly queue: number;
  /** Input, inference and output together. */
  readonly compute: number;
  readonly computeInput: number;
  readonly computeInfer: number;
  readonly computeOutput: number;
  /** Cache look-ups and computing, over all requests. */
  readonly combined: number;
  readonly cacheHit: number;
  /** Look-up and insertion alone. */
  readonly cacheMiss: number;
  /** What the parts do not explain; never negative. */
  readonly overhead: number;
  /** The same with the cache's times counted as explained. */
  readonly overheadWithCache: number;
}

/** floor(total / count), in microseconds; 0 without an event. */
export function averageUs(total: number, count: number): number {
  return count === 0 ? 0 : Math.floor(total / (count * 1000));
}

/** Averages of a model; those of a model that calls others are sums over the models that compute. */
export function serverLatency(stats: ServerStats): ServerLatency {
  const own = ownLatency(stats);
  if (stats.composing.length === 0) return own;
  const leaves = stats.composing.flatMap(leavesOf).map(ownLatency);
  const sum = (pick: (latency: ServerLatency) => number): number =>
    leaves.reduce((total, latency) => total + pick(latency), 0);
  const queue = sum((leaf) => leaf.queue);
  const compute = sum((leaf) => leaf.compute);
  const combined = sum((leaf) => leaf.combined);
  return {
    ...own,
    queue,
    compute,
    combined,
    cacheHit: own.cacheHit + sum((leaf) => leaf.cacheHit),
    cacheMiss: own.cacheMiss + sum((leaf) => leaf.cacheMiss),
    overhead: Math.max(0, own.request - queue - compute),
    overheadWithCache: Math.max(0, own.request - queue - combined),
  };
}

function leavesOf(stats: ServerStats): ServerStats[] {
  return stats.composing.length === 0 ? [stats] : stats.composing.flatMap(leavesOf);
}

function ownLatency(stats: ServerStats): ServerLatency {
  const of = (duration: CountNs): number => averageUs(duration.ns, duration.count);
  const computeNs = stats.computeInput.ns + stats.computeInfer.ns + stats.computeOutput.ns;
  const computeCount = stats.computeInput.count;
  const request = of(stats.success);
  const queue = of(stats.queue);
  const compute = averageUs(computeNs, computeCount);
  const combined = averageUs(stats.cacheHit.ns + stats.cacheMiss.ns + computeNs, computeCount + stats.cacheHit.count);
  return {
    request,
    queue,
    compute,
    computeInput: of(stats.computeInput),
    computeInfer: of(stats.computeInfer),
    computeOutput: of(stats.computeOutput),
    combined,
    cacheHit: of(stats.cacheHit),
    cacheMiss: of(stats.cacheMiss),
    overhead: Math.max(0, request - queue - compute),
    overheadWithCache: Math.max(0, request - queue - combined),
  };
}
