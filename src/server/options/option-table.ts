/**
 * Every option of `triton serve` in one table: the command line is read, the help text is printed and the tests are
 * written from it. Names, defaults and error texts: spec of model repositories, section 9.
 */
import { isLogFormat, type LogFormat } from '../log/format.js';
import { parseRestrictions } from './parse-restrictions.js';
import { parseTraceConfig, parseTraceLevel } from './parse-trace-config.js';
import {
  BadOption,
  parseBool,
  parseFloating,
  parseGroupedSetting,
  parseInt32,
  parseInt64,
  parsePair,
  parsePort,
} from './parse-value.js';
import type { CompressionLevel, ModelControlMode, OptionsDraft } from './server-options.js';

/** What reading the command line gathers besides the options themselves. */
export interface ParseState {
  readonly draft: OptionsDraft;
  /** Names of the options seen so far. */
  readonly given: Set<string>;
  /** Printed on stderr at once, as plain lines. */
  warn(line: string): void;
  /** Refusals that the original only makes when it builds the server: `setting <what>: <Code> - <message>`. */
  readonly late: string[];
  /** Options that this server understands but does not implement: one line each. */
  readonly unsupported: string[];
}

/** One option. */
export interface OptionSpec {
  readonly name: string;
  readonly group: string;
  /** What stands in the help for the argument; absent for a flag. */
  readonly argument?: string;
  readonly help: string;
  apply(value: string, state: ParseState): void;
}

const INT_MAX = 2147483647;

type Setter<T> = (draft: OptionsDraft, value: T) => void;

/** An option whose value is parsed and put in one place. */
function option<T>(
  group: string,
  name: string,
  argument: string,
  parse: (value: string) => T,
  set: Setter<T>,
  help: string,
): OptionSpec {
  return { group, name, argument, help, apply: (value, state) => set(state.draft, parse(value)) };
}

/** An option that is checked and then has nothing to change in this server; the help says so. */
function checked(
  group: string,
  name: string,
  argument: string,
  parse: (value: string) => unknown,
  help: string,
): OptionSpec {
  return { group, name, argument, help, apply: (value) => void parse(value) };
}

const text = (value: string): string => value;

function oneOf<T extends string>(values: readonly T[], message: string, lower = false): (value: string) => T {
  return (value) => {
    const wanted = (lower ? value.toLowerCase() : value) as T;
    if (!values.includes(wanted)) throw new BadOption(message);
    return wanted;
  };
}

function pattern(value: string): RegExp | undefined {
  if (value === '') return undefined;
  try {
    return new RegExp(value.replace(/^\(\?i\)/, ''), 'i');
  } catch {
    throw new BadOption(`Invalid option value. Got ${value}, expected a regular expression`);
  }
}

function positive(value: string, message: string): number {
  const number = parseInt64(value);
  if (number <= 0) throw new BadOption(message);
  return number;
}

function deprecated(name: string, argument: string, warning: string, apply: OptionSpec['apply']): OptionSpec {
  return {
    group: 'DEPRECATED',
    name,
    argument,
    help: warning.replace(/^Warning: /, ''),
    apply(value, state) {
      state.warn(warning);
      apply(value, state);
    },
  };
}

/** An endpoint of another product that this server does not have: `false` and settings are taken, `true` is refused. */
function absentEndpoint(name: string, group: string): OptionSpec {
  return {
    group,
    name,
    argument: 'boolean',
    help: 'Not available in this server: only false is accepted.',
    apply(value, state) {
      if (parseBool(value)) state.unsupported.push(`--${name}=${value}: this server has no such endpoint`);
    },
  };
}

const LOGGING = 'Logging';
const REPOSITORY = 'Model Repository';
const HTTP = 'HTTP';
const GRPC = 'GRPC';
const METRICS = 'Metrics';
const DEVICES = 'Memory/Device Management';

const SERVER: OptionSpec[] = [
  option('Server', 'id', 'string', text, (d, v) => (d.id = v), 'Name of the server in its metadata. Default triton.'),
  option(
    'Server',
    'exit-timeout-secs',
    'integer',
    parseInt32,
    (d, v) => (d.exitTimeoutSeconds = Math.max(v, 0)),
    'Seconds that a stop waits for requests in flight before it cuts them. Default 30.',
  ),
];

const LOG: OptionSpec[] = [
  option(
    LOGGING,
    'log-verbose',
    'integer',
    (v) => (/^true$/i.test(v) ? 1 : /^false$/i.test(v) ? 0 : parseInt32(v)),
    (d, v) => (d.log.verboseLevel = Math.max(v, 0)),
    'Level of verbose records; 0 (the default) shows none.',
  ),
  option(LOGGING, 'log-info', 'boolean', parseBool, (d, v) => (d.log.info = v), 'Show info records. Default true.'),
  option(LOGGING, 'log-warning', 'boolean', parseBool, (d, v) => (d.log.warning = v), 'Show warnings. Default true.'),
  option(LOGGING, 'log-error', 'boolean', parseBool, (d, v) => (d.log.error = v), 'Show errors. Default true.'),
  option(
    LOGGING,
    'log-format',
    'string',
    (v): LogFormat => {
      if (!isLogFormat(v)) throw new BadOption('invalid argument for --log-format');
      return v;
    },
    (d, v) => (d.log.format = v),
    'default or ISO8601.',
  ),
  option(
    LOGGING,
    'log-file',
    'string',
    text,
    (d, v) => (d.log.file = v),
    'Append the log to this file instead of writing it to stdout (info) and stderr (warnings, errors).',
  ),
];

const addRepository: Setter<string> = (d, v) => d.repositories.push(v);

const MODELS: OptionSpec[] = [
  option(REPOSITORY, 'model-store', 'string', text, addRepository, 'The same as --model-repository.'),
  option(
    REPOSITORY,
    'model-repository',
    'string',
    text,
    addRepository,
    'A folder of models, each a folder of its own. May be given several times.',
  ),
  option(
    REPOSITORY,
    'exit-on-error',
    'boolean',
    parseBool,
    (d, v) => (d.exitOnError = v),
    'Exit when a model cannot be loaded at start-up. Default true.',
  ),
  {
    group: REPOSITORY,
    name: 'disable-auto-complete-config',
    help: 'Take configurations as they stand, without completing them from the model files.',
    apply(_value, state) {
      state.draft.autoComplete = false;
    },
  },
  option(
    REPOSITORY,
    'strict-readiness',
    'boolean',
    parseBool,
    (d, v) => (d.strictReadiness = v),
    'Report ready only when every model is ready. Default true.',
  ),
  option(
    REPOSITORY,
    'model-control-mode',
    'string',
    oneOf<ModelControlMode>(['none', 'poll', 'explicit'], 'invalid argument for --model-control-mode', true),
    (d, v) => (d.modelControlMode = v),
    'none: load everything once. poll: follow changes of the repositories. explicit: load and unload on request. Default none.',
  ),
  option(
    REPOSITORY,
    'repository-poll-secs',
    'integer',
    parseInt32,
    (d, v) => (d.repositoryPollSeconds = v),
    'Seconds between looks at the repositories in mode poll. Default 15.',
  ),
  option(
    REPOSITORY,
    'load-model',
    'string',
    text,
    (d, v) => d.loadModels.push(v),
    'Load this model at start-up in mode explicit; * loads all. May be given several times.',
  ),
  option(
    REPOSITORY,
    'model-config-name',
    'string',
    (v) => {
      if (v === '') throw new BadOption('Error: empty argument for --model-config-name');
      return v;
    },
    (d, v) => (d.modelConfigName = v),
    'Prefer configs/NAME.pbtxt of a model over its config.pbtxt.',
  ),
  option(
    REPOSITORY,
    'model-load-thread-count',
    'integer',
    parseInt32,
    (d, v) => (d.modelLoadThreadCount = Math.max(v, 1)),
    'Models that are loaded at the same time. Default 4.',
  ),
  option(
    REPOSITORY,
    'model-load-retry-count',
    'integer',
    parseInt32,
    (d, v) => (d.modelLoadRetryCount = Math.max(v, 0)),
    'Further attempts when a model fails to load. Default 0.',
  ),
  {
    group: REPOSITORY,
    name: 'model-namespacing',
    argument: 'boolean',
    help: 'Models of the same name in several repositories. Not available in this server: only false is accepted.',
    apply(value, state) {
      if (parseBool(value)) state.unsupported.push(`--model-namespacing=${value}: this server has no model namespaces`);
    },
  },
  checked(
    REPOSITORY,
    'enable-peer-access',
    'boolean',
    parseBool,
    'Access between GPUs. Accepted; the runtime decides by itself.',
  ),
];

const HTTP_OPTIONS: OptionSpec[] = [
  option(HTTP, 'allow-http', 'boolean', parseBool, (d, v) => (d.http.enabled = v), 'Serve HTTP. Default true.'),
  option(
    HTTP,
    'http-address',
    'string',
    text,
    (d, v) => (d.http.address = v),
    'Address to listen on. Default 0.0.0.0.',
  ),
  option(
    HTTP,
    'http-port',
    'integer',
    parsePort,
    (d, v) => (d.http.port = v),
    'Port; 0 = any free port. Default 8000.',
  ),
  option(
    HTTP,
    'reuse-http-port',
    'boolean',
    parseBool,
    (d, v) => (d.http.reusePort = v),
    'Let several servers share the port (needs Node 23.1 or newer). Default false.',
  ),
  option(
    HTTP,
    'http-header-forward-pattern',
    'string',
    pattern,
    (d, v) => (d.http.headerForward = v),
    'Headers whose name this regular expression finds become request parameters.',
  ),
  checked(HTTP, 'http-thread-count', 'integer', parseInt32, 'Accepted; one event loop serves all connections.'),
  option(
    HTTP,
    'http-max-input-size',
    'integer',
    (v) => positive(v, 'Error: --http-max-input-size must be greater than 0.'),
    (d, v) => (d.http.maxInputSize = v),
    'Largest JSON part, JSON tensor, raw or decompressed body in bytes. Default 67108864.',
  ),
  {
    group: HTTP,
    name: 'http-restricted-api',
    argument: '<string>:<string>=<string>',
    help: 'APIs,...:KEY=VALUE: these groups of calls need the header KEY with VALUE. May be given several times.',
    apply(value, { draft }) {
      draft.http.restrictions = parseRestrictions(value, 'api', '--http-restricted-api', draft.http.restrictions);
    },
  },
];

const milliseconds = (name: string, set: Setter<number>, help: string): OptionSpec =>
  option(GRPC, name, 'integer', parseInt32, set, help);

/** The TLS paths are gathered one by one; resolve-options drops them when TLS is off. */
function tls(draft: OptionsDraft): { certificate: string; key: string; rootCertificates: string; mutual: boolean } {
  return { ...(draft.grpc.tls ?? { certificate: '', key: '', rootCertificates: '', mutual: false }) };
}

const GRPC_OPTIONS: OptionSpec[] = [
  option(GRPC, 'allow-grpc', 'boolean', parseBool, (d, v) => (d.grpc.enabled = v), 'Serve gRPC. Default true.'),
  option(
    GRPC,
    'grpc-address',
    'string',
    text,
    (d, v) => (d.grpc.address = v),
    'Address to listen on. Default 0.0.0.0.',
  ),
  option(
    GRPC,
    'grpc-port',
    'integer',
    parsePort,
    (d, v) => (d.grpc.port = v),
    'Port; 0 = any free port. Default 8001.',
  ),
  option(
    GRPC,
    'reuse-grpc-port',
    'boolean',
    parseBool,
    (d, v) => (d.grpc.reusePort = v),
    'Let several servers share the port (needs Node 23.1 or newer). Default false.',
  ),
  option(
    GRPC,
    'grpc-header-forward-pattern',
    'string',
    pattern,
    (d, v) => (d.grpc.headerForward = v),
    'Call metadata whose key this regular expression finds become request parameters.',
  ),
  checked(
    GRPC,
    'grpc-infer-thread-count',
    'integer',
    (v) => {
      const count = parseInt32(v);
      if (count < 2 || count > 128) {
        throw new BadOption('invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.');
      }
    },
    'Accepted; one event loop serves all connections.',
  ),
  checked(GRPC, 'grpc-infer-allocation-pool-size', 'integer', parseInt32, 'Accepted; there is no such pool here.'),
  checked(
    GRPC,
    'grpc-max-response-pool-size',
    'integer',
    (v) => positive(v, 'Error: --grpc-max-response-pool-size must be greater than 0.'),
    'Accepted; streams wait for their peer by themselves.',
  ),
  {
    group: GRPC,
    name: 'grpc-use-ssl',
    argument: 'boolean',
    help: 'Use TLS. Default false.',
    apply(value, { draft, given }) {
      draft.grpc.tls = tls(draft);
      if (!parseBool(value) && !given.has('grpc-use-ssl-mutual')) given.delete('grpc-use-ssl');
    },
  },
  {
    group: GRPC,
    name: 'grpc-use-ssl-mutual',
    argument: 'boolean',
    help: 'Use TLS and check the certificates of clients. Default false.',
    apply(value, { draft }) {
      draft.grpc.tls = { ...tls(draft), mutual: parseBool(value) };
    },
  },
  option(
    GRPC,
    'grpc-server-cert',
    'string',
    text,
    (d, v) => (d.grpc.tls = { ...tls(d), certificate: v }),
    'PEM file of the certificate chain.',
  ),
  option(
    GRPC,
    'grpc-server-key',
    'string',
    text,
    (d, v) => (d.grpc.tls = { ...tls(d), key: v }),
    'PEM file of the private key.',
  ),
  option(
    GRPC,
    'grpc-root-cert',
    'string',
    text,
    (d, v) => (d.grpc.tls = { ...tls(d), rootCertificates: v }),
    'PEM file of the certificates that client certificates are checked against.',
  ),
  option(
    GRPC,
    'grpc-infer-response-compression-level',
    'string',
    oneOf<CompressionLevel>(
      ['none', 'low', 'medium', 'high'],
      'invalid argument for --grpc_infer_response_compression_level',
    ),
    (d, v) => (d.grpc.responseCompression = v),
    'Compression of inference responses: none, low, medium or high. Default none.',
  ),
  milliseconds(
    'grpc-keepalive-time',
    (d, v) => (d.grpc.keepaliveTimeMs = v),
    'Milliseconds of silence before a ping is sent. Default 7200000.',
  ),
  milliseconds(
    'grpc-keepalive-timeout',
    (d, v) => (d.grpc.keepaliveTimeoutMs = v),
    'Milliseconds that the answer to a ping may take. Default 20000.',
  ),
  option(
    GRPC,
    'grpc-keepalive-permit-without-calls',
    'boolean',
    parseBool,
    (d, v) => (d.grpc.keepalivePermitWithoutCalls = v),
    'Send pings also when no call is open. Default false.',
  ),
  milliseconds(
    'grpc-http2-max-pings-without-data',
    (d, v) => (d.grpc.maxPingsWithoutData = v),
    'Pings that may be sent without data between them. Default 2.',
  ),
  milliseconds(
    'grpc-http2-min-recv-ping-interval-without-data',
    (d, v) => (d.grpc.minRecvPingIntervalWithoutDataMs = v),
    'Shortest time between pings of a client without data, in milliseconds. Default 300000.',
  ),
  milliseconds(
    'grpc-http2-max-ping-strikes',
    (d, v) => (d.grpc.maxPingStrikes = v),
    'Pings too early that close a connection. Default 2.',
  ),
  milliseconds(
    'grpc-max-connection-age',
    (d, v) => (d.grpc.maxConnectionAgeMs = v),
    'Milliseconds after which a connection is closed in good order. Default: never.',
  ),
  milliseconds(
    'grpc-max-connection-age-grace',
    (d, v) => (d.grpc.maxConnectionAgeGraceMs = v),
    'Milliseconds that its open calls then still have. Default: no limit.',
  ),
  {
    group: GRPC,
    name: 'grpc-restricted-protocol',
    argument: '<string>:<string>=<string>',
    help: 'PROTOCOLS,...:KEY=VALUE: these groups of calls need the metadata triton-grpc-protocol-KEY with VALUE.',
    apply(value, { draft }) {
      draft.grpc.restrictions = parseRestrictions(
        value,
        'protocol',
        '--grpc-restricted-protocol',
        draft.grpc.restrictions,
      );
    },
  },
];

const OTHER_ENDPOINTS: OptionSpec[] = [
  absentEndpoint('allow-sagemaker', 'Sagemaker'),
  checked('Sagemaker', 'sagemaker-port', 'integer', parsePort, 'Accepted without effect.'),
  checked(
    'Sagemaker',
    'sagemaker-safe-port-range',
    '<integer>-<integer>',
    (v) => parsePair(v, '-').map(parseInt32),
    'The other endpoints must have ports in this range.',
  ),
  checked('Sagemaker', 'sagemaker-thread-count', 'integer', parseInt32, 'Accepted without effect.'),
  absentEndpoint('allow-vertex-ai', 'Vertex'),
  checked('Vertex', 'vertex-ai-port', 'integer', parsePort, 'Accepted without effect.'),
  checked('Vertex', 'vertex-ai-thread-count', 'integer', parseInt32, 'Accepted without effect.'),
  checked('Vertex', 'vertex-ai-default-model', 'string', text, 'Accepted without effect.'),
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
  checked(METRICS, 'allow-gpu-metrics', 'boolean', parseBool, 'Accepted; there are no GPU gauges yet.'),
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
    parsePort,
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
    help: 'SETTING=VALUE with the setting counter_latencies (true or false). May be given several times.',
    apply: applyMetricsConfig,
  },
];

function applyMetricsConfig(value: string, { draft, unsupported }: ParseState): void {
  const at = value.indexOf('=');
  const comma = value.indexOf(',');
  if (at <= 0 || at === value.length - 1 || (comma >= 0 && comma < at)) {
    throw new BadOption(`--metrics-config option format is <setting>=<value>. Got ${value}`);
  }
  const [setting, wanted] = [value.slice(0, at), value.slice(at + 1)];
  if (setting === 'counter_latencies') {
    if (wanted === 'true' || wanted === 'false') draft.metrics.counterLatencies = wanted === 'true';
  } else if (/^(histogram|summary)_latencies$/.test(setting) && wanted === 'true') {
    unsupported.push(`--metrics-config=${value}: this server has no histograms and summaries of latencies yet`);
  }
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

const BACKENDS: OptionSpec[] = [
  option(
    'Backend',
    'backend-directory',
    'string',
    text,
    (d, v) => (d.backendDirectory = v),
    'Accepted and shown to backends; backends are part of this program.',
  ),
  {
    group: 'Backend',
    name: 'backend-config',
    argument: '<string>,<string>=<string>',
    help: '[BACKEND,]SETTING=VALUE: a setting of one backend or of all. May be given several times.',
    apply(value, { draft }) {
      const [backend, key, wanted] = parseGroupedSetting(value, {
        noGroup:
          'No backend specified. --backend-config option format is <backend name>,<setting>=<value> or ' +
          '<setting>=<value>. Got ',
        format: "--backend-config option format is '<backend name>,<setting>=<value>'. Got ",
        groupRequired: false,
      });
      draft.backendConfig.push({ backend, key, value: wanted });
    },
  },
  option(
    'Repository Agent',
    'repoagent-directory',
    'string',
    text,
    (d, v) => (d.repoagentDirectory = v),
    'Accepted; there are no repository agents in this program.',
  ),
  {
    group: 'Response Cache',
    name: 'cache-config',
    argument: '<string>,<string>=<string>',
    help: 'CACHE,SETTING=VALUE. This server has no response cache yet and refuses it.',
    apply(value, { draft }) {
      const [cache, key, wanted] = parseGroupedSetting(value, {
        noGroup: 'No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got ',
        format: "--cache-config option format is '<cache name>,<setting>=<value>'. Got ",
        groupRequired: true,
      });
      draft.cacheConfig = [...draft.cacheConfig, { cache, key, value: wanted }];
    },
  },
  option(
    'Response Cache',
    'cache-directory',
    'string',
    text,
    (d, v) => (d.cacheDirectory = v),
    'Named in messages about caches.',
  ),
];

const RATE_FORMAT =
  "--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got ";

const RATE_LIMIT: OptionSpec[] = [
  option(
    'Rate Limiter',
    'rate-limit',
    'string',
    oneOf(['execution_count', 'off'], 'invalid argument for --rate-limit', true),
    (d, v) => (d.rateLimit = v === 'execution_count'),
    'execution_count or off. Executions are limited by the number of instances only: a warning says so. Default off.',
  ),
  {
    group: 'Rate Limiter',
    name: 'rate-limit-resource',
    argument: '<string>:<integer>:<integer>',
    help: 'NAME:COUNT[:DEVICE]: a resource of the rate limiter. May be given several times.',
    apply(value, { draft }) {
      const [name = '', count, device, more] = value.split(':');
      if (count === undefined || more !== undefined) throw new BadOption(RATE_FORMAT + value);
      const resource = { name, count: parseInt32(count), device: device === undefined ? -1 : parseInt32(device) };
      draft.rateLimitResources = [...draft.rateLimitResources, resource];
    },
  },
];

const HOST_FORMAT = "--host-policy option format is '<policy name>,<setting>=<value>'. Got ";

const MEMORY: OptionSpec[] = [
  option(
    DEVICES,
    'pinned-memory-pool-byte-size',
    'integer',
    parseInt64,
    (d, v) => (d.pinnedMemoryPoolBytes = v),
    'Accepted and shown in the start-up table; there is no such pool here. Default 268435456.',
  ),
  checked(
    DEVICES,
    'cuda-memory-pool-byte-size',
    '<integer>:<integer>',
    (v) => parsePair(v, ':').map(parseInt64),
    'Accepted; the runtime manages GPU memory.',
  ),
  checked(
    DEVICES,
    'cuda-virtual-address-size',
    '<integer>:<integer>',
    (v) => parsePair(v, ':').map(parseInt64),
    'Accepted; the runtime manages GPU memory.',
  ),
  option(
    DEVICES,
    'min-supported-compute-capability',
    'float',
    parseFloating,
    (d, v) => (d.minComputeCapability = v),
    'Accepted and shown in the start-up table; the runtime checks the GPU. Default 6.0.',
  ),
  checked(DEVICES, 'buffer-manager-thread-count', 'integer', parseInt32, 'Accepted; there is no buffer manager here.'),
  {
    group: DEVICES,
    name: 'host-policy',
    argument: '<string>,<string>=<string>',
    help: 'POLICY,SETTING=VALUE with numa-node or cpu-cores. Accepted; threads are placed by the system.',
    apply(value, state) {
      const [, setting] = parseGroupedSetting(value, {
        noGroup: HOST_FORMAT,
        format: HOST_FORMAT,
        groupRequired: true,
      });
      if (setting !== 'numa-node' && setting !== 'cpu-cores') {
        state.late.push(
          `setting host policy: Unsupported - Unsupported host policy setting '${setting}' is specified, supported ` +
            "settings are 'numa-node', 'cpu-cores'",
        );
      }
    },
  },
  {
    group: DEVICES,
    name: 'model-load-gpu-limit',
    argument: '<device_id>:<fraction>',
    help: 'Accepted; the runtime manages GPU memory.',
    apply(value, state) {
      const [first, second] = parsePair(value, ':');
      const [device, fraction] = [parseInt32(first), parseFloating(second)];
      const what = 'setting model load GPU limit: Invalid argument -';
      if (device < 0) state.late.push(`${what} expects device ID >= 0, got ${device}`);
      else if (!(fraction >= 0 && fraction <= 1)) {
        state.late.push(`${what} expects limit fraction to be in range [0.0, 1.0], got ${fraction.toFixed(6)}`);
      }
    },
  },
];

const SHARED_MEMORY: OptionSpec[] = [
  option(
    'Shared Memory',
    'allow-client-shm',
    'boolean',
    parseBool,
    (d, v) => (d.allowClientSharedMemory = v),
    'Let clients register shared memory. Default false.',
  ),
];

const traceWarning = (name: string, instead: string): string =>
  `Warning: '--${name}' has been deprecated and will be removed in future releases. Please use '--trace-config ${instead} instead.`;

const DEPRECATED: OptionSpec[] = [
  deprecated(
    'strict-model-config',
    'boolean',
    "Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.",
    (value, { draft, given }) => {
      const strict = parseBool(value);
      if (!given.has('disable-auto-complete-config')) draft.autoComplete = !strict;
      if (strict) given.delete('strict-model-config');
    },
  ),
  {
    group: 'DEPRECATED',
    name: 'response-cache-byte-size',
    argument: 'integer',
    help: 'Use --cache-config.',
    apply(value, state) {
      const size = parseInt32(value);
      state.warn(
        "Warning: '--response-cache-byte-size' has been deprecated! This will default to the 'local' cache " +
          "implementation with the provided byte size for its config. Please use '--cache-config' instead. The " +
          `equivalent --cache-config CLI args would be: '--cache-config=local,size=${size}'`,
      );
      if (size > 0) {
        state.draft.cacheConfig = [...state.draft.cacheConfig, { cache: 'local', key: 'size', value: String(size) }];
      }
    },
  },
  deprecated('trace-file', 'string', traceWarning('trace-file', 'triton,file=<path/to/your/trace/file>'), (v, s) => {
    s.draft.trace.file = v;
  }),
  deprecated('trace-level', 'string', traceWarning('trace-level', 'level=<OFF|TIMESTAMPS|TENSORS>'), (v, { draft }) => {
    parseTraceLevel(draft.trace, v, 'trace-level');
  }),
  deprecated('trace-rate', 'integer', traceWarning('trace-rate', 'rate=<rate value>'), (v, { draft }) => {
    draft.trace.rate = parseInt32(v);
  }),
  deprecated('trace-count', 'integer', traceWarning('trace-count', 'count=<count value>'), (v, { draft }) => {
    draft.trace.count = parseInt32(v);
  }),
  deprecated(
    'trace-log-frequency',
    'integer',
    traceWarning('trace-log-frequency', 'triton,log-frequency=<log frequency value>'),
    (v, { draft }) => {
      draft.trace.logFrequency = parseInt32(v);
    },
  ),
];

/** Every option, in the order of the help text. */
export const OPTION_TABLE: readonly OptionSpec[] = [
  { group: 'Global', name: 'help', help: 'Print this text.', apply() {} },
  ...SERVER,
  ...LOG,
  ...MODELS,
  ...HTTP_OPTIONS,
  ...GRPC_OPTIONS,
  ...OTHER_ENDPOINTS,
  ...METRICS_OPTIONS,
  ...TRACING,
  ...BACKENDS,
  ...RATE_LIMIT,
  ...MEMORY,
  ...SHARED_MEMORY,
  ...DEPRECATED,
];

/** Largest message that gRPC takes and sends, in bytes. */
export const GRPC_MAX_MESSAGE_BYTES = INT_MAX;
