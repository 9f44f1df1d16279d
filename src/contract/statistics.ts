/** What the metrics endpoint shows of a version. Counts and whole microseconds. */

/** Why a request failed, as the failure metric labels it. */
export type FailureReason = 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER';

/** Failures by reason; they outlive the loaded version. */
export type FailureCounts = Record<FailureReason, number>;

/** Names of the latency summaries. Values are whole microseconds. */
export type SummaryName = 'request' | 'queue' | 'input' | 'infer' | 'output' | 'cacheHit' | 'cacheMiss';

/** A latency summary at one time. */
export interface SummaryValues {
  /** Observations since the start. */
  readonly count: number;
  readonly sum: number;
  /** In the order of the wanted quantiles; NaN when nothing was observed within the window. */
  readonly quantiles: readonly (readonly [quantile: number, value: number])[];
}

/** Counts of observations by upper bound. */
export interface HistogramCounts {
  /** Ascending, without infinity. */
  readonly bounds: readonly number[];
  /** Observations in each bucket alone, the one without bound last. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Counters of a version under one set of labels. Each request's time is truncated before it is added. */
export interface SeriesCounters {
  readonly success: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly requestUs: number;
  readonly queueUs: number;
  readonly inputUs: number;
  readonly inferUs: number;
  readonly outputUs: number;
  readonly cacheHitCount: number;
  readonly cacheHitUs: number;
  readonly cacheMissCount: number;
  readonly cacheMissUs: number;
  /** Requests accepted and not yet executing. */
  readonly pending: number;
  /** How long the last load took, in seconds. */
  readonly loadSeconds: number;
  /** Latencies of the last minute; only where they are wanted. */
  readonly summaries: Readonly<Record<SummaryName, { values(): SummaryValues }>> | undefined;
  /** Milliseconds from a request to its first response; only where that is wanted. */
  readonly firstResponse: HistogramCounts | undefined;
}
