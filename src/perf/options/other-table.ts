import { existsSync } from 'node:fs';
import { usageError } from '../error/perf-error.js';
import type { PerfOption } from './option.js';
import { integer, oneOf } from './option.js';

/** Options that stand before the groups: what is measured. */
export const MODEL_OPTIONS: readonly PerfOption[] = [
  {
    name: 'version',
    help: 'Print the version and exit.',
    apply: (context) => context.version(),
  },
  {
    name: '',
    short: 'm',
    value: 'model',
    help: 'Model that is measured. Required.',
    apply: ({ options }, { value }) => {
      options.modelName = value;
    },
  },
  {
    name: '',
    short: 'x',
    value: 'version',
    help: 'Version of the model. Default: the latest.',
    apply: ({ options }, { value }) => {
      options.modelVersion = value;
    },
  },
  {
    name: 'bls-composing-models',
    value: 'a[:version],b,...',
    help: 'Models that the measured one calls by itself: the report shows them too.',
    apply: ({ options }, { value }) => {
      for (const part of value.replaceAll(' ', '').split(',')) {
        const colon = part.indexOf(':');
        if (colon < 0) options.composingModels.push({ name: part, version: '' });
        else options.composingModels.push({ name: part.slice(0, colon), version: part.slice(colon + 1) });
      }
    },
  },
  {
    name: 'model-signature-name',
    value: 'name',
    help: 'Signature of a TensorFlow model (service kind tfserving). Default serving_default.',
    apply: ({ options }, { value }) => {
      options.modelSignatureName = value;
    },
  },
  {
    name: 'service-kind',
    value: '"triton"|"openai"|"tfserving"|"torchserve"|"triton_c_api"|"dynamic_grpc"',
    help: 'Kind of the server. Default triton.',
    apply: ({ options }, given) => {
      options.serviceKind = oneOf(
        given,
        ['triton', 'tfserving', 'torchserve', 'triton_c_api', 'openai', 'dynamic_grpc'],
        "The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.",
      );
    },
  },
  {
    name: 'endpoint',
    value: 'path',
    help: 'Path on an OpenAI server, e.g. v1/chat/completions.',
    apply: ({ options }, { value }) => {
      options.endpoint = value;
    },
  },
  {
    name: '',
    short: 'v',
    help: 'A line for every window and finer times; twice: also what goes over the wire.',
    apply: ({ options }) => {
      options.verbosity += 1;
    },
  },
];

/** Options of the group OTHER OPTIONS. */
export const OTHER_OPTIONS: readonly PerfOption[] = [
  {
    name: '',
    short: 'f',
    value: 'file',
    help: 'Write the report in CSV format.',
    apply: ({ options }, { value }) => {
      options.reportFile = value;
    },
  },
  {
    name: 'verbose-csv',
    help: 'More columns in the CSV file.',
    apply: ({ options }) => {
      options.verboseCsv = true;
    },
  },
  {
    name: 'chart',
    help: 'Show progress on stderr and end with a table and a chart, also when stdout is not a terminal.',
    apply: ({ options }) => {
      options.chart = true;
    },
  },
  {
    name: 'profile-export-file',
    value: 'path',
    help: 'Write every request to a JSON file, which must not exist.',
    apply: ({ options }, { value }) => {
      if (existsSync(value)) throw usageError('Failed to parse --profile-export-file. Path must not already exist.');
      options.profileExportFile = value;
    },
  },
  {
    name: '',
    short: 'H',
    value: 'Name:Value',
    help: 'Header of every request (repeatable).',
    apply: ({ options }, { value }) => {
      const colon = value.indexOf(':');
      if (colon < 0) throw usageError(`Failed to parse -H. There must be a colon after the header name: '${value}'`);
      options.headers.push([value.slice(0, colon), value.slice(colon + 1)]);
    },
  },
  {
    name: 'streaming',
    help: 'Send requests over one bidirectional gRPC stream per worker.',
    apply: ({ options }) => {
      options.streaming = true;
    },
  },
  {
    name: 'grpc-compression-algorithm',
    value: '"gzip"|"deflate"|"none"',
    help: 'Compression of gRPC requests. Default none.',
    apply: ({ options }, given) => {
      const choices = "The available options are 'gzip', 'deflate', or 'none'.";
      options.grpcCompression = oneOf(given, ['none', 'gzip', 'deflate'], choices);
      options.grpcCompressionGiven = true;
    },
  },
  {
    name: 'grpc-method',
    value: 'package.Service/Method',
    help: 'Method that is called (service kind dynamic_grpc).',
    apply: ({ options }, { value }) => {
      if (!/^[^/]+\.[^/.]+\/[^/]+$/.test(value)) {
        throw usageError(
          `Received gRPC method name '${value}' that does not match the format: <package>.<service>/<method>.`,
        );
      }
      options.grpcMethod = value;
    },
  },
  {
    name: 'request-parameter',
    value: 'name:value:type',
    help: 'Parameter of every gRPC request; type string, int or bool (repeatable).',
    apply: ({ options }, given) => {
      const [name = '', value = '', type, ...rest] = given.value.split(':');
      if (type === undefined || rest.length > 0) {
        throw usageError('Failed to parse --request-parameter. The value does not match <name:value:type>.');
      }
      options.requestParameters.push({ name, value, type: type.toLowerCase() });
    },
  },
  {
    name: 'trace-level',
    value: 'OFF|TIMESTAMPS|TENSORS',
    help: "Sets the server's global trace level.",
    apply: ({ options }, given) => {
      const choices = "The available options are 'OFF', 'TIMESTAMPS', or 'TENSORS'.";
      options.trace.set('trace_level', oneOf(given, ['OFF', 'TIMESTAMPS', 'TENSORS'], choices));
    },
  },
  {
    name: 'trace-rate',
    value: 'rate',
    help: "Sets the server's global trace rate.",
    apply: ({ options }, { value }) => {
      options.trace.set('trace_rate', value);
    },
  },
  {
    name: 'trace-count',
    value: 'count',
    help: "Sets the server's global trace count; -1 = no limit.",
    apply: ({ options }, given) => {
      const text = 'Failed to parse --trace-count. The value must be >= 0 or set to -1 (default).';
      options.trace.set('trace_count', String(integer(given, -1, text)));
    },
  },
  {
    name: 'log-frequency',
    value: 'count',
    help: 'Sets how many traces the server collects before it writes a file.',
    apply: ({ options }, given) => {
      const text = 'Failed to parse --log-frequency. The value must be >= 0.';
      options.trace.set('log_frequency', String(integer(given, 0, text)));
    },
  },
  {
    name: 'collect-metrics',
    help: "Poll the server's metrics and report those of its GPUs.",
    apply: ({ options }) => {
      options.collectMetrics = true;
    },
  },
  {
    name: 'metrics-url',
    value: 'URL',
    help: 'Where the metrics are. Default: port 8002 of the host of -u, path /metrics.',
    apply: ({ options }, { value }) => {
      options.metricsUrl = value;
      options.metricsUrlGiven = true;
    },
  },
  {
    name: 'metrics-interval',
    value: 'msec',
    help: 'Time between two polls. Default 1000.',
    apply: ({ options }, given) => {
      options.metricsInterval = integer(given, 1, 'Failed to parse --metrics-interval. The value must be > 0 msecs.');
      options.metricsIntervalGiven = true;
    },
  },
  {
    name: 'triton-server-directory',
    value: 'path',
    help: 'Where the server is installed (service kind triton_c_api). Default /opt/tritonserver.',
    apply: ({ options }, { value }) => {
      options.tritonServerDirectory = value;
    },
  },
  {
    name: 'model-repository',
    value: 'path',
    help: 'Model repository (service kind triton_c_api).',
    apply: ({ options }, { value }) => {
      options.modelRepository = value;
    },
  },
  {
    name: 'enable-mpi',
    help: 'Several processes in step by MPI: not supported.',
    apply: ({ options }) => {
      options.enableMpi = true;
    },
  },
];
