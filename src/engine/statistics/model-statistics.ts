/** Counters of one load of a version: what `statistics` reports. What /metrics shows is counted along. */

import type { FailureCounts, FailureReason } from '../../contract/statistics.js';
import type { StatisticDuration, ModelStatistics as StatisticsAnswer } from '../../protocol/management.js';
import { SeriesCounters } from './version-counters.js';

/**
 * What backends may report of their responses and their memory through Triton's C API, which those of this program do not
 * do. Both are empty, but stand in every statistics call: Triton's JSON always has them, and clients read them unasked.
 */
const NO_RESPONSES: StatisticsAnswer['response_stats'] = new Map();
const NO_MEMORY: StatisticsAnswer['memory_usage'] = [];

interface BatchEntry {
  count: number;
  inputNs: number;
  inferNs: number;
  outputNs: number;
}

/**
 * The counters. Times are sums of ns in doubles: exact up to 104 days of summed time, to a few ns for years. They begin
 * at 0 with each load; those of `series` go on as the metrics do.
 */
export class ModelStatistics {
  lastInferenceMs = 0;
  inferenceCount = 0;
  executionCount = 0;
  successCount = 0;
  successNs = 0;
  failCount = 0;
  failNs = 0;
  queueNs = 0;
  inputNs = 0;
  inferNs = 0;
  outputNs = 0;
  cacheHitCount = 0;
  cacheHitNs = 0;
  cacheMissCount = 0;
  cacheMissNs = 0;
  readonly #batches = new Map<number, BatchEntry>();

  constructor(
    readonly failures: FailureCounts,
    readonly series: SeriesCounters = new SeriesCounters(),
  ) {}

  /** Counts a successful request of `batchSize` rows (0 counts as 1). All times in ns. */
  // biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
  recordSuccess(
    batchSize: number,
    requestNs: number,
    queueNs: number,
    inputNs: number,
    inferNs: number,
    outputNs: number,
  ): void {
    this.successCount++;
    this.inferenceCount += Math.max(batchSize, 1);
    this.successNs += requestNs;
    this.queueNs += queueNs;
    this.inputNs += inputNs;
    this.inferNs += inferNs;
    this.outputNs += outputNs;
    const { series } = this;
    series.success++;
    series.inferenceCount += Math.max(batchSize, 1);
    series.requestUs += Math.floor(requestNs / 1000);
    series.queueUs += Math.floor(queueNs / 1000);
    series.inputUs += Math.floor(inputNs / 1000);
    series.inferUs += Math.floor(inferNs / 1000);
    series.outputUs += Math.floor(outputNs / 1000);
    if (series.summaries === undefined) return;
    const { request, queue, input, infer, output } = series.summaries;
    request.observe(Math.floor(requestNs / 1000));
    queue.observe(Math.floor(queueNs / 1000));
    input.observe(Math.floor(inputNs / 1000));
    infer.observe(Math.floor(inferNs / 1000));
    output.observe(Math.floor(outputNs / 1000));
  }

  /** Counts a request whose response came from the response cache; times in ns. */
  recordCacheHit(requestNs: number, queueNs: number, lookupNs: number): void {
    this.successCount++;
    this.successNs += requestNs;
    this.queueNs += queueNs;
    this.cacheHitCount++;
    this.cacheHitNs += lookupNs;
    const { series } = this;
    series.success++;
    series.requestUs += Math.floor(requestNs / 1000);
    series.queueUs += Math.floor(queueNs / 1000);
    series.cacheHitCount++;
    series.cacheHitUs += Math.floor(lookupNs / 1000);
    series.summaries?.request.observe(Math.floor(requestNs / 1000));
    series.summaries?.queue.observe(Math.floor(queueNs / 1000));
    series.summaries?.cacheHit.observe(Math.floor(lookupNs / 1000));
  }

  /** Counts a request that was executed because the cache did not know it; `cacheNs`: looking up and inserting. */
  recordCacheMiss(cacheNs: number): void {
    const us = Math.floor(cacheNs / 1000);
    this.cacheMissCount++;
    this.cacheMissNs += cacheNs;
    this.successNs += cacheNs;
    const { series } = this;
    series.cacheMissCount++;
    series.cacheMissUs += us;
    series.requestUs += us;
    series.summaries?.cacheMiss.observe(us);
  }

  /** Counts a failed request. */
  recordFailure(reason: FailureReason, requestNs: number): void {
    this.failures[reason]++;
    this.failCount++;
    this.failNs += requestNs;
  }

  /** Counts one execution of `rows` rows in which at least one request succeeded. */
  recordExecution(rows: number, inputNs: number, inferNs: number, outputNs: number): void {
    this.executionCount++;
    this.series.executionCount++;
    this.lastInferenceMs = Date.now();
    let entry = this.#batches.get(rows);
    if (entry === undefined) {
      entry = { count: 0, inputNs: 0, inferNs: 0, outputNs: 0 };
      this.#batches.set(rows, entry);
    }
    entry.count++;
    entry.inputNs += inputNs;
    entry.inferNs += inferNs;
    entry.outputNs += outputNs;
  }

  /** What a statistics call reports. */
  snapshot(name: string, version: string): StatisticsAnswer {
    const executed = this.successCount - this.cacheHitCount;
    return {
      name,
      version,
      last_inference: BigInt(this.lastInferenceMs),
      inference_count: BigInt(this.inferenceCount),
      execution_count: BigInt(this.executionCount),
      inference_stats: {
        success: duration(this.successCount, this.successNs),
        fail: duration(this.failCount, this.failNs),
        queue: duration(this.successCount, this.queueNs),
        compute_input: duration(executed, this.inputNs),
        compute_infer: duration(executed, this.inferNs),
        compute_output: duration(executed, this.outputNs),
        cache_hit: duration(this.cacheHitCount, this.cacheHitNs),
        cache_miss: duration(this.cacheMissCount, this.cacheMissNs),
      },
      response_stats: NO_RESPONSES,
      batch_stats: [...this.#batches]
        .sort(([a], [b]) => a - b)
        .map(([size, entry]) => ({
          batch_size: BigInt(size),
          compute_input: duration(entry.count, entry.inputNs),
          compute_infer: duration(entry.count, entry.inferNs),
          compute_output: duration(entry.count, entry.outputNs),
        })),
      memory_usage: NO_MEMORY,
    };
  }
}

function duration(count: number, ns: number): StatisticDuration {
  return { count: BigInt(count), ns: BigInt(Math.round(ns)) };
}
