import type { ModelMetrics } from '../../contract/engine.js';
import type { SummaryName } from '../../contract/statistics.js';
import type { FamilyType } from './exposition.js';

/** Counters of a loaded version. */
export type LoadedCounters = NonNullable<ModelMetrics['loaded']>;

/** A family with one series per loaded version. */
export interface ModelFamily {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** Exists only with counter_latencies. */
  readonly latency?: boolean;
  /** Only for models that want their responses cached. */
  readonly cache?: boolean;
  readonly value: (counters: LoadedCounters) => number;
}

/** In Triton's order. */
export const COUNTERS: readonly ModelFamily[] = [
  {
    name: 'nv_inference_request_success',
    type: 'counter',
    help: 'Number of successful inference requests, all batch sizes',
    value: (s) => s.success,
  },
  {
    name: 'nv_inference_count',
    type: 'counter',
    help: 'Number of inferences performed (does not include cached requests)',
    value: (s) => s.inferenceCount,
  },
  {
    name: 'nv_inference_exec_count',
    type: 'counter',
    help: 'Number of model executions performed (does not include cached requests)',
    value: (s) => s.executionCount,
  },
  {
    name: 'nv_inference_request_duration_us',
    type: 'counter',
    latency: true,
    help: 'Cumulative inference request duration in microseconds (includes cached requests)',
    value: (s) => s.requestUs,
  },
  {
    name: 'nv_inference_queue_duration_us',
    type: 'counter',
    latency: true,
    help: 'Cumulative inference queuing duration in microseconds (includes cached requests)',
    value: (s) => s.queueUs,
  },
  {
    name: 'nv_inference_compute_input_duration_us',
    type: 'counter',
    latency: true,
    help: 'Cumulative compute input duration in microseconds (does not include cached requests)',
    value: (s) => s.inputUs,
  },
  {
    name: 'nv_inference_compute_infer_duration_us',
    type: 'counter',
    latency: true,
    help: 'Cumulative compute inference duration in microseconds (does not include cached requests)',
    value: (s) => s.inferUs,
  },
  {
    name: 'nv_inference_compute_output_duration_us',
    type: 'counter',
    latency: true,
    help: 'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    value: (s) => s.outputUs,
  },
  {
    name: 'nv_cache_num_hits_per_model',
    type: 'counter',
    latency: true,
    cache: true,
    help: 'Number of cache hits per model',
    value: (s) => s.cacheHitCount,
  },
  {
    name: 'nv_cache_hit_duration_per_model',
    type: 'counter',
    latency: true,
    cache: true,
    help: 'Total cache hit duration per model, in microseconds',
    value: (s) => s.cacheHitUs,
  },
  {
    name: 'nv_cache_num_misses_per_model',
    type: 'counter',
    latency: true,
    cache: true,
    help: 'Number of cache misses per model',
    value: (s) => s.cacheMissCount,
  },
  {
    name: 'nv_cache_miss_duration_per_model',
    type: 'counter',
    latency: true,
    cache: true,
    help: 'Total cache miss (insert+lookup) duration per model, in microseconds',
    value: (s) => s.cacheMissUs,
  },
];

/** In Triton's order. */
export const GAUGES: readonly ModelFamily[] = [
  {
    name: 'nv_inference_pending_request_count',
    type: 'gauge',
    help: 'Instantaneous number of pending requests awaiting execution per-model.',
    value: (s) => s.pending,
  },
  {
    name: 'nv_model_load_duration_secs',
    type: 'gauge',
    help: 'Model load time in seconds',
    value: (s) => s.loadSeconds,
  },
];

/** A family of summaries. */
export interface SummaryFamily {
  readonly name: string;
  readonly help: string;
  readonly summary: SummaryName;
  /** Exists only for models that have their responses cached (true) or have not (false). */
  readonly cache?: boolean;
}

/** In Triton's order. */
export const SUMMARIES: readonly SummaryFamily[] = [
  {
    name: 'nv_inference_request_summary_us',
    help: 'Summary of inference request duration in microseconds (includes cached requests)',
    summary: 'request',
    cache: false,
  },
  {
    name: 'nv_inference_queue_summary_us',
    help: 'Summary of inference queuing duration in microseconds (includes cached requests)',
    summary: 'queue',
  },
  {
    name: 'nv_inference_compute_input_summary_us',
    help: 'Cumulative compute input duration in microseconds (does not include cached requests)',
    summary: 'input',
  },
  {
    name: 'nv_inference_compute_infer_summary_us',
    help: 'Cumulative compute inference duration in microseconds (does not include cached requests)',
    summary: 'infer',
  },
  {
    name: 'nv_inference_compute_output_summary_us',
    help: 'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    summary: 'output',
  },
  {
    name: 'nv_cache_hit_summary_per_model',
    help: 'Summary of cache hit counts/durations per model, in microseconds.',
    summary: 'cacheHit',
    cache: true,
  },
  {
    name: 'nv_cache_miss_summary_per_model',
    help: 'Summary of cache miss counts/durations per model, in microseconds.',
    summary: 'cacheMiss',
    cache: true,
  },
];
