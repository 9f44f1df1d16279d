import { text } from '../../base/options/parse-value.js';
import { usageError } from '../error/perf-error.js';
import {
  atLeast,
  chooseMode,
  double,
  existingFile,
  flag,
  option,
  type PerfOption,
  rangeOf,
  uint64,
  useDeprecatedConcurrency,
  word,
} from './perf-option.js';

/** How the load is shaped. */
export type LoadMode =
  | 'Concurrency'
  | 'RequestRate'
  | 'CustomIntervals'
  | 'PeriodicConcurrency'
  | 'SessionConcurrency'
  | 'FixedSchedule';

/** `start:end:step`; end 0 = no end. */
export interface SearchRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** What is sent, how much of it and when. */
export interface LoadOptions {
  readonly async: boolean;
  readonly forceSync: boolean;
  readonly streaming: boolean;
  readonly loadMode: LoadMode;
  readonly concurrency: SearchRange;
  readonly requestRate: SearchRange;
  readonly periodic: SearchRange;
  readonly requestDistribution: 'constant' | 'poisson';
  readonly requestIntervalsFile: string;
  readonly requestPeriod: number;
  readonly sessionConcurrency: number;
  readonly search: 'linear' | 'binary' | 'none';
  readonly maxThreads: number;
  readonly maxThreadsGiven: boolean;
  /** 0 = off. */
  readonly requestCount: number;
  readonly warmupRequestCount: number;
}

/** The values that hold when an option is not given. */
export const LOAD_DEFAULTS: LoadOptions = {
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
};

const group = 'Load';

const RANGES: readonly PerfOption[] = [
  option({
    name: 'concurrency-range',
    group,
    argument: 'start:end:step',
    help: 'Numbers of requests kept outstanding, one level after the other. End 0 = until the latency threshold.',
    default: '1:1:1',
    parse: text,
    set(context, _value, given) {
      chooseMode(context, 'Concurrency');
      const { load } = context.options;
      load.concurrency = rangeOf(given, load.concurrency, uint64);
    },
  }),
  option({
    name: 'request-rate-range',
    group,
    argument: 'start:end:step',
    help: 'Requests sent per second, one level after the other.',
    default: '1.0:1.0:1.0',
    parse: text,
    set(context, _value, given) {
      chooseMode(context, 'RequestRate');
      const { load } = context.options;
      load.requestRate = rangeOf(given, load.requestRate, double);
    },
  }),
  option({
    name: 'periodic-concurrency-range',
    group,
    argument: 'start:end:step',
    help: 'Concurrency that grows by a step whenever all newest requests have had --request-period responses.',
    parse: text,
    set(context, _value, given) {
      chooseMode(context, 'PeriodicConcurrency');
      const range = rangeOf(given, context.options.load.periodic, uint64, 2);
      if (range.step === 0) throw usageError(`Failed to parse ${given.label}. The <step> value must be > 0.`);
      if (range.start > range.end) throw usageError(`Failed to parse ${given.label}. The <start> must be <= <end>.`);
      if ((range.end - range.start) % range.step !== 0) {
        throw usageError(
          `Failed to parse ${given.label}. The <step> value must be a factor of the range size (<end> - <start>).`,
        );
      }
      context.options.load.periodic = range;
    },
  }),
  option({
    name: 'session-concurrency',
    group,
    argument: 'sessions',
    help: 'Number of conversations held at once (OpenAI service kind).',
    parse: text,
    set(context, value, given) {
      chooseMode(context, 'SessionConcurrency');
      const sessions = uint64(value, given);
      if (sessions === 0) throw usageError('Failed to parse --session-concurrency. Session concurrency must be > 0.');
      context.options.load.sessionConcurrency = sessions;
    },
  }),
  option({
    name: 'request-intervals',
    group,
    argument: 'file',
    help: 'File of the times between requests in microseconds, one a line; used over and over.',
    parse: text,
    set(context, value, given) {
      chooseMode(context, 'CustomIntervals');
      context.options.load.requestIntervalsFile = existingFile(value, given, '');
    },
  }),
  flag({
    name: 'fixed-schedule',
    group,
    help: 'Send every entry of the input data once, at the time that it states.',
    set: (context) => chooseMode(context, 'FixedSchedule'),
  }),
];

const REPLACED: readonly PerfOption[] = [
  ...(['start', 'end'] as const).map((end) =>
    option({
      name: '',
      short: end === 'start' ? 't' : 'c',
      argument: 'count',
      deprecated: true,
      help: `${end === 'start' ? 'Start' : 'End'} of the concurrency range.`,
      parse: text,
      set(context, value, given) {
        useDeprecatedConcurrency(context, given);
        const { load } = context.options;
        load.concurrency = { ...load.concurrency, [end]: uint64(value, given) };
      },
    }),
  ),
  flag({ name: '', short: 'd', deprecated: true, help: 'No effect.', set: useDeprecatedConcurrency }),
];

/** The options of the load. */
export const LOAD_OPTIONS: readonly PerfOption[] = [
  flag({
    name: 'async',
    short: 'a',
    group,
    help: 'Use the asynchronous client calls: every worker keeps its share of the requests outstanding.',
    into: ['load', 'async'],
  }),
  flag({
    name: 'sync',
    group,
    help: 'Use the synchronous client calls. Only sequence models are asynchronous by default.',
    into: ['load', 'forceSync'],
  }),
  flag({
    name: 'streaming',
    group,
    help: 'Send requests over one bidirectional gRPC stream per worker.',
    into: ['load', 'streaming'],
  }),
  ...RANGES,
  option({
    name: 'request-period',
    group,
    argument: 'responses',
    help: 'Responses per request before the periodic concurrency grows.',
    parse: atLeast(1, 'Failed to parse --request-period. The value must be > 0'),
    into: ['load', 'requestPeriod'],
  }),
  option({
    name: 'request-distribution',
    group,
    argument: '"poisson"|"constant"',
    help: 'Distribution of the times between requests of a rate.',
    parse: word<'constant' | 'poisson'>(['constant', 'poisson'], "Choices are 'posson' or 'constant'."),
    into: ['load', 'requestDistribution'],
  }),
  flag({
    name: 'binary-search',
    group,
    help: 'Search the highest level that keeps within the latency threshold by halving the range.',
    set({ options }) {
      options.load.search = 'binary';
    },
  }),
  option({
    name: 'max-threads',
    group,
    argument: 'count',
    help: 'Most workers that send requests.',
    default: '4, in concurrency mode 16 or the end of the range',
    parse: atLeast(1, 'Failed to parse --max-threads. The value must be > 0.'),
    set({ options: { load } }, count) {
      load.maxThreads = count;
      load.maxThreadsGiven = true;
    },
  }),
  option({
    name: 'request-count',
    group,
    argument: 'count',
    help: 'Send exactly this number of requests in one window, without a test of stability.',
    parse: atLeast(1, 'Failed to parse --request-count. The value must be > 0.'),
    set({ options: { load } }, count) {
      if (load.requestCount === 0) load.requestCount = count;
    },
  }),
  option({
    name: 'warmup-request-count',
    group,
    argument: 'count',
    help: 'Requests that are sent before the measurement begins.',
    parse: atLeast(0, 'Failed to parse --warmup-request-count. The value must be >= 0.'),
    into: ['load', 'warmupRequestCount'],
  }),
  ...REPLACED,
];
