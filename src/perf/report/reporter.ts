import type { InputData } from '../input/input-data.js';
import type { ExportedLevel, ReportedLevel } from '../levels/measured-level.js';
import type { PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';

/** What reports have to know besides the figures. */
export interface ReportContext {
  readonly options: PerfOptions;
  readonly model: PerfModel;
}

/** A run before its first request. */
export interface ReportedRun extends ReportContext {
  readonly data: InputData;
}

/** A run with what was measured. */
export interface FinishedRun extends ReportedRun {
  /** The levels that count, in the order in which they were measured. */
  readonly levels: readonly ReportedLevel[];
  /** Every level that was begun, with its requests where the options ask for them. */
  readonly exported: readonly ExportedLevel[];
}

/** Where reports go, besides files. */
export interface ReportOutput {
  /** A line to stdout. */
  print(line: string): void;
  /** A line to stderr. */
  warn(line: string): void;
  /** Version of this program. */
  readonly version: string;
  /** True when a table and charts of the levels are wanted on stdout. */
  readonly chart: boolean;
}

/** One form of report. It does what it has to at each of these points of a run; a run that fails has no end. */
export interface Reporter {
  /** The model and its data are known, nothing was measured yet. */
  runBegan?(run: ReportedRun): void;
  /** A level that counts was measured. */
  levelFinished?(level: ReportedLevel, run: ReportedRun): void;
  /** All was measured. Throws a PerfError for a report that cannot be written. */
  runFinished?(run: FinishedRun): void;
}

/** Makes the reporter of a run before its first request. Throws a PerfError for a file that cannot be written. */
export type MakeReporter = (options: PerfOptions, output: ReportOutput) => Reporter;
