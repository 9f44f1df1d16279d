import { absentEndpoint, checked, type OptionSpec, option, type ParseState, text } from './option-spec.js';
import { parseQuantiles } from './parse-quantiles.js';
import { parseTraceConfig } from './parse-trace-config.js';
import { BadOption, parseBool, parseGroupedSetting, parseInt32, parsePair } from './parse-value.js';

const METRICS = 'Metrics';

const NO_SAGEMAKER = 'this server has no endpoint for SageMaker';
const NO_VERTEX = 'this server has no endpoint for Vertex AI';

const OTHER_ENDPOINTS: OptionSpec[] = [
  absentEndpoint(
    'allow-sagemaker',
    'Sagemaker',
    'put a proxy in front that maps /ping to /v2/health/ready and /invocations to /v2/models/MODEL/infer',
  ),
  checked('Sagemaker', 'sagemaker-port', 'integer', parseInt32, NO_SAGEMAKER),
  checked(
    'Sagemaker',
    'sagemaker-safe-port-range',
    '<integer>-<integer>',
    (v) => parsePair(v, '-').map(parseInt32),
    NO_SAGEMAKER,
  ),
  checked('Sagemaker', 'sagemaker-thread-count', 'integer', parseInt32, NO_SAGEMAKER),
  absentEndpoint(
    'allow-vertex-ai',
    'Vertex',
    'give Vertex AI the routes /v2/health/ready and /v2/models/MODEL/infer of the HTTP port',
  ),
  checked('Vertex', 'vertex-ai-port', 'integer', parseInt32, NO_VERTEX),
  checked('Vertex', 'vertex-ai-thread-count', 'integer', parseInt32, NO_VERTEX),
  checked('Vertex', 'vertex-ai-default-model', 'string', text, NO_VERTEX),
];

const METRICS_OPTIONS: OptionSpec[] = [
  option(
    METRICS,
    'allow-metrics',
    'boolean',
    parseBool,
    (d, v) => (d.metrics.enabled = v),
    'Serve metrics. Default true.',
  ),
  checked(
    METRICS,
    'allow-gpu-metrics',
    'boolean',
    parseBool,
    "there are no gauges of GPUs; NVIDIA's DCGM exporter has them",
  ),
  option(
    METRICS,
    'allow-cpu-metrics',
    'boolean',
    parseBool,
    (d, v) => (d.metrics.cpu = v),
    'Show the use of CPU and memory. Default true.',
  ),
  option(
    METRICS,
    'metrics-address',
    'string',
    text,
    (d, v) => (d.metrics.address = v),
    'Address to listen on. Default: that of HTTP.',
  ),
  option(
    METRICS,
    'metrics-port',
    'integer',
    parseInt32,
    (d, v) => (d.metrics.port = v),
    'Port; 0 = any free port. Default 8002.',
  ),
  option(
    METRICS,
    'metrics-interval-ms',
    'float',
    parseInt32,
    (d, v) => (d.metrics.intervalMs = v),
    'CPU and memory gauges are renewed twice in this time. Default 2000.',
  ),
  {
    group: METRICS,
    name: 'metrics-config',
    argument: '<string>=<string>',
    help:
      'SETTING=VALUE with one of the settings counter_latencies, histogram_latencies, summary_latencies (true or false), ' +
      'summary_quantiles (QUANTILE:ERROR, separated by commas). May be given several times.',
    apply: applyMetricsConfig,
  },
];

function applyMetricsConfig(value: string, { draft: { metrics } }: ParseState): void {
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

const TRACE_FORMAT = "--trace-config option format is '<trace mode>,<setting>=<value>'. Got ";
const TRACING: OptionSpec[] = [
  {
    group: 'Tracing',
    name: 'trace-config',
    argument: '<string>,<string>=<string>',
    help: '[MODE,]SETTING=VALUE: start values of the trace settings. May be given several times.',
    apply(value, { draft }) {
      const [mode, setting, wanted] = parseGroupedSetting(value, {
        noGroup:
          'No trace mode specified. --trace-config option format is <trace mode>,<setting>=<value> or ' +
          '<setting>=<value>. Got ',
        format: TRACE_FORMAT,
        groupRequired: false,
      });
      parseTraceConfig(draft.trace, mode, setting, wanted);
    },
  },
];

/** Options of endpoints of other products, of metrics and of traces. */
export const OBSERVE_OPTIONS: readonly OptionSpec[] = [...OTHER_ENDPOINTS, ...METRICS_OPTIONS, ...TRACING];
