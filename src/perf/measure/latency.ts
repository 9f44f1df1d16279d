/** Largest value of perf_analyzer's 64-bit counters: what a deviation of a single value is. */
export const UINT64_MAX_TEXT = '18446744073709551615';

/** Figures about latencies. */
export interface LatencyFigures {
  /** Whole nanoseconds. */
  readonly averageNs: number;
  /** Sample standard deviation in whole microseconds; undefined for a single request (printed as UINT64_MAX). */
  readonly deviationUs: number | undefined;
  /** Whole nanoseconds by percentile, ascending. */
  readonly percentilesNs: ReadonlyMap<number, number>;
}

/** Percentiles of every report, with the one of `--percentile` (-1 = none) among them, ascending. */
export function reportedPercentiles(extra: number): number[] {
  return [...new Set([50, 90, 95, 99, ...(extra === -1 ? [] : [extra])])].sort((a, b) => a - b);
}

/** Figures of latencies in nanoseconds, sorted ascending, at least one (inference_profiler.cc of perf_analyzer). */
export function latencyFigures(sorted: Float64Array, extraPercentile: number): LatencyFigures {
  const count = sorted.length;
  let sum = 0;
  for (const latency of sorted) sum += latency;
  const averageNs = Math.floor(sum / count);
  let squares = 0;
  for (const latency of sorted) squares += (latency - averageNs) ** 2;
  const percentiles = reportedPercentiles(extraPercentile).map((p): [number, number] => {
    const index = Math.floor((p / 100) * (count - 1) + 0.5);
    return [p, sorted[index] as number];
  });
  return {
    averageNs,
    deviationUs: count === 1 ? undefined : Math.floor(Math.sqrt(Math.floor(squares / (count - 1))) / 1000),
    percentilesNs: new Map(percentiles),
  };
}

/** The deviation as it is printed. */
export function deviationText(deviationUs: number | undefined): string {
  return deviationUs === undefined ? UINT64_MAX_TEXT : String(deviationUs);
}

/** The value that is stabilised, limited and reported: the chosen percentile or the average, in nanoseconds. */
export function stabilizingNs(figures: LatencyFigures, percentile: number): number {
  return percentile === -1 ? figures.averageNs : (figures.percentilesNs.get(percentile) as number);
}
