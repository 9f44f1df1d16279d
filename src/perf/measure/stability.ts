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

function lastOf(values: readonly number[]): readonly number[] {
  return values.slice(-STABILITY_WINDOWS);
}

function within(values: readonly number[], threshold: number): boolean {
  return Math.max(...values) / Math.min(...values) <= 1 + threshold;
}
