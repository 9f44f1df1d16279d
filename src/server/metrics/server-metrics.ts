import type { FailureCounts, ModelStatistics } from '../../engine/statistics/model-statistics.js';
import type { MetricsOptions } from '../options/server-options.js';
import { type FamilyType, familyText, labelText, type Sample } from './exposition.js';
import { MachineGauges } from './machine-gauges.js';

/** A READY version and its live counters. */
export interface MetricSource {
  readonly name: string;
  readonly version: string;
  readonly statistics: ModelStatistics;
  /** `metric_tags` of the configuration. */
  readonly tags: ReadonlyMap<string, string>;
}

/** Failures of a version that was once loaded; they stay when it is unloaded. */
export interface FailureSource {
  readonly name: string;
  readonly version: string;
  readonly failures: FailureCounts;
  readonly tags: ReadonlyMap<string, string>;
}

/** Where the numbers come from. */
export interface MetricSources {
  metricSources(): Iterable<MetricSource>;
  failureSources(): Iterable<FailureSource>;
}

interface ModelFamily {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** Exists only with counter_latencies. */
  readonly latency?: boolean;
  readonly value: (statistics: ModelStatistics) => number;
}

const REASONS = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;

const COUNTERS: readonly ModelFamily[] = [
  {
    name: 'nv_inference_request_success',
    type: 'counter',
    help: 'Number of successful inference requests, all batch sizes',
    value: (s) => s.successCount,
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
];

const GAUGES: readonly ModelFamily[] = [
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

const FAILURE_NAME = 'nv_inference_request_failure';
const FAILURE_HELP = 'Number of failed inference requests, all batch sizes';

/** Everything that /metrics shows, as text on demand. */
export class ServerMetrics {
  readonly #sources: MetricSources;
  readonly #options: MetricsOptions;
  readonly #machine: MachineGauges | undefined;
  readonly #pinnedPoolBytes: number;
  /** Labels never change while a version is loaded. */
  readonly #labels = new WeakMap<ModelStatistics, string>();
  readonly #failureLabels = new WeakMap<FailureCounts, readonly string[]>();

  constructor(sources: MetricSources, options: MetricsOptions, pinnedPoolBytes: number) {
    this.#sources = sources;
    this.#options = options;
    this.#pinnedPoolBytes = pinnedPoolBytes;
    this.#machine = options.cpu ? new MachineGauges(options.intervalMs) : undefined;
  }

  /** The exposition: counters, then gauges, in the original's order. */
  text(): string {
    const models = [...this.#sources.metricSources()];
    const counting = this.#options.counterLatencies;
    let text = '';
    for (const family of COUNTERS) {
      if (family.latency && !counting) continue;
      text += this.#modelFamily(family, models, counting);
      if (family === COUNTERS[0]) text += familyText(FAILURE_NAME, 'counter', FAILURE_HELP, this.#failures(counting));
    }
    for (const family of GAUGES) text += this.#modelFamily(family, models, true);
    text += this.#pinnedPool();
    return text + this.#machineFamilies();
  }

  stop(): void {
    this.#machine?.stop();
  }

  /** With counter_latencies=false the counters exist but stay at 0, as in the original (spec: runtime, section 8.5). */
  #modelFamily(family: ModelFamily, models: readonly MetricSource[], counting: boolean): string {
    const samples = models.map(
      (model): Sample => [this.#labelsOf(model), counting ? family.value(model.statistics) : 0],
    );
    return familyText(family.name, family.type, family.help, samples);
  }

  #labelsOf({ name, version, statistics, tags }: MetricSource): string {
    let labels = this.#labels.get(statistics);
    if (labels === undefined) {
      labels = labelText(modelLabels(name, version, tags));
      this.#labels.set(statistics, labels);
    }
    return labels;
  }

  #failures(counting: boolean): Sample[] {
    const samples: Sample[] = [];
    for (const { name, version, failures, tags } of this.#sources.failureSources()) {
      let labels = this.#failureLabels.get(failures);
      if (labels === undefined) {
        labels = REASONS.map((reason) => labelText({ ...modelLabels(name, version, tags), reason }));
        this.#failureLabels.set(failures, labels);
      }
      for (const [index, reason] of REASONS.entries()) {
        samples.push([labels[index] as string, counting ? failures[reason] : 0]);
      }
    }
    return samples;
  }

  #pinnedPool(): string {
    return (
      familyText('nv_pinned_memory_pool_total_bytes', 'gauge', 'Pinned memory pool total memory size, in bytes', [
        ['', this.#pinnedPoolBytes],
      ]) +
      familyText('nv_pinned_memory_pool_used_bytes', 'gauge', 'Pinned memory pool used memory size, in bytes', [
        ['', 0],
      ])
    );
  }

  #machineFamilies(): string {
    if (this.#machine === undefined) return '';
    const { utilization, memoryTotalBytes, memoryUsedBytes } = this.#machine;
    return (
      familyText('nv_cpu_utilization', 'gauge', 'CPU utilization rate [0.0 - 1.0]', [['', utilization]]) +
      familyText('nv_cpu_memory_total_bytes', 'gauge', 'CPU total memory (RAM), in bytes', [['', memoryTotalBytes]]) +
      familyText('nv_cpu_memory_used_bytes', 'gauge', 'CPU used memory (RAM), in bytes', [['', memoryUsedBytes]])
    );
  }
}

function modelLabels(name: string, version: string, tags: ReadonlyMap<string, string>): Record<string, string> {
  const labels: Record<string, string> = { model: name, version };
  for (const [tag, value] of tags) labels[`_${tag}`] = value;
  return labels;
}
