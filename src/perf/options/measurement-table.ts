import { usageError } from '../error/perf-error.js';
import { parseDouble, parseLoose, parseUint64 } from './numbers.js';
import type { PerfOption } from './option.js';
import { chooseMode, existingFile, integer, numberOf, oneOf, readRange, useDeprecatedConcurrency } from './option.js';

/** Options of the group MEASUREMENT PARAMETERS. */
export const MEASUREMENT_OPTIONS: readonly PerfOption[] = [
  {
    name: 'async',
    short: 'a',
    help: 'Use the asynchronous client calls: every worker keeps its share of the requests outstanding.',
    apply: ({ options }) => {
      options.async = true;
    },
  },
  {
    name: 'sync',
    help: 'Use the synchronous client calls. Only sequence models are asynchronous by default.',
    apply: ({ options }) => {
      options.forceSync = true;
    },
  },
  {
    name: 'measurement-interval',
    short: 'p',
    value: 'msec',
    help: 'Length of a time window; the window really lasts 1.2 times as long. Default 5000.',
    apply: ({ options }, given) => {
      options.measurementInterval = integer(
        given,
        1,
        'Failed to parse --measurement-interval (-p). The value must be > 0 msec.',
      );
    },
  },
  {
    name: 'measurement-mode',
    value: '"time_windows"|"count_windows"',
    help: 'Windows end after a time or after a number of requests. Default time_windows.',
    apply: ({ options }, given) => {
      const choices = "The available options are 'time_windows' or 'count_windows'.";
      options.measurementMode = oneOf(given, ['time_windows', 'count_windows'], choices);
    },
  },
  {
    name: 'measurement-request-count',
    value: 'count',
    help: 'Least number of requests in a count window. Default 50.',
    apply: ({ options }, given) => {
      options.measurementRequestCount = integer(
        given,
        1,
        'Failed to parse --measurement-request-count. The value must be > 0.',
      );
    },
  },
  {
    name: 'concurrency-range',
    value: 'start:end:step',
    help: 'Numbers of requests kept outstanding, one level after the other. End 0 = until the latency threshold. Default 1:1:1.',
    apply: (context, given) => {
      chooseMode(context, 'Concurrency');
      readRange(given, context.options.concurrency, 'integer');
    },
  },
  {
    name: 'periodic-concurrency-range',
    value: 'start:end:step',
    help: 'Concurrency that grows by a step whenever all newest requests have had --request-period responses.',
    apply: (context, given) => {
      chooseMode(context, 'PeriodicConcurrency');
      const range = context.options.periodic;
      readRange(given, range, 'integer', 2);
      if (range.step === 0) throw usageError(`Failed to parse ${given.label}. The <step> value must be > 0.`);
      if (range.start > range.end) throw usageError(`Failed to parse ${given.label}. The <start> must be <= <end>.`);
      if ((range.end - range.start) % range.step !== 0) {
        throw usageError(
          `Failed to parse ${given.label}. The <step> value must be a factor of the range size (<end> - <start>).`,
        );
      }
    },
  },
  {
    name: 'session-concurrency',
    value: 'sessions',
    help: 'Number of conversations held at once (OpenAI service kind).',
    apply: (context, given) => {
      chooseMode(context, 'SessionConcurrency');
      context.options.sessionConcurrency = numberOf(parseUint64(given.value), given);
      if (context.options.sessionConcurrency === 0) {
        throw usageError('Failed to parse --session-concurrency. Session concurrency must be > 0.');
      }
    },
  },
  {
    name: 'request-period',
    value: 'responses',
    help: 'Responses per request before the periodic concurrency grows. Default 10.',
    apply: ({ options }, given) => {
      options.requestPeriod = integer(given, 1, 'Failed to parse --request-period. The value must be > 0');
    },
  },
  {
    name: 'request-rate-range',
    value: 'start:end:step',
    help: 'Requests sent per second, one level after the other. Default 1.0:1.0:1.0.',
    apply: (context, given) => {
      chooseMode(context, 'RequestRate');
      readRange(given, context.options.requestRate, 'real');
    },
  },
  {
    name: 'request-distribution',
    value: '"poisson"|"constant"',
    help: 'Distribution of the times between requests of a rate. Default constant.',
    apply: ({ options }, given) => {
      options.requestDistribution = oneOf(given, ['constant', 'poisson'], "Choices are 'posson' or 'constant'.");
    },
  },
  {
    name: 'request-intervals',
    value: 'file',
    help: 'File of the times between requests in microseconds, one a line; used over and over.',
    apply: (context, given) => {
      chooseMode(context, 'CustomIntervals');
      context.options.requestIntervalsFile = existingFile(given, '');
    },
  },
  {
    name: 'serial-sequences',
    help: 'Never send to a sequence that has a request outstanding (rate and interval modes).',
    apply: ({ options }) => {
      options.serialSequences = true;
    },
  },
  {
    name: 'binary-search',
    help: 'Search the highest level that keeps within the latency threshold by halving the range.',
    apply: ({ options }) => {
      options.search = 'binary';
    },
  },
  {
    name: 'keep-going',
    help: 'Measure every level of the range, also after one that is not stable or over the latency threshold. Its row says so.',
    apply: ({ options }) => {
      options.keepGoing = true;
    },
  },
  {
    name: 'strict',
    help: 'End with status 4 when the range was not measured to its end, or (with --keep-going) not every level was stable and within the latency threshold. When no level could be measured the status is 2, with or without this option.',
    apply: ({ options }) => {
      options.strict = true;
    },
  },
  {
    name: 'num-of-sequences',
    value: 'count',
    help: 'Concurrent sequences in rate and interval modes. Default 4.',
    apply: ({ options }, given) => {
      options.numOfSequences = integer(given, 1, 'Failed to parse --num-of-sequences. The value must be > 0.');
    },
  },
  {
    name: 'latency-threshold',
    short: 'l',
    value: 'msec',
    help: 'Latency limit: a level above it ends the sweep. 0 = none, the default.',
    apply: ({ options }, given) => {
      options.latencyThreshold = integer(
        given,
        0,
        'Failed to parse --latency-threshold (-l). The value must be >= 0 msecs.',
      );
    },
  },
  {
    name: 'max-threads',
    value: 'count',
    help: 'Most workers that send requests. Default 4, in concurrency mode 16 or the end of the range.',
    apply: ({ options }, given) => {
      options.maxThreads = integer(given, 1, 'Failed to parse --max-threads. The value must be > 0.');
      options.maxThreadsGiven = true;
    },
  },
  {
    name: 'stability-percentage',
    short: 's',
    value: 'percent',
    help: 'How far the last three windows may differ in throughput and latency. Default 10.',
    apply: ({ options }, given) => {
      const value = numberOf(parseDouble(given.value), given);
      if (!(value >= 0)) {
        throw usageError('Failed to parse --stability-percentage (-s). The value must be >= 0.0.');
      }
      options.stabilityThreshold = value / 100;
    },
  },
  {
    name: 'max-trials',
    short: 'r',
    value: 'count',
    help: 'Most windows of a level. Default 10.',
    apply: ({ options }, given) => {
      options.maxTrials = integer(given, 1, 'Failed to parse --max-trials (-r). The value must be > 0.');
    },
  },
  {
    name: 'percentile',
    value: 'percentile',
    help: 'Latency percentile that is stabilised, limited and reported instead of the average. Default -1 = the average.',
    apply: ({ options }, given) => {
      options.percentile = parseLoose(given.value);
    },
  },
  {
    name: 'request-count',
    value: 'count',
    help: 'Send exactly so many requests in one window, without a test of stability.',
    apply: ({ options }, given) => {
      const count = integer(given, 1, 'Failed to parse --request-count. The value must be > 0.');
      if (options.requestCount === 0) options.requestCount = count;
    },
  },
  {
    name: 'warmup-request-count',
    value: 'count',
    help: 'Requests that are sent before the measurement begins. Default 0.',
    apply: ({ options }, given) => {
      options.warmupRequestCount = integer(given, 0, 'Failed to parse --warmup-request-count. The value must be >= 0.');
    },
  },
  {
    name: 'fixed-schedule',
    help: 'Send every entry of the input data once, at the time that it states.',
    apply: (context) => chooseMode(context, 'FixedSchedule'),
  },
  {
    name: '',
    short: 't',
    value: 'count',
    deprecated: true,
    help: 'Start of the concurrency range.',
    apply: (context, given) => {
      useDeprecatedConcurrency(context, given);
      context.options.concurrency.start = numberOf(parseUint64(given.value), given);
    },
  },
  {
    name: '',
    short: 'c',
    value: 'count',
    deprecated: true,
    help: 'End of the concurrency range.',
    apply: (context, given) => {
      useDeprecatedConcurrency(context, given);
      context.options.concurrency.end = numberOf(parseUint64(given.value), given);
    },
  },
  {
    name: '',
    short: 'd',
    deprecated: true,
    help: 'No effect.',
    apply: useDeprecatedConcurrency,
  },
];
