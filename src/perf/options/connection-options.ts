import { text } from '../../base/options/parse-value.js';
import { usageError } from '../error/perf-error.js';
import { atLeast, flag, option, type PerfOption, word } from './perf-option.js';

/** What kind of server is measured. */
export type ServiceKind = 'triton' | 'tfserving' | 'torchserve' | 'triton_c_api' | 'openai' | 'dynamic_grpc';

/** Which model on which server is measured, and how the server is reached. */
export interface ConnectionOptions {
  readonly modelName: string;
  /** '' = the server's choice. */
  readonly modelVersion: string;
  readonly serviceKind: ServiceKind;
  readonly endpoint: string;
  readonly modelSignatureName: string;
  /** Names and versions ('' = unspecified) of the models that the measured one calls by itself. */
  readonly composingModels: readonly { readonly name: string; readonly version: string }[];
  readonly url: string;
  readonly urlGiven: boolean;
  /** Anything but these two is refused by the checks. */
  readonly protocol: 'http' | 'grpc' | 'unknown';
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly grpcCompression: 'none' | 'gzip' | 'deflate';
  readonly grpcCompressionGiven: boolean;
  readonly grpcMethod: string;
  readonly collectMetrics: boolean;
  readonly metricsUrl: string;
  readonly metricsUrlGiven: boolean;
  /** Milliseconds. */
  readonly metricsInterval: number;
  readonly metricsIntervalGiven: boolean;
  /** Settings of the server's trace that were given, by their names on the wire. */
  readonly trace: ReadonlyMap<string, string>;
  readonly tritonServerDirectory: string;
  readonly modelRepository: string;
  readonly enableMpi: boolean;
}

/** The values that hold when an option is not given. */
export const CONNECTION_DEFAULTS: ConnectionOptions = {
  modelName: '',
  modelVersion: '',
  serviceKind: 'triton',
  endpoint: '',
  modelSignatureName: 'serving_default',
  composingModels: [],
  url: '',
  urlGiven: false,
  protocol: 'http',
  headers: [],
  grpcCompression: 'none',
  grpcCompressionGiven: false,
  grpcMethod: '',
  collectMetrics: false,
  metricsUrl: '',
  metricsUrlGiven: false,
  metricsInterval: 1000,
  metricsIntervalGiven: false,
  trace: new Map(),
  tritonServerDirectory: '/opt/tritonserver',
  modelRepository: '',
  enableMpi: false,
};

const MODEL: readonly PerfOption[] = [
  option({
    name: '',
    short: 'm',
    group: 'Model',
    argument: 'model',
    help: 'Model that is measured. Required.',
    parse: text,
    into: ['connection', 'modelName'],
  }),
  option({
    name: '',
    short: 'x',
    group: 'Model',
    argument: 'version',
    help: 'Version of the model.',
    default: 'the latest',
    parse: text,
    into: ['connection', 'modelVersion'],
  }),
  option({
    name: 'bls-composing-models',
    group: 'Model',
    argument: 'a[:version],b,...',
    help: 'Models that the measured one calls by itself: the report shows them too.',
    parse: text,
    set({ options: { connection } }, list) {
      const added = list
        .replaceAll(' ', '')
        .split(',')
        .map((part) => {
          const colon = part.indexOf(':');
          return colon < 0
            ? { name: part, version: '' }
            : { name: part.slice(0, colon), version: part.slice(colon + 1) };
        });
      connection.composingModels = [...connection.composingModels, ...added];
    },
  }),
  option({
    name: 'model-signature-name',
    group: 'Model',
    argument: 'name',
    help: 'Signature of a TensorFlow model (service kind tfserving).',
    parse: text,
    into: ['connection', 'modelSignatureName'],
  }),
];

const group = 'Server';

const SERVER: readonly PerfOption[] = [
  option({
    name: '',
    short: 'u',
    group,
    argument: 'URL',
    help: 'Where the server is.',
    default: 'localhost:8000 for HTTP, localhost:8001 for gRPC',
    parse: text,
    set({ options: { connection } }, url) {
      connection.url = url;
      connection.urlGiven = true;
    },
  }),
  option({
    name: '',
    short: 'i',
    group,
    argument: 'http|grpc',
    help: 'Protocol.',
    parse(value: string): ConnectionOptions['protocol'] {
      const protocol = value.toLowerCase();
      return protocol === 'http' || protocol === 'grpc' ? protocol : 'unknown';
    },
    into: ['connection', 'protocol'],
  }),
  option({
    name: '',
    short: 'H',
    group,
    argument: 'Name:Value',
    help: 'Header of every request (may be given several times).',
    repeatable: true,
    parse: text,
    set({ options: { connection } }, header) {
      const colon = header.indexOf(':');
      if (colon < 0) throw usageError(`Failed to parse -H. There must be a colon after the header name: '${header}'`);
      connection.headers = [...connection.headers, [header.slice(0, colon), header.slice(colon + 1)]];
    },
  }),
  option({
    name: 'grpc-compression-algorithm',
    group,
    argument: '"gzip"|"deflate"|"none"',
    help: 'Compression of gRPC requests.',
    default: 'none',
    parse: word<ConnectionOptions['grpcCompression']>(
      ['none', 'gzip', 'deflate'],
      "The available options are 'gzip', 'deflate', or 'none'.",
    ),
    set({ options: { connection } }, algorithm) {
      connection.grpcCompression = algorithm;
      connection.grpcCompressionGiven = true;
    },
  }),
  option({
    name: 'service-kind',
    group,
    argument: '"triton"|"openai"|"tfserving"|"torchserve"|"triton_c_api"|"dynamic_grpc"',
    help: 'Kind of the server.',
    parse: word<ServiceKind>(
      ['triton', 'tfserving', 'torchserve', 'triton_c_api', 'openai', 'dynamic_grpc'],
      "The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.",
    ),
    into: ['connection', 'serviceKind'],
  }),
  option({
    name: 'endpoint',
    group,
    argument: 'path',
    help: 'Path on an OpenAI server, e.g. v1/chat/completions.',
    parse: text,
    into: ['connection', 'endpoint'],
  }),
  option({
    name: 'grpc-method',
    group,
    argument: 'package.Service/Method',
    help: 'Method that is called (service kind dynamic_grpc).',
    parse(method: string) {
      if (/^[^/]+\.[^/.]+\/[^/]+$/.test(method)) return method;
      throw usageError(
        `Received gRPC method name '${method}' that does not match the format: <package>.<service>/<method>.`,
      );
    },
    into: ['connection', 'grpcMethod'],
  }),
  option({
    name: 'triton-server-directory',
    group,
    argument: 'path',
    help: 'Where the server is installed (service kind triton_c_api).',
    parse: text,
    into: ['connection', 'tritonServerDirectory'],
  }),
  option({
    name: 'model-repository',
    group,
    argument: 'path',
    help: 'Model repository (service kind triton_c_api).',
    parse: text,
    into: ['connection', 'modelRepository'],
  }),
  flag({
    name: 'enable-mpi',
    group,
    help: 'Several processes in step by MPI: not supported.',
    into: ['connection', 'enableMpi'],
  }),
];

/** A setting of the server's trace; `wire` is its name there. */
function traceOption(
  name: string,
  wire: string,
  form: Pick<PerfOption, 'help'> & { readonly argument: string; parse(value: string, given: never): unknown },
): PerfOption {
  return option({
    ...form,
    name,
    group: "Server's traces and metrics",
    parse: form.parse as (value: string) => unknown,
    set({ options: { connection } }, value) {
      connection.trace = new Map([...connection.trace, [wire, String(value)]]);
    },
  });
}

const OBSERVED: readonly PerfOption[] = [
  traceOption('trace-level', 'trace_level', {
    argument: 'OFF|TIMESTAMPS|TENSORS',
    help: "Sets the server's global trace level.",
    parse: word(['OFF', 'TIMESTAMPS', 'TENSORS'], "The available options are 'OFF', 'TIMESTAMPS', or 'TENSORS'."),
  }),
  traceOption('trace-rate', 'trace_rate', {
    argument: 'rate',
    help: "Sets the server's global trace rate.",
    parse: text,
  }),
  traceOption('trace-count', 'trace_count', {
    argument: 'count',
    help: "Sets the server's global trace count; -1 = no limit.",
    parse: atLeast(-1, 'Failed to parse --trace-count. The value must be >= 0 or set to -1 (default).'),
  }),
  traceOption('log-frequency', 'log_frequency', {
    argument: 'count',
    help: 'Sets how many traces the server collects before it writes a file.',
    parse: atLeast(0, 'Failed to parse --log-frequency. The value must be >= 0.'),
  }),
  flag({
    name: 'collect-metrics',
    group: "Server's traces and metrics",
    help: "Poll the server's metrics and report those of its GPUs.",
    into: ['connection', 'collectMetrics'],
  }),
  option({
    name: 'metrics-url',
    group: "Server's traces and metrics",
    argument: 'URL',
    help: 'Where the metrics are.',
    default: 'port 8002 of the host of -u, path /metrics',
    parse: text,
    set({ options: { connection } }, url) {
      connection.metricsUrl = url;
      connection.metricsUrlGiven = true;
    },
  }),
  option({
    name: 'metrics-interval',
    group: "Server's traces and metrics",
    argument: 'msec',
    help: 'Time between two polls.',
    default: '1000',
    parse: atLeast(1, 'Failed to parse --metrics-interval. The value must be > 0 msecs.'),
    set({ options: { connection } }, interval) {
      connection.metricsInterval = interval;
      connection.metricsIntervalGiven = true;
    },
  }),
];

/** The options of the model and of the server, those that are shown first, and those of traces and metrics. */
export const CONNECTION_OPTIONS = { model: MODEL, server: SERVER, observed: OBSERVED } as const;
