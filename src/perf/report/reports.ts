import type { ReportedLevel } from '../levels/measured-level.js';
import type { PerfOptions } from '../options/perf-options.js';
import type { FinishedRun, MakeReporter, ReportedRun, Reporter, ReportOutput } from './reporter.js';

/** A form of report: when it is wanted, and its code, which is loaded only then. */
interface Form {
  wanted(options: PerfOptions, output: ReportOutput): boolean;
  load(): Promise<MakeReporter>;
}

/** Every form of report, in the order in which they are made. A new one is a file and a line here. */
const FORMS: readonly Form[] = [
  { wanted: () => true, load: async () => (await import('./console-report.js')).consoleReport },
  {
    wanted: ({ report: { reportFile } }) => reportFile !== '',
    load: async () => (await import('./csv-report.js')).csvReport,
  },
  {
    wanted: ({ report: { profileExportFile } }) => profileExportFile !== '',
    load: async () => (await import('./profile-export.js')).profileExport,
  },
  { wanted: (_, { chart }) => chart, load: async () => (await import('./chart.js')).chartReport },
];

/** The reports that the options of a run ask for, as one. */
export class Reports implements Required<Reporter> {
  readonly #reporters: readonly Reporter[];

  private constructor(reporters: readonly Reporter[]) {
    this.#reporters = reporters;
  }

  /** Rejects with a PerfError where a file cannot be written. */
  static async open(options: PerfOptions, output: ReportOutput): Promise<Reports> {
    const wanted = FORMS.filter((form) => form.wanted(options, output));
    const makers = await Promise.all(wanted.map((form) => form.load()));
    return new Reports(makers.map((make) => make(options, output)));
  }

  runBegan(run: ReportedRun): void {
    for (const reporter of this.#reporters) reporter.runBegan?.(run);
  }

  levelFinished(level: ReportedLevel, run: ReportedRun): void {
    for (const reporter of this.#reporters) reporter.levelFinished?.(level, run);
  }

  /** A report that cannot be written does not take the others with it: the first error is thrown when all were made. */
  runFinished(run: FinishedRun): void {
    const faults: unknown[] = [];
    for (const reporter of this.#reporters) {
      try {
        reporter.runFinished?.(run);
      } catch (fault) {
        faults.push(fault);
      }
    }
    if (faults.length > 0) throw faults[0];
  }
}
