import os from 'node:os';
import { PROTOCOL_VERSION } from '../../base/package.js';
import type { LogSettings } from '../log/server-log.js';

/** How the set of served models changes while the server runs. */
export type ModelControlMode = 'none' | 'explicit' | 'poll';

/** Names of API groups that can be restricted (spec: wire protocol, section 1.6). */
export const RESTRICTED_CATEGORIES = [
  'health',
  'metadata',
  'inference',
  'shared-memory',
  'model-config',
  'model-repository',
  'statistics',
  'trace',
  'logging',
] as const;

/** One group of APIs. */
export type RestrictedCategory = (typeof RESTRICTED_CATEGORIES)[number];

/** Header name and value that a caller must send, by group; a group that is absent is open. */
export type Restrictions = ReadonlyMap<RestrictedCategory, { readonly key: string; readonly value: string }>;

/** One listening address. */
export interface EndpointOptions {
  readonly enabled: boolean;
  readonly address: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** Options of the HTTP front end. */
export interface HttpOptions extends EndpointOptions {
  readonly reusePort: boolean;
  /** Request headers whose names match become request parameters; undefined = none. */
  readonly headerForward: RegExp | undefined;
  /** Bytes; limits the JSON part, JSON tensors, raw bodies and decompressed bodies. */
  readonly maxInputSize: number;
  /** Seconds without progress after which a client is cut that does not send its request, or read its response; 0 = never. */
  readonly clientTimeoutSeconds: number;
  /** Whether a client that has closed its sending side while it waits still gets its response. */
  readonly halfClose: boolean;
  readonly tls: ServerTlsOptions | undefined;
  readonly restrictions: Restrictions;
  /** Origins whose web pages may call; `*` = all. Empty: no answer says anything about origins. */
  readonly corsOrigins: readonly string[];
}

/** Level of the compression of inference responses. */
export type CompressionLevel = 'none' | 'low' | 'medium' | 'high';

/** Options of the gRPC front end. Times in milliseconds; 0 = unset for the connection ages. */
export interface GrpcOptions extends EndpointOptions {
  readonly reusePort: boolean;
  readonly headerForward: RegExp | undefined;
  readonly restrictions: Restrictions;
  readonly responseCompression: CompressionLevel;
  /** Serve grpc.reflection, so that tools can list the calls. */
  readonly reflection: boolean;
  readonly tls: ServerTlsOptions | undefined;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly keepalivePermitWithoutCalls: boolean;
  readonly maxPingsWithoutData: number;
  readonly minRecvPingIntervalWithoutDataMs: number;
  readonly maxPingStrikes: number;
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
  /** Bytes of a message that came compressed, after decompression. */
  readonly maxInflatedSize: number;
  /** Bytes of responses that may wait for one connection's windows. */
  readonly connectionMaxBacklog: number;
  /** 0 = no limit. */
  readonly readTimeoutMs: number;
  readonly writeTimeoutMs: number;
}

/** TLS of a front end: paths of PEM files. */
export interface ServerTlsOptions {
  readonly certificate: string;
  readonly key: string;
  readonly rootCertificates: string;
  /** Client certificates are asked for and checked. */
  readonly mutual: boolean;
}

/** Options of the metrics endpoint. */
export interface MetricsOptions extends EndpointOptions {
  readonly cpu: boolean;
  /** Gauges are renewed every half interval. */
  readonly intervalMs: number;
  /** False: no latency counters, and the counters that exist stay at 0, as in the original. */
  readonly counterLatencies: boolean;
  /** Histograms of the time to the first response. */
  readonly histogramLatencies: boolean;
  /** Summaries of latencies, with the quantiles below. */
  readonly summaryLatencies: boolean;
  readonly summaryQuantiles: readonly number[];
  /** What was wrong with the quantiles given. */
  readonly quantileFaults: readonly string[];
}

/** Start values of the trace settings. */
export interface TraceOptions {
  readonly mode: 'triton' | 'opentelemetry';
  readonly level: readonly ('TIMESTAMPS' | 'TENSORS')[];
  readonly rate: number;
  readonly count: number;
  readonly logFrequency: number;
  readonly file: string;
  /** Other settings by mode, as given; a name may come more than once. */
  readonly others: Readonly<Record<'triton' | 'opentelemetry', readonly (readonly [name: string, value: string])[]>>;
}

/** A `--rate-limit-resource`: `device` -1 = every device. */
export interface RateLimitResource {
  readonly name: string;
  readonly count: number;
  readonly device: number;
}

/** Everything that `triton serve` can be told, complete and read-only. */
export interface ServerOptions {
  readonly id: string;
  /** Release that the metadata name; clients may look at it. */
  readonly version: string;
  /** One line per option that was given and changes nothing here. */
  readonly notes: readonly string[];
  readonly exitTimeoutSeconds: number;
  /** Bytes of responses that may wait for a client that reads its stream slowly; 0 = no limit. */
  readonly streamMaxBacklog: number;
  /** Bytes of requests that all clients together may make the server hold; 0 = no limit. */
  readonly requestMemoryLimit: number;
  /** Bytes of responses that may wait for all clients together; 0 = no limit. */
  readonly responseMemoryLimit: number;
  readonly log: Readonly<LogSettings>;
  readonly repositories: readonly string[];
  readonly exitOnError: boolean;
  /** False with --disable-auto-complete-config. */
  readonly autoComplete: boolean;
  readonly strictReadiness: boolean;
  readonly modelControlMode: ModelControlMode;
  readonly repositoryPollSeconds: number;
  readonly loadModels: readonly string[];
  readonly modelConfigName: string;
  readonly modelNamespacing: boolean;
  readonly modelLoadThreadCount: number;
  readonly modelLoadRetryCount: number;
  /** Seconds that completing a configuration may take; 0 = any time. */
  readonly modelCompletionSeconds: number;
  /** An instance that should end is killed after this many seconds without a sign of life; 0 = never. */
  readonly modelUnloadSeconds: number;
  readonly http: HttpOptions;
  readonly grpc: GrpcOptions;
  readonly metrics: MetricsOptions;
  readonly trace: TraceOptions;
  /** `--backend-config`, in order; `backend` '' = for all. */
  readonly backendConfig: readonly { readonly backend: string; readonly key: string; readonly value: string }[];
  readonly backendDirectory: string;
  readonly repoagentDirectory: string;
  readonly cacheDirectory: string;
  /** `--cache-config`, by cache, in order. */
  readonly cacheConfig: readonly { readonly cache: string; readonly key: string; readonly value: string }[];
  readonly rateLimit: boolean;
  readonly rateLimitResources: readonly RateLimitResource[];
  readonly pinnedMemoryPoolBytes: number;
  readonly minComputeCapability: number;
  readonly allowClientSharedMemory: boolean;
  /** Regions that clients may register at a time. */
  readonly sharedMemoryRegionLimit: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** `ServerOptions` while the command line is read. */
export interface OptionsDraft
  extends Mutable<
    Omit<ServerOptions, 'http' | 'grpc' | 'metrics' | 'trace' | 'log' | 'repositories' | 'loadModels' | 'backendConfig'>
  > {
  repositories: string[];
  loadModels: string[];
  backendConfig: { backend: string; key: string; value: string }[];
  log: Mutable<LogSettings>;
  http: Mutable<HttpOptions>;
  grpc: Mutable<GrpcOptions>;
  metrics: Mutable<MetricsOptions>;
  /** `given`: settings that came as --trace-config, which count more than their deprecated forms. */
  trace: Mutable<TraceOptions> & { readonly given: Set<string> };
}

/** The values that hold when an option is not given. The metrics address follows the HTTP address unless it is given. */
export function defaultServerOptions(): OptionsDraft {
  return {
    id: 'triton',
    version: PROTOCOL_VERSION,
    notes: [],
    exitTimeoutSeconds: 30,
    streamMaxBacklog: 268435456,
    requestMemoryLimit: quarterOfMemory(),
    responseMemoryLimit: quarterOfMemory(),
    log: { info: true, warning: true, error: true, verboseLevel: 0, format: 'default', file: '' },
    repositories: [],
    exitOnError: true,
    autoComplete: true,
    strictReadiness: true,
    modelControlMode: 'none',
    repositoryPollSeconds: 15,
    loadModels: [],
    modelConfigName: '',
    modelNamespacing: false,
    modelLoadThreadCount: 4,
    modelLoadRetryCount: 0,
    modelCompletionSeconds: 120,
    modelUnloadSeconds: 60,
    http: {
      enabled: true,
      address: '0.0.0.0',
      port: 8000,
      reusePort: false,
      headerForward: undefined,
      maxInputSize: 67108864,
      clientTimeoutSeconds: 60,
      halfClose: false,
      tls: undefined,
      restrictions: new Map(),
      corsOrigins: [],
    },
    grpc: {
      enabled: true,
      address: '0.0.0.0',
      port: 8001,
      reusePort: false,
      headerForward: undefined,
      restrictions: new Map(),
      responseCompression: 'none',
      reflection: true,
      tls: undefined,
      keepaliveTimeMs: 7200000,
      keepaliveTimeoutMs: 20000,
      keepalivePermitWithoutCalls: false,
      maxPingsWithoutData: 2,
      minRecvPingIntervalWithoutDataMs: 300000,
      maxPingStrikes: 2,
      maxConnectionAgeMs: 0,
      maxConnectionAgeGraceMs: 0,
      maxInflatedSize: 268435456,
      connectionMaxBacklog: 1073741824,
      readTimeoutMs: 60000,
      writeTimeoutMs: 300000,
    },
    metrics: {
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
    },
    trace: {
      mode: 'triton',
      level: [],
      rate: 1000,
      count: -1,
      logFrequency: 0,
      file: '',
      others: { triton: [], opentelemetry: [] },
      given: new Set(),
    },
    backendConfig: [],
    backendDirectory: '/opt/tritonserver/backends',
    repoagentDirectory: '/opt/tritonserver/repoagents',
    cacheDirectory: '/opt/tritonserver/caches',
    cacheConfig: [],
    rateLimit: false,
    rateLimitResources: [],
    pinnedMemoryPoolBytes: 268435456,
    minComputeCapability: 6,
    allowClientSharedMemory: false,
    sharedMemoryRegionLimit: 16_384,
  };
}

/** A quarter of the memory that this process may use: what the machine has, or less where a container sets a limit. */
function quarterOfMemory(): number {
  const constrained = process.constrainedMemory();
  const machine = os.totalmem();
  return Math.floor((constrained > 0 ? Math.min(constrained, machine) : machine) / 4);
}
