import { readDouble } from '../../base/options/c-numbers.js';
import { text } from '../../base/options/parse-value.js';
import type { EndpointOptions } from './http-options.js';
import { BadOption, parseBool, parseInt32 } from './parse-value.js';
import { checked, option, type ParseState, type ServerOption } from './server-option.js';

/** Options of the metrics endpoint. */
export interface MetricsOptions extends EndpointOptions {
  readonly cpu: boolean;
  /** Gauges are renewed every half interval. */
  readonly intervalMs: number;
  /** False: no latency counters, and the counters that exist stay at 0, as in Triton. */
  readonly counterLatencies: boolean;
  /** Histograms of the time to the first response. */
  readonly histogramLatencies: boolean;
  /** Summaries of latencies, with the quantiles below. */
  readonly summaryLatencies: boolean;
  readonly summaryQuantiles: readonly number[];
  /** What was wrong with the quantiles given. */
  readonly quantileFaults: readonly string[];
}

/** The values that hold when an option is not given; an address of '' is replaced by that of HTTP. */
export const METRICS_DEFAULTS: MetricsOptions = {
  enabled: true,
  address: '',
  port: 8002,
  cpu: true,
  intervalMs: 2000,
  counterLatencies: true,
  histogramLatencies: false,
  summaryLatencies: false,
  summaryQuantiles: [0.5, 0.9, 0.95, 0.99, 0.999],
  quantileFaults: [],
};

const group = 'Metrics';

/** The options of metrics. */
export const METRICS_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'allow-metrics',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['metrics', 'enabled'],
    help: 'Serve metrics.',
  }),
  checked({
    name: 'allow-gpu-metrics',
    group,
    argument: 'boolean',
    parse: parseBool,
    note: "there are no gauges of GPUs; NVIDIA's DCGM exporter has them",
  }),
  option({
    name: 'allow-cpu-metrics',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['metrics', 'cpu'],
    help: 'Show the use of CPU and memory.',
  }),
  option({
    name: 'metrics-address',
    group,
    argument: 'string',
    parse: text,
    into: ['metrics', 'address'],
    help: 'Address to listen on.',
    default: 'that of HTTP',
  }),
  option({
    name: 'metrics-port',
    group,
    argument: 'integer',
    parse: parseInt32,
    into: ['metrics', 'port'],
    help: 'Port; 0 = any free port.',
  }),
  option({
    name: 'metrics-interval-ms',
    group,
    argument: 'float',
    parse: parseInt32,
    into: ['metrics', 'intervalMs'],
    help: 'CPU and memory gauges are renewed twice in this time.',
  }),
  option({
    name: 'metrics-config',
    group,
    argument: '<string>=<string>',
    help:
      'SETTING=VALUE with one of the settings counter_latencies, histogram_latencies, summary_latencies (true or false), ' +
      'summary_quantiles (QUANTILE:ERROR, separated by commas). May be given several times.',
    repeatable: true,
    parse: text,
    set: setMetricsConfig,
  }),
];

function setMetricsConfig({ options: { metrics } }: ParseState, value: string): void {
  const at = value.indexOf('=');
  const comma = value.indexOf(',');
  if (at <= 0 || at === value.length - 1 || (comma >= 0 && comma < at)) {
    throw new BadOption(`--metrics-config option format is <setting>=<value>. Got ${value}`);
  }
  const [setting, wanted] = [value.slice(0, at), value.slice(at + 1)];
  if (setting === 'summary_quantiles') {
    Object.assign(metrics, parseQuantiles(wanted));
    return;
  }
  if (wanted !== 'true' && wanted !== 'false') return;
  const on = wanted === 'true';
  if (setting === 'counter_latencies') metrics.counterLatencies = on;
  else if (setting === 'histogram_latencies') metrics.histogramLatencies = on;
  else if (setting === 'summary_latencies') metrics.summaryLatencies = on;
}

/**
 * `0.5:0.05,0.99:0.001`: quantiles and the errors allowed for their ranks. Ours are exact in rank: errors are only read.
 * Pairs that are not a quantile are passed over and reported with Triton's messages.
 */
function parseQuantiles(value: string): Pick<MetricsOptions, 'summaryQuantiles' | 'quantileFaults'> {
  const summaryQuantiles: number[] = [];
  const quantileFaults: string[] = [];
  for (const pair of value.split(',')) {
    const [quantile = '', error] = pair.split(':');
    const number = readNumber(quantile);
    const margin = readNumber(error ?? '');
    if (error === undefined) {
      quantileFaults.push(`Invalid option: [${pair}]. No ':' delimiter found. Expected format is <quantile>:<error>`);
    } else if (Number.isNaN(number) || Number.isNaN(margin)) {
      quantileFaults.push(`Invalid option: [${pair}]. Error: stod`);
    } else if (!(number >= 0 && number <= 1) || !(margin >= 0)) {
      quantileFaults.push(`Invalid option: [${pair}]. A quantile and its error are numbers from 0 to 1.`);
    } else {
      summaryQuantiles.push(number);
    }
  }
  return { summaryQuantiles, quantileFaults };
}

function readNumber(value: string): number {
  const read = readDouble(value);
  return 'value' in read ? read.value : Number.NaN;
}
