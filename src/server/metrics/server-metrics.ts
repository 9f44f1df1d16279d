import type { InferenceEngine, ModelMetrics } from '../../contract/engine.js';
import type { CustomFamily, CustomSeries, MetricKind } from '../../contract/metrics.js';
import { FIRST_RESPONSE_FAMILY } from '../../engine/statistics/latencies.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { MetricsOptions } from '../options/metrics-options.js';
import { familyText, formatValue, histogramSeries, labelText, type Sample, summarySeries } from './exposition.js';
import { MachineGauges } from './machine-gauges.js';
import { COUNTERS, GAUGES, type LoadedCounters, type ModelFamily, SUMMARIES } from './model-families.js';

const REASONS = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;
const FAILURE_NAME = 'nv_inference_request_failure';
const FAILURE_HELP = 'Number of failed inference requests, all batch sizes';
const FIRST_RESPONSE_HELP = 'Duration from request to first response in milliseconds';

/** What this server had to drop so far. */
export interface ServerLosses {
  /** Records of the log that could not be written. */
  readonly logRecords: number;
  /** Requests beyond `--request-memory-limit`. */
  readonly requests: number;
}

const NO_LOSSES: ServerLosses = { logRecords: 0, requests: 0 };

/** Everything that /metrics shows, written when it is asked for. */
export class ServerMetrics {
  readonly #engine: Pick<InferenceEngine, 'metrics' | 'customMetrics'>;
  readonly #options: MetricsOptions;
  readonly #machine: MachineGauges | undefined;
  readonly #pinnedPoolBytes: number;
  readonly #losses: () => ServerLosses;
  /** Labels never change while a version is loaded: made once per configuration. */
  readonly #labels = new WeakMap<ModelConfig, string>();

  constructor(
    engine: Pick<InferenceEngine, 'metrics' | 'customMetrics'>,
    options: MetricsOptions,
    pinnedPoolBytes: number,
    losses: () => ServerLosses = () => NO_LOSSES,
  ) {
    this.#losses = losses;
    this.#engine = engine;
    this.#options = options;
    this.#pinnedPoolBytes = pinnedPoolBytes;
    this.#machine = options.cpu ? new MachineGauges(options.intervalMs) : undefined;
  }

  /** The exposition: counters, gauges, histograms, summaries; in each kind the server's families, then models' own. */
  text(): string {
    const all = this.#engine.metrics();
    const counting = this.#options.counterLatencies;
    const custom = this.#engine.customMetrics();
    let text = '';
    for (const family of COUNTERS) {
      if (family.latency && !counting) continue;
      text += this.#modelFamily(family, all, counting);
      if (family === COUNTERS[0]) text += familyText(FAILURE_NAME, 'counter', FAILURE_HELP, failures(all, counting));
    }
    text += this.#lossFamilies();
    text += customFamilies(custom, 'COUNTER');
    for (const family of GAUGES) text += this.#modelFamily(family, all, true);
    text += this.#pinnedPool() + this.#machineFamilies() + customFamilies(custom, 'GAUGE');
    if (this.#options.histogramLatencies) text += this.#firstResponses(all);
    text += customFamilies(custom, 'HISTOGRAM');
    return this.#options.summaryLatencies ? text + this.#summaries(all) : text;
  }

  /** Triton has no such families: each appears with the first record or request that is lost. */
  #lossFamilies(): string {
    const { logRecords, requests } = this.#losses();
    const family = (name: string, help: string, lost: number): string =>
      lost === 0 ? '' : familyText(name, 'counter', help, [['', lost]]);
    return (
      family('nv_log_record_lost', 'Number of log records that could not be written and were dropped', logRecords) +
      family('nv_request_memory_refused', 'Number of requests refused because of --request-memory-limit', requests)
    );
  }

  stop(): void {
    this.#machine?.stop();
  }

  /** With counter_latencies=false the counters exist but stay at 0, as in Triton. */
  #modelFamily(family: ModelFamily, all: readonly ModelMetrics[], counting: boolean): string {
    const samples: Sample[] = [];
    for (const model of all) {
      const { loaded } = model;
      if (loaded === undefined || (family.cache && !isCached(loaded))) continue;
      samples.push([this.#labelsOf(model, loaded.config), counting ? family.value(loaded) : 0]);
    }
    return familyText(family.name, family.type, family.help, samples);
  }

  #firstResponses(all: readonly ModelMetrics[]): string {
    let series = '';
    for (const model of all) {
      const { loaded } = model;
      if (loaded?.firstResponse === undefined) continue;
      series += histogramSeries(FIRST_RESPONSE_FAMILY, this.#labelsOf(model, loaded.config), loaded.firstResponse);
    }
    return familyText(FIRST_RESPONSE_FAMILY, 'histogram', FIRST_RESPONSE_HELP, series);
  }

  #summaries(all: readonly ModelMetrics[]): string {
    let text = '';
    for (const { name: family, help, summary, cache } of SUMMARIES) {
      let series = '';
      for (const model of all) {
        const { loaded } = model;
        if (loaded?.summaries === undefined) continue;
        if (cache !== undefined && cache !== isCached(loaded)) continue;
        const labels = this.#labelsOf(model, loaded.config);
        series += summarySeries(family, labels, loaded.summaries[summary].values());
      }
      text += familyText(family, 'summary', help, series);
    }
    return text;
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

function isCached({ config }: LoadedCounters): boolean {
  return config.response_cache?.enable ?? false;
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

/** The families of a kind that models made, in the text format; those without series are left out. */
function customFamilies(families: readonly CustomFamily[], wanted: MetricKind): string {
  let text = '';
  for (const { name, description, kind, series } of families) {
    if (kind !== wanted || series.length === 0) continue;
    // A line break in a description would end the comment and break the format.
    if (description !== '') text += `# HELP ${name} ${description.replaceAll('\n', '\\n')}\n`;
    text += `# TYPE ${name} ${kind.toLowerCase()}\n`;
    for (const one of series) text += seriesText(name, one);
  }
  return text;
}

function seriesText(name: string, { labels, value, bounds, counts }: CustomSeries): string {
  const own = labelText(labels);
  if (bounds === undefined) return `${name}${own} ${formatValue(value)}\n`;
  return histogramSeries(name, own, { bounds, counts, sum: value });
}
