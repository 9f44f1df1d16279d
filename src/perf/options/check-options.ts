import type { OptionsDraft } from '../../base/options/option.js';
import { OptionError } from '../../base/options/option-error.js';
import { usageError } from '../error/perf-error.js';
import type { SearchRange } from './load-options.js';
import type { ParseContext } from './perf-option.js';
import type { PerfOptions } from './perf-options.js';

/** Checks options against each other, in perf_analyzer's order. */
export function checkOptions(context: ParseContext): void {
  const { options, warn } = context;
  checkBasics(options);
  if (options.sequence.startSequenceId === 0) {
    options.sequence.startSequenceId = 1;
    warn(
      'WARNING: using an invalid start sequence id. Perf Analyzer will use default value if it is measuring on sequence model.',
    );
  }
  if (options.measure.percentile !== -1 && (options.measure.percentile < 1 || options.measure.percentile > 99)) {
    refuse('Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100).');
  }
  if (options.input.zeroInput && options.input.inputPaths.length > 0) {
    refuse('The -z flag cannot be set when --data-directory is provided.');
  }
  if (options.load.async && options.load.forceSync) refuse('Cannot specify --async and --sync simultaneously.');
  checkPeriodic(options, warn);
  if (options.input.requestParameters.length > 0 && options.connection.protocol !== 'grpc') {
    refuse('The --request-parameter option is currently only supported by gRPC protocol.');
  }
  checkSearch(options);
  checkCounts(options);
  checkServiceKind(options);
  checkMetrics(options);
  if (options.load.loadMode === 'SessionConcurrency' && options.connection.serviceKind !== 'openai') {
    refuse('Session concurrency mode is only supported with OpenAI service kind.');
  }
  if (options.load.streaming) options.load.async = true;
}

function refuse(text: string): never {
  throw usageError(text);
}

function checkBasics(options: PerfOptions): void {
  if (options.connection.modelName === '' && options.connection.serviceKind !== 'dynamic_grpc') {
    refuse('Failed to parse -m (model name). The value must be specified.');
  }
  if (options.load.concurrency.start === 0) refuse('The start of the search range must be > 0');
  if (options.load.requestRate.start <= 0) {
    refuse('Failed to parse --request-rate-range. The start of the search range must be > 0.');
  }
  if (options.connection.protocol === 'unknown') {
    refuse('Failed to parse -i (protocol). The value should be either HTTP or gRPC.');
  }
  if (
    options.load.streaming &&
    options.connection.protocol !== 'grpc' &&
    options.connection.serviceKind !== 'triton_c_api'
  ) {
    refuse('Streaming is only allowed with gRPC protocol and Triton C API.');
  }
  if (options.connection.grpcCompressionGiven && options.connection.protocol !== 'grpc') {
    refuse('Using compression algorithm is only allowed with gRPC protocol.');
  }
  if (options.sequence.sequenceLengthVariation < 0) {
    refuse('Failed to parse --sequence-length-variation. The value must be >= 0.0.');
  }
}

function checkPeriodic(options: OptionsDraft<PerfOptions>, warn: (line: string) => void): void {
  if (options.load.loadMode !== 'PeriodicConcurrency') return;
  if (!options.load.streaming)
    refuse('The --periodic-concurrency-range option requires bi-directional gRPC streaming.');
  if (options.report.profileExportFile === '') {
    refuse('Must provide --profile-export-file when using the --periodic-concurrency-range option.');
  }
  if (options.load.periodic.end === 0) {
    warn('WARNING: The maximum attainable concurrency will be limited by max_threads specification.');
    options.load.periodic = { ...options.load.periodic, end: options.load.maxThreads };
    return;
  }
  if (options.load.maxThreadsGiven) {
    warn('WARNING: Overriding max_threads specification to ensure requested concurrency range.');
  }
  options.load.maxThreads = Math.max(options.load.maxThreads, options.load.periodic.end);
}

function checkSearch(options: PerfOptions): void {
  const { concurrency, requestRate } = options.load;
  const ranges: readonly SearchRange[] = [concurrency, requestRate];
  const endless = ranges.some((range) => range.end === 0);
  const limit = options.measure.latencyThreshold;
  if (endless && limit === 0) {
    refuse('The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously');
  }
  if (options.load.search === 'binary') {
    if (endless) refuse('The end of the range can not be 0 (or 0.0) for binary search mode.');
    if (limit === 0) refuse('The --latency-threshold cannot be 0 for binary search mode.');
    if (ranges.some((range) => range.end < range.start)) {
      refuse('The end of the range can not be less than start of the range for binary search mode.');
    }
  }
  if (options.measure.keepGoing) {
    if (options.load.search === 'binary') {
      throw new OptionError(
        '--keep-going has no meaning with --binary-search: every level decides where the search goes on. Give one of them',
      );
    }
    if (endless) throw new OptionError('--keep-going needs a range with an end: nothing else would stop the sweep');
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
  const { concurrency, requestRate, loadMode } = options.load;
  const level =
    loadMode === 'Concurrency'
      ? ({ range: concurrency, one: 'concurrency', many: 'concurrency values' } as const)
      : loadMode === 'RequestRate'
        ? ({ range: requestRate, one: 'request rate', many: 'request rate values' } as const)
        : undefined;
  if (level === undefined) return;
  const several = level.range.start < level.range.end;
  if (options.load.warmupRequestCount > 0 && several) {
    refuse(`--warmup-request-count not supported with multiple ${level.many} in one run`);
  }
  if (options.load.requestCount > 0) {
    if (options.load.requestCount < Math.trunc(level.range.start)) {
      refuse(`--request-count can not be less than ${level.one}`);
    }
    if (several) refuse(`--request-count not supported with multiple ${level.many} in one run`);
  }
}

function checkServiceKind(options: OptionsDraft<PerfOptions>): void {
  const data = options.input.inputPaths.length > 0;
  switch (options.connection.serviceKind) {
    case 'tfserving':
      if (options.connection.protocol !== 'grpc')
        refuse('perf_analyzer supports only grpc protocol for TensorFlow Serving.');
      if (options.load.streaming) refuse('perf_analyzer does not support streaming for TensorFlow Serving.');
      if (options.load.async) refuse('perf_analyzer does not support async API for TensorFlow Serving.');
      if (!options.input.batchSizeGiven) options.input.batchSize = 0;
      break;
    case 'torchserve':
      if (!data) refuse('--input-data should be provided with a json file with input data for torchserve.');
      break;
    case 'triton_c_api':
      if (options.connection.tritonServerDirectory === '') {
        refuse('--triton-server-path should not be empty when using service-kind=triton_c_api.');
      }
      if (options.connection.modelRepository === '') {
        refuse('--model-repository should not be empty when using service-kind=triton_c_api.');
      }
      if (options.load.async && options.load.streaming && options.input.sharedMemory !== 'none') {
        refuse(
          'Cannot use --shared-memory=system or --shared-memory=cuda with --service-kind=triton_c_api and --async and --streaming.',
        );
      }
      break;
    case 'openai':
      if (!data) refuse('Must supply --input-data for OpenAI service kind.');
      if (options.connection.endpoint === '') {
        refuse('Must supply --endpoint for OpenAI service kind. For example, "v1/chat/completions".');
      }
      if (!options.load.async) refuse('Only async mode is currently supported for OpenAI service-kind');
      if (options.input.batchSize > 1) refuse('Batching is not currently supported with OpenAI service-kind');
      break;
    case 'dynamic_grpc':
      if (options.load.async) refuse('Dynamic gRPC client only supports synchronous RPCs at the moment.');
      if (!data) refuse('Must supply --input-data to provide input data stream for streaming Dynamic gRPC service.');
      options.connection.protocol = 'grpc';
      break;
    case 'triton':
      break;
  }
}

function checkMetrics(options: PerfOptions): void {
  if (options.connection.collectMetrics && options.connection.serviceKind !== 'triton') {
    refuse('Server-side metric collection is only supported with Triton client backend.');
  }
  if (options.connection.collectMetrics) return;
  if (options.connection.metricsUrlGiven) refuse('Must specify --collect-metrics when using the --metrics-url option.');
  if (options.connection.metricsIntervalGiven)
    refuse('Must specify --collect-metrics when using the --metrics-interval option.');
}
