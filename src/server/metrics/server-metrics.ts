import type { InferenceEngine, ModelMetrics } from '../../engine/engine-api.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { MetricsOptions } from '../options/server-options.js';
import { customFamilies } from './custom-families.js';
import { type FamilyType, familyText, labelText, type Sample } from './exposition.js';
import { MachineGauges } from './machine-gauges.js';

type LoadedCounters = NonNullable<ModelMetrics['loaded']>;

interface ModelFamily {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** Exists only with counter_latencies. */
  readonly latency?: boolean;
  /** Only for models that want their responses cached. */
  readonly cache?: boolean;
  readonly value: (counters: LoadedCounters) => number;
}

const REASONS = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;

const COUNTERS: readonly ModelFamily[] = [
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
  readonly #engine: Pick<InferenceEngine, 'metrics' | 'customMetrics'>;
  readonly #options: MetricsOptions;
  readonly #machine: MachineGauges | undefined;
  readonly #pinnedPoolBytes: number;
  /** Labels never change while a version is loaded: made once per configuration. */
  readonly #labels = new WeakMap<ModelConfig, string>();

  constructor(
    engine: Pick<InferenceEngine, 'metrics' | 'customMetrics'>,
    options: MetricsOptions,
    pinnedPoolBytes: number,
  ) {
    this.#engine = engine;
    this.#options = options;
    this.#pinnedPoolBytes = pinnedPoolBytes;
    this.#machine = options.cpu ? new MachineGauges(options.intervalMs) : undefined;
  }

  /** The exposition: counters, then gauges, in the original's order. */
  text(): string {
    const all = this.#engine.metrics();
    const counting = this.#options.counterLatencies;
    let text = '';
    for (const family of COUNTERS) {
      if (family.latency && !counting) continue;
      text += this.#modelFamily(family, all, counting);
      if (family === COUNTERS[0]) text += familyText(FAILURE_NAME, 'counter', FAILURE_HELP, failures(all, counting));
    }
    for (const family of GAUGES) text += this.#modelFamily(family, all, true);
    text += this.#pinnedPool();
    return text + this.#machineFamilies() + customFamilies(this.#engine.customMetrics());
  }

  stop(): void {
    this.#machine?.stop();
  }

  /** With counter_latencies=false the counters exist but stay at 0, as in the original (spec: runtime, section 8.5). */
  #modelFamily(family: ModelFamily, all: readonly ModelMetrics[], counting: boolean): string {
    const samples: Sample[] = [];
    for (const model of all) {
      const { loaded } = model;
      if (loaded === undefined || (family.cache && !loaded.config.response_cache?.enable)) continue;
      samples.push([this.#labelsOf(model, loaded.config), counting ? family.value(loaded) : 0]);
    }
    return familyText(family.name, family.type, family.help, samples);
  }

  #labelsOf(model: ModelMetrics, config: ModelConfig): string {
    let labels = this.#labels.get(config);
    if (labels === undefined) {
      labels = labelText(modelLabels(model, config));
      this.#labels.set(config, labels);
    }
    return labels;
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

/** The failure series stay when a version is unloaded; their labels then have no tags. */
function failures(all: readonly ModelMetrics[], counting: boolean): Sample[] {
  return all.flatMap((model) => {
    const { failures: counts, loaded } = model;
    const labels = modelLabels(model, loaded?.config);
    return REASONS.map((reason): Sample => [labelText({ ...labels, reason }), counting ? counts[reason] : 0]);
  });
}

function modelLabels({ name, namespace, version }: ModelMetrics, config?: ModelConfig): Record<string, string> {
  const labels: Record<string, string> = { model: name, ...(namespace === undefined ? {} : { namespace }), version };
  for (const [tag, value] of config?.metric_tags ?? []) labels[`_${tag}`] = value;
  return labels;
}
