import type { ModelStatistics } from '../../client/index.js';
import { PerfError } from '../error/perf-error.js';
import type { ModelId, PerfModel } from '../model/perf-model.js';
import { composingModelsOf } from '../model/perf-model.js';

/** Count and summed time of one kind of event. */
export interface CountNs {
  count: number;
  ns: number;
}

/** What the server did between two looks at its statistics, for one version of one model. Times in nanoseconds. */
export interface ServerStats extends ModelId {
  inferenceCount: number;
  executionCount: number;
  success: CountNs;
  queue: CountNs;
  computeInput: CountNs;
  computeInfer: CountNs;
  computeOutput: CountNs;
  cacheHit: CountNs;
  cacheMiss: CountNs;
  /** Of the models that it calls, by name and version. */
  composing: ServerStats[];
}

const DURATIONS = {
  success: 'success',
  queue: 'queue',
  computeInput: 'compute_input',
  computeInfer: 'compute_infer',
  computeOutput: 'compute_output',
  cacheHit: 'cache_hit',
  cacheMiss: 'cache_miss',
} as const;

type DurationKey = keyof typeof DURATIONS;

/** Names of the durations of ServerStats. */
export const DURATION_KEYS = Object.keys(DURATIONS) as readonly DurationKey[];

/** All zero. */
export function emptyServerStats(id: ModelId): ServerStats {
  const zero = (): CountNs => ({ count: 0, ns: 0 });
  return {
    name: id.name,
    version: id.version,
    inferenceCount: 0,
    executionCount: 0,
    success: zero(),
    queue: zero(),
    computeInput: zero(),
    computeInfer: zero(),
    computeOutput: zero(),
    cacheHit: zero(),
    cacheMiss: zero(),
    composing: [],
  };
}

/**
 * The difference of two statistics documents for the model and all that it calls. Where the version is open, it is the
 * highest of those whose queue count advanced; if there is none: PerfError `failed to find the requested model
 * version`, unless the model responds from its response cache. Several: `warn`.
 */
export function serverStatsBetween(
  start: readonly ModelStatistics[],
  end: readonly ModelStatistics[],
  model: PerfModel,
  warn: (line: string) => void,
): ServerStats {
  const compute = (id: ModelId): ServerStats => {
    const version = id.version || findVersion(id.name);
    const stats = emptyServerStats({ name: id.name, version });
    if (version !== '') addDifference(stats);
    for (const called of composingModelsOf(model, id.name)) stats.composing.push(compute(called));
    return stats;
  };
  return compute(model);

  function findVersion(name: string): string {
    const advanced = end
      .filter((entry) => entry.name === name)
      .filter(({ version, inference_stats }) => {
        const before = start.find((entry) => entry.name === name && entry.version === version);
        return inference_stats.queue.count > (before?.inference_stats.queue.count ?? 0n);
      })
      .map(({ version }) => version)
      .sort((a, b) => Number(BigInt(b) - BigInt(a)));
    if (advanced.length > 1) {
      warn(
        `WARNING: Multiple versions of model ${name} are loaded in the triton server, and the version to use was unspecified. The stats for that model may be inaccurate.`,
      );
    }
    const [version] = advanced;
    if (version === undefined && !model.topLevelCache) {
      throw new PerfError('failed to find the requested model version');
    }
    return version ?? '';
  }

  function addDifference(stats: ServerStats): void {
    const same = (entry: ModelStatistics): boolean => entry.name === stats.name && entry.version === stats.version;
    const after = end.find(same);
    if (after === undefined) throw new PerfError('missing statistics for requested model');
    const before = start.find(same);
    stats.inferenceCount = Number(after.inference_count - (before?.inference_count ?? 0n));
    stats.executionCount = Number(after.execution_count - (before?.execution_count ?? 0n));
    for (const key of DURATION_KEYS) {
      const name = DURATIONS[key];
      const now = after.inference_stats[name];
      const then = before?.inference_stats[name];
      stats[key] = { count: Number(now.count - (then?.count ?? 0n)), ns: Number(now.ns - (then?.ns ?? 0n)) };
    }
    const counts = [stats.computeInput.count, stats.computeInfer.count, stats.computeOutput.count];
    if (counts.some((count) => count !== counts[0])) {
      throw new PerfError('error: Server side statistics compute counts must be the same.');
    }
  }
}

/** Adds several differences of the same models. */
export function mergeServerStats(parts: readonly ServerStats[]): ServerStats {
  const [first] = parts;
  if (first === undefined) throw new Error('nothing to merge');
  const sum = emptyServerStats(first);
  for (const part of parts) {
    sum.inferenceCount += part.inferenceCount;
    sum.executionCount += part.executionCount;
    for (const key of DURATION_KEYS) {
      sum[key].count += part[key].count;
      sum[key].ns += part[key].ns;
    }
  }
  const keyOf = (stats: ServerStats): string => `${stats.name}\0${stats.version}`;
  const composing = new Map<string, ServerStats[]>();
  for (const each of parts.flatMap((part) => part.composing)) {
    const key = keyOf(each);
    composing.set(key, [...(composing.get(key) ?? []), each]);
  }
  sum.composing = [...composing.values()].map(mergeServerStats);
  return sum;
}
