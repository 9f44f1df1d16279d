import { readLoose } from '../../base/options/c-numbers.js';
import { atLeast, double, flag, option, type PerfOption, word } from './perf-option.js';

/** How a level is measured, and when it counts. Times are milliseconds. */
export interface MeasureOptions {
  readonly measurementMode: 'time_windows' | 'count_windows';
  readonly measurementInterval: number;
  readonly measurementRequestCount: number;
  /** Latency limit of a level; 0 = none. */
  readonly latencyThreshold: number;
  /** A fraction: 0.1 = 10 %. */
  readonly stabilityThreshold: number;
  readonly maxTrials: number;
  /** -1 = the average is what is stabilised and reported. */
  readonly percentile: number;
  /** A sweep goes on after a level that is not stable or over the limit; its row is marked. */
  readonly keepGoing: boolean;
  /** A sweep that stops early, or rows that are not stable, end with a status of their own. */
  readonly strict: boolean;
}

/** The values that hold when an option is not given. */
export const MEASURE_DEFAULTS: MeasureOptions = {
  measurementMode: 'time_windows',
  measurementInterval: 5000,
  measurementRequestCount: 50,
  latencyThreshold: 0,
  stabilityThreshold: 0.1,
  maxTrials: 10,
  percentile: -1,
  keepGoing: false,
  strict: false,
};

const group = 'Measurement';

/** The options of the measurement. */
export const MEASURE_OPTIONS: readonly PerfOption[] = [
  option({
    name: 'measurement-interval',
    short: 'p',
    group,
    argument: 'msec',
    help: 'Length of a time window; the window really lasts 1.2 times as long.',
    parse: atLeast(1, 'Failed to parse --measurement-interval (-p). The value must be > 0 msec.'),
    into: ['measure', 'measurementInterval'],
  }),
  option({
    name: 'measurement-mode',
    group,
    argument: '"time_windows"|"count_windows"',
    help: 'Windows end after a time or after a number of requests.',
    parse: word<'time_windows' | 'count_windows'>(
      ['time_windows', 'count_windows'],
      "The available options are 'time_windows' or 'count_windows'.",
    ),
    into: ['measure', 'measurementMode'],
  }),
  option({
    name: 'measurement-request-count',
    group,
    argument: 'count',
    help: 'Least number of requests in a count window.',
    parse: atLeast(1, 'Failed to parse --measurement-request-count. The value must be > 0.'),
    into: ['measure', 'measurementRequestCount'],
  }),
  option({
    name: 'latency-threshold',
    short: 'l',
    group,
    argument: 'msec',
    help: 'Latency limit: a level above it ends the sweep. 0 = none.',
    parse: atLeast(0, 'Failed to parse --latency-threshold (-l). The value must be >= 0 msecs.'),
    into: ['measure', 'latencyThreshold'],
  }),
  option({
    name: 'stability-percentage',
    short: 's',
    group,
    argument: 'percent',
    help: 'How far the last three windows may differ in throughput and latency.',
    default: '10',
    parse: atLeast(0, 'Failed to parse --stability-percentage (-s). The value must be >= 0.0.', double),
    set({ options }, percent) {
      options.measure.stabilityThreshold = percent / 100;
    },
  }),
  option({
    name: 'max-trials',
    short: 'r',
    group,
    argument: 'count',
    help: 'Most windows of a level.',
    parse: atLeast(1, 'Failed to parse --max-trials (-r). The value must be > 0.'),
    into: ['measure', 'maxTrials'],
  }),
  option({
    name: 'percentile',
    group,
    argument: 'percentile',
    help: 'Latency percentile that is stabilised, limited and reported instead of the average.',
    default: '-1 = the average',
    parse: readLoose,
    into: ['measure', 'percentile'],
  }),
  flag({
    name: 'keep-going',
    group,
    help: 'Measure every level of the range, also after one that is not stable or over the latency threshold. Its row says so.',
    into: ['measure', 'keepGoing'],
  }),
  flag({
    name: 'strict',
    group,
    help: 'End with status 4 when the range was not measured to its end, or (with --keep-going) not every level was stable and within the latency threshold. When no level could be measured the status is 2, with or without this option.',
    into: ['measure', 'strict'],
  }),
];
