/** Windows that are looked at together. */
export const STABILITY_WINDOWS = 3;

/** What the test of stability knows of the windows of a level, in order; a failed window is (0, infinity). */
export interface StabilityHistory {
  readonly throughputs: readonly number[];
  /** The value that is stabilised, nanoseconds. */
  readonly latenciesNs: readonly number[];
}

/** True when the last three windows differ by no more than the threshold (a fraction) in throughput and latency. */
export function isStable(history: StabilityHistory, threshold: number): boolean {
  return isThroughputStable(history, threshold) && within(lastOf(history.latenciesNs), threshold);
}

/** The same for the throughput alone. */
export function isThroughputStable(history: StabilityHistory, threshold: number): boolean {
  const last = lastOf(history.throughputs);
  return last.length === STABILITY_WINDOWS && last.every((value) => value !== 0) && within(last, threshold);
}

/** True when one of the last three windows reached the latency limit (milliseconds, 0 = none). */
export function isOverLimit(history: StabilityHistory, limitMs: number): boolean {
  const last = lastOf(history.latenciesNs);
  return limitMs > 0 && last.length === STABILITY_WINDOWS && last.some((ns) => ns >= limitMs * 1e6);
}

/** How far the last windows of a level lie apart, as fractions: 0.1 = the highest is 10 % above the lowest. */
export interface StabilitySpread {
  readonly throughput: number;
  readonly latency: number;
}

/** The spread of the last windows. Infinity where one of them failed or held no request. */
export function spreadOf({ throughputs, latenciesNs }: StabilityHistory): StabilitySpread {
  return { throughput: ratioOf(lastOf(throughputs)) - 1, latency: ratioOf(lastOf(latenciesNs)) - 1 };
}

function ratioOf(values: readonly number[]): number {
  return Math.max(...values) / Math.min(...values);
}

function lastOf(values: readonly number[]): readonly number[] {
  return values.slice(-STABILITY_WINDOWS);
}

function within(values: readonly number[], threshold: number): boolean {
  return ratioOf(values) <= 1 + threshold;
}
