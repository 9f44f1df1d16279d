/** What is to be measured and how: the command line after parsing, complete, with every default filled in. */

/** How the load is shaped. */
export type LoadMode =
  | 'Concurrency'
  | 'RequestRate'
  | 'CustomIntervals'
  | 'PeriodicConcurrency'
  | 'SessionConcurrency'
  | 'FixedSchedule';

/** What kind of server is measured. */
export type ServiceKind = 'triton' | 'tfserving' | 'torchserve' | 'triton_c_api' | 'openai' | 'dynamic_grpc';

/** `start:end:step`; end 0 = no end. */
export interface SearchRange {
  start: number;
  end: number;
  step: number;
}

/** Every option with its value. Times are milliseconds unless the name says otherwise. */
export interface PerfOptions {
  modelName: string;
  /** '' = the server's choice. */
  modelVersion: string;
  serviceKind: ServiceKind;
  endpoint: string;
  modelSignatureName: string;
  /** Names and versions ('' = unspecified) of the models that the measured one calls by itself. */
  composingModels: { name: string; version: string }[];
  /** 0, 1 (more lines) or 2 (also what goes over the wire). */
  verbosity: number;
  async: boolean;
  forceSync: boolean;
  streaming: boolean;

  loadMode: LoadMode;
  concurrency: SearchRange;
  requestRate: SearchRange;
  periodic: SearchRange;
  requestDistribution: 'constant' | 'poisson';
  requestIntervalsFile: string;
  requestPeriod: number;
  sessionConcurrency: number;
  search: 'linear' | 'binary' | 'none';
  maxThreads: number;
  maxThreadsGiven: boolean;
  /** 0 = off. */
  requestCount: number;
  warmupRequestCount: number;

  measurementMode: 'time_windows' | 'count_windows';
  measurementInterval: number;
  measurementRequestCount: number;
  /** Latency limit of a level; 0 = none. */
  latencyThreshold: number;
  /** A fraction: 0.1 = 10 %. */
  stabilityThreshold: number;
  maxTrials: number;
  /** -1 = the average is what is stabilised and reported. */
  percentile: number;

  batchSize: number;
  batchSizeGiven: boolean;
  /** Files or directories of `--input-data`; empty = generated data. */
  inputPaths: string[];
  zeroInput: boolean;
  stringLength: number;
  stringData: string;
  shapes: Map<string, number[]>;
  sharedMemory: 'none' | 'system' | 'cuda';
  outputSharedMemorySize: number;
  inputTensorFormat: 'binary' | 'json';
  outputTensorFormat: 'binary' | 'json';
  requestParameters: { name: string; value: string; type: string }[];

  numOfSequences: number;
  serialSequences: boolean;
  sequenceLength: number;
  sequenceLengthGiven: boolean;
  sequenceLengthVariation: number;
  startSequenceId: number;
  /** How many ids; the default is all that 32 bits hold. */
  sequenceIdRange: number;
  sequenceIdRangeGiven: boolean;

  url: string;
  urlGiven: boolean;
  /** Lower case as given; anything but these two is refused by the checks. */
  protocol: 'http' | 'grpc' | 'unknown';
  headers: [name: string, value: string][];
  grpcCompression: 'none' | 'gzip' | 'deflate';
  grpcCompressionGiven: boolean;
  grpcMethod: string;
  ssl: {
    grpcUseSsl: boolean;
    grpcRootCertificates: string;
    grpcPrivateKey: string;
    grpcCertificateChain: string;
    httpsVerifyPeer: number;
    httpsVerifyHost: number;
    httpsCaCertificates: string;
    httpsClientCertificate: string;
    httpsClientCertificateType: 'PEM' | 'DER';
    httpsPrivateKey: string;
    httpsPrivateKeyType: 'PEM' | 'DER';
  };

  reportFile: string;
  verboseCsv: boolean;
  profileExportFile: string;
  collectMetrics: boolean;
  metricsUrl: string;
  metricsUrlGiven: boolean;
  metricsInterval: number;
  metricsIntervalGiven: boolean;
  /** Settings of the server's trace that were given, by their names on the wire. */
  trace: Map<string, string>;
  tritonServerDirectory: string;
  modelRepository: string;
  enableMpi: boolean;
  /** A sweep goes on after a level that is not stable or over the limit; its row is marked. */
  keepGoing: boolean;
  /** A sweep that stops early, or rows that are not stable, end with a status of their own. */
  strict: boolean;
  /** Table, chart and progress although stdout is no terminal. */
  chart: boolean;
}

/** An option object with the defaults of section 3. */
export function defaultPerfOptions(): PerfOptions {
  return {
    modelName: '',
    modelVersion: '',
    serviceKind: 'triton',
    endpoint: '',
    modelSignatureName: 'serving_default',
    composingModels: [],
    verbosity: 0,
    async: false,
    forceSync: false,
    streaming: false,
    loadMode: 'Concurrency',
    concurrency: { start: 1, end: 1, step: 1 },
    requestRate: { start: 1, end: 1, step: 1 },
    periodic: { start: 1, end: 1, step: 1 },
    requestDistribution: 'constant',
    requestIntervalsFile: '',
    requestPeriod: 10,
    sessionConcurrency: 0,
    search: 'linear',
    maxThreads: 4,
    maxThreadsGiven: false,
    requestCount: 0,
    warmupRequestCount: 0,
    measurementMode: 'time_windows',
    measurementInterval: 5000,
    measurementRequestCount: 50,
    latencyThreshold: 0,
    stabilityThreshold: 0.1,
    maxTrials: 10,
    percentile: -1,
    batchSize: 1,
    batchSizeGiven: false,
    inputPaths: [],
    zeroInput: false,
    stringLength: 128,
    stringData: '',
    shapes: new Map(),
    sharedMemory: 'none',
    outputSharedMemorySize: 102400,
    inputTensorFormat: 'binary',
    outputTensorFormat: 'binary',
    requestParameters: [],
    numOfSequences: 4,
    serialSequences: false,
    sequenceLength: 20,
    sequenceLengthGiven: false,
    sequenceLengthVariation: 20,
    startSequenceId: 1,
    sequenceIdRange: 2 ** 32 - 1,
    sequenceIdRangeGiven: false,
    url: '',
    urlGiven: false,
    protocol: 'http',
    headers: [],
    grpcCompression: 'none',
    grpcCompressionGiven: false,
    grpcMethod: '',
    ssl: {
      grpcUseSsl: false,
      grpcRootCertificates: '',
      grpcPrivateKey: '',
      grpcCertificateChain: '',
      httpsVerifyPeer: 1,
      httpsVerifyHost: 2,
      httpsCaCertificates: '',
      httpsClientCertificate: '',
      httpsClientCertificateType: 'PEM',
      httpsPrivateKey: '',
      httpsPrivateKeyType: 'PEM',
    },
    reportFile: '',
    verboseCsv: false,
    profileExportFile: '',
    collectMetrics: false,
    metricsUrl: '',
    metricsUrlGiven: false,
    metricsInterval: 1000,
    metricsIntervalGiven: false,
    trace: new Map(),
    tritonServerDirectory: '/opt/tritonserver',
    modelRepository: '',
    enableMpi: false,
    keepGoing: false,
    strict: false,
    chart: false,
  };
}
