import type { FailureCounts, SeriesCounters as ShownSeries } from '../../contract/statistics.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { LatencyHistogram, LatencySummaries } from './latencies.js';

/** Fresh failure counters. */
export function newFailureCounts(): FailureCounts {
  return { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 };
}

/**
 * What the metrics endpoint shows of a version under one set of labels. Counts and whole microseconds; each request's
 * time is truncated before it is added.
 */
export class SeriesCounters implements ShownSeries {
  success = 0;
  inferenceCount = 0;
  executionCount = 0;
  requestUs = 0;
  queueUs = 0;
  inputUs = 0;
  inferUs = 0;
  outputUs = 0;
  cacheHitCount = 0;
  cacheHitUs = 0;
  cacheMissCount = 0;
  cacheMissUs = 0;
  /** Requests accepted and not yet executing. */
  pending = 0;
  /** How long the last load took, in seconds. */
  loadSeconds = 0;
  /** Latencies of the last minute; only where they are wanted. */
  summaries: LatencySummaries | undefined;
  /** Milliseconds from a request to its first response; only where that is wanted. */
  firstResponse: LatencyHistogram | undefined;
}

interface Held {
  readonly series: SeriesCounters;
  users: number;
}

/**
 * The counters of one version of a model that the metrics endpoint shows, over all its loads. As in Triton (checked with
 * 2.51): a version that is loaded over the one that serves counts on where that one is; once nothing of a version is
 * loaded any more its series are gone, and the next load begins at 0. Failures alone count on for ever.
 */
export class VersionCounters {
  readonly failures: FailureCounts = newFailureCounts();
  /** By the labels that the configuration adds. */
  readonly #held = new Map<string, Held>();

  /** The series for a load with this configuration; `release` has to follow when the load fails or has ended. */
  acquire(config: Pick<ModelConfig, 'metric_tags'>, make: () => SeriesCounters): SeriesCounters {
    const key = JSON.stringify([...config.metric_tags].sort());
    let held = this.#held.get(key);
    if (held === undefined) {
      held = { series: make(), users: 0 };
      this.#held.set(key, held);
    }
    held.users++;
    return held.series;
  }

  /** A load that had these series has ended. */
  release(series: SeriesCounters): void {
    for (const [key, held] of this.#held) {
      if (held.series !== series) continue;
      held.users--;
      if (held.users === 0) this.#held.delete(key);
    }
  }
}
