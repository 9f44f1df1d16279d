import { usageError } from '../error/perf-error.js';
import type { ParseContext } from './option.js';
import type { PerfOptions, SearchRange } from './perf-options.js';

/** Checks options against each other, in the original's order (spec of the load generator, section 4.2). */
export function checkOptions(context: ParseContext): void {
  const { options, warn } = context;
  checkBasics(options);
  if (options.startSequenceId === 0) {
    options.startSequenceId = 1;
    warn(
      'WARNING: using an invalid start sequence id. Perf Analyzer will use default value if it is measuring on sequence model.',
    );
  }
  if (options.percentile !== -1 && (options.percentile < 1 || options.percentile > 99)) {
    refuse('Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100).');
  }
  if (options.zeroInput && options.inputPaths.length > 0) {
    refuse('The -z flag cannot be set when --data-directory is provided.');
  }
  if (options.async && options.forceSync) refuse('Cannot specify --async and --sync simultaneously.');
  checkPeriodic(options, warn);
  if (options.requestParameters.length > 0 && options.protocol !== 'grpc') {
    refuse('The --request-parameter option is currently only supported by gRPC protocol.');
  }
  checkSearch(options);
  checkCounts(options);
  checkServiceKind(options);
  checkMetrics(options);
  if (options.loadMode === 'SessionConcurrency' && options.serviceKind !== 'openai') {
    refuse('Session concurrency mode is only supported with OpenAI service kind.');
  }
  if (options.streaming) options.async = true;
}

function refuse(text: string): never {
  throw usageError(text);
}

function checkBasics(options: PerfOptions): void {
  if (options.modelName === '' && options.serviceKind !== 'dynamic_grpc') {
    refuse('Failed to parse -m (model name). The value must be specified.');
  }
  if (options.concurrency.start === 0) refuse('The start of the search range must be > 0');
  if (options.requestRate.start <= 0) {
    refuse('Failed to parse --request-rate-range. The start of the search range must be > 0.');
  }
  if (options.protocol === 'unknown') {
    refuse('Failed to parse -i (protocol). The value should be either HTTP or gRPC.');
  }
  if (options.streaming && options.protocol !== 'grpc' && options.serviceKind !== 'triton_c_api') {
    refuse('Streaming is only allowed with gRPC protocol and Triton C API.');
  }
  if (options.grpcCompressionGiven && options.protocol !== 'grpc') {
    refuse('Using compression algorithm is only allowed with gRPC protocol.');
  }
  if (options.sequenceLengthVariation < 0) {
    refuse('Failed to parse --sequence-length-variation. The value must be >= 0.0.');
  }
}

function checkPeriodic(options: PerfOptions, warn: (line: string) => void): void {
  if (options.loadMode !== 'PeriodicConcurrency') return;
  if (!options.streaming) refuse('The --periodic-concurrency-range option requires bi-directional gRPC streaming.');
  if (options.profileExportFile === '') {
    refuse('Must provide --profile-export-file when using the --periodic-concurrency-range option.');
  }
  if (options.periodic.end === 0) {
    warn('WARNING: The maximum attainable concurrency will be limited by max_threads specification.');
    options.periodic.end = options.maxThreads;
    return;
  }
  if (options.maxThreadsGiven) {
    warn('WARNING: Overriding max_threads specification to ensure requested concurrency range.');
  }
  options.maxThreads = Math.max(options.maxThreads, options.periodic.end);
}

function checkSearch(options: PerfOptions): void {
  const { concurrency, requestRate } = options;
  const ranges: readonly SearchRange[] = [concurrency, requestRate];
  const endless = ranges.some((range) => range.end === 0);
  const limit = options.latencyThreshold;
  if (endless && limit === 0) {
    refuse('The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously');
  }
  if (options.search === 'binary') {
    if (endless) refuse('The end of the range can not be 0 (or 0.0) for binary search mode.');
    if (limit === 0) refuse('The --latency-threshold cannot be 0 for binary search mode.');
    if (ranges.some((range) => range.end < range.start)) {
      refuse('The end of the range can not be less than start of the range for binary search mode.');
    }
  }
  if (options.keepGoing) {
    if (options.search === 'binary')
      refuse(
        '--keep-going has no meaning with --binary-search: every level decides where the search goes on. Give one of them.',
      );
    if (endless) refuse('--keep-going needs a range with an end: nothing else would stop the sweep.');
  }
  // A step of 0 would repeat the first level for ever (or halve a range that never shrinks below it).
  for (const [range, name] of [
    [concurrency, 'concurrency'],
    [requestRate, 'request-rate'],
  ] as const) {
    if (range.step === 0 && (range.end === 0 || range.end > range.start)) {
      refuse(`Failed to parse --${name}-range. The step of the search range must be > 0.`);
    }
  }
}

function checkCounts(options: PerfOptions): void {
  const { concurrency, requestRate, loadMode } = options;
  const level =
    loadMode === 'Concurrency'
      ? ({ range: concurrency, one: 'concurrency', many: 'concurrency values' } as const)
      : loadMode === 'RequestRate'
        ? ({ range: requestRate, one: 'request rate', many: 'request rate values' } as const)
        : undefined;
  if (level === undefined) return;
  const several = level.range.start < level.range.end;
  if (options.warmupRequestCount > 0 && several) {
    refuse(`--warmup-request-count not supported with multiple ${level.many} in one run`);
  }
  if (options.requestCount > 0) {
    if (options.requestCount < Math.trunc(level.range.start)) {
      refuse(`--request-count can not be less than ${level.one}`);
    }
    if (several) refuse(`--request-count not supported with multiple ${level.many} in one run`);
  }
}

function checkServiceKind(options: PerfOptions): void {
  const data = options.inputPaths.length > 0;
  switch (options.serviceKind) {
    case 'tfserving':
      if (options.protocol !== 'grpc') refuse('perf_analyzer supports only grpc protocol for TensorFlow Serving.');
      if (options.streaming) refuse('perf_analyzer does not support streaming for TensorFlow Serving.');
      if (options.async) refuse('perf_analyzer does not support async API for TensorFlow Serving.');
      if (!options.batchSizeGiven) options.batchSize = 0;
      break;
    case 'torchserve':
      if (!data) refuse('--input-data should be provided with a json file with input data for torchserve.');
      break;
    case 'triton_c_api':
      if (options.tritonServerDirectory === '') {
        refuse('--triton-server-path should not be empty when using service-kind=triton_c_api.');
      }
      if (options.modelRepository === '') {
        refuse('--model-repository should not be empty when using service-kind=triton_c_api.');
      }
      if (options.async && options.streaming && options.sharedMemory !== 'none') {
        refuse(
          'Cannot use --shared-memory=system or --shared-memory=cuda with --service-kind=triton_c_api and --async and --streaming.',
        );
      }
      break;
    case 'openai':
      if (!data) refuse('Must supply --input-data for OpenAI service kind.');
      if (options.endpoint === '') {
        refuse('Must supply --endpoint for OpenAI service kind. For example, "v1/chat/completions".');
      }
      if (!options.async) refuse('Only async mode is currently supported for OpenAI service-kind');
      if (options.batchSize > 1) refuse('Batching is not currently supported with OpenAI service-kind');
      break;
    case 'dynamic_grpc':
      if (options.async) refuse('Dynamic gRPC client only supports synchronous RPCs at the moment.');
      if (!data) refuse('Must supply --input-data to provide input data stream for streaming Dynamic gRPC service.');
      options.protocol = 'grpc';
      break;
    case 'triton':
      break;
  }
}

function checkMetrics(options: PerfOptions): void {
  if (options.collectMetrics && options.serviceKind !== 'triton') {
    refuse('Server-side metric collection is only supported with Triton client backend.');
  }
  if (options.collectMetrics) return;
  if (options.metricsUrlGiven) refuse('Must specify --collect-metrics when using the --metrics-url option.');
  if (options.metricsIntervalGiven) refuse('Must specify --collect-metrics when using the --metrics-interval option.');
}
