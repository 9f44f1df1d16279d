import { existsSync } from 'node:fs';
import { text } from '../../base/options/parse-value.js';
import { usageError } from '../error/perf-error.js';
import { flag, option, type PerfOption } from './perf-option.js';

/** What is reported, and where. */
export interface ReportOptions {
  /** 0, 1 (more lines) or 2 (also what goes over the wire). */
  readonly verbosity: number;
  /** '' = none. */
  readonly reportFile: string;
  readonly verboseCsv: boolean;
  /** '' = none. */
  readonly profileExportFile: string;
  /** Table, chart and progress although stdout is not a terminal. */
  readonly chart: boolean;
}

/** The values that hold when an option is not given. */
export const REPORT_DEFAULTS: ReportOptions = {
  verbosity: 0,
  reportFile: '',
  verboseCsv: false,
  profileExportFile: '',
  chart: false,
};

const group = 'Report';

/** The options of the report. */
export const REPORT_OPTIONS: readonly PerfOption[] = [
  flag({
    name: '',
    short: 'v',
    group,
    help: 'A line for every window and finer times; twice: also what goes over the wire.',
    set({ options: { report } }) {
      report.verbosity += 1;
    },
  }),
  option({
    name: '',
    short: 'f',
    group,
    argument: 'file',
    help: 'Write the report in CSV format.',
    parse: text,
    into: ['report', 'reportFile'],
  }),
  flag({
    name: 'verbose-csv',
    group,
    help: 'More columns in the CSV file.',
    into: ['report', 'verboseCsv'],
  }),
  option({
    name: 'profile-export-file',
    group,
    argument: 'path',
    help: 'Write every request to a JSON file, which must not exist.',
    parse(path: string) {
      if (existsSync(path)) throw usageError('Failed to parse --profile-export-file. Path must not already exist.');
      return path;
    },
    into: ['report', 'profileExportFile'],
  }),
  flag({
    name: 'chart',
    group,
    help: 'Show progress on stderr and end with a table and a chart, also when stdout is not a terminal.',
    into: ['report', 'chart'],
  }),
];
