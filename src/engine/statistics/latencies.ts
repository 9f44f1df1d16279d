import type { Log } from '../../base/log.js';
import type { SummaryName } from '../../contract/statistics.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { LatencySummary } from './latency-summary.js';
import { SeriesCounters } from './version-counters.js';

/** Which latencies beside the counters are kept. */
export interface LatencyOptions {
  /** Quantiles of the latency summaries; undefined = no summaries. */
  readonly summaryQuantiles?: readonly number[];
  /** Histograms of the time to the first response. */
  readonly firstResponse?: boolean;
}

/** Summaries of one version. */
export type LatencySummaries = Readonly<Record<SummaryName, LatencySummary>>;

/** Counts of observations by upper bound. */
export class LatencyHistogram {
  /** Ascending, without infinity. */
  readonly bounds: readonly number[];
  /** Observations in each bucket alone, the one without bound last. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    this.sum += value;
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
  }
}

/** Family of the histogram of first responses, which configurations may give buckets of their own. */
export const FIRST_RESPONSE_FAMILY = 'nv_inference_first_response_histogram_ms';
const FIRST_RESPONSE_BOUNDS = [100, 500, 2000, 5000];

/** Series of a version that is being loaded, with the latencies that are wanted. */
export function newSeries(options: LatencyOptions | undefined, config: ModelConfig, log: Log): SeriesCounters {
  const series = new SeriesCounters();
  let bounds: readonly number[] = FIRST_RESPONSE_BOUNDS;
  for (const { metric_identifier, histogram_options } of config.model_metrics?.metric_control ?? []) {
    const family = metric_identifier?.family ?? '';
    if (family === FIRST_RESPONSE_FAMILY) bounds = histogram_options?.buckets ?? bounds;
    else log.warning(`Metric family '${family}' in 'metric_identifier' is not a customizable metric in Triton core.`);
  }
  if (options?.firstResponse) series.firstResponse = new LatencyHistogram(bounds);
  const quantiles = options?.summaryQuantiles;
  if (quantiles !== undefined) {
    const make = () => new LatencySummary(quantiles);
    series.summaries = {
      request: make(),
      queue: make(),
      input: make(),
      infer: make(),
      output: make(),
      cacheHit: make(),
      cacheMiss: make(),
    };
  }
  return series;
}
