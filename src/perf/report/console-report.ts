import { formatG } from '../../base/format-g.js';
import { levelName, type ReportedLevel } from '../levels/measured-level.js';
import { stabilizingNs } from '../measure/latency.js';
import type { PerfOptions } from '../options/perf-options.js';
import { levelReport, usec } from './level-report.js';
import type { Reporter, ReportOutput } from './reporter.js';
import { settingsBlock } from './settings-block.js';

/** The report on stdout: the settings, every level, the summary. */
export function consoleReport(_: PerfOptions, { print, warn }: ReportOutput): Reporter {
  return {
    runBegan({ options, model }) {
      print(settingsBlock(options, model).slice(0, -1));
    },
    levelFinished({ result }, run) {
      for (const line of levelReport(result, run, warn)) print(line);
    },
    runFinished({ levels, options }) {
      for (const line of summary(levels, options)) print(line);
    },
  };
}

/** The lines at the end of a run, as perf_analyzer prints them; none without a level. */
export function summary(levels: readonly ReportedLevel[], options: PerfOptions): string[] {
  if (levels.length === 0) return [];
  const value = options.measure.percentile === -1 ? 'Average' : `p${options.measure.percentile}`;
  const name = levelName(options.load);
  return [
    `Inferences/Second vs. Client ${value} Batch Latency`,
    ...levels.map(({ level, result, mark }) => {
      const latency = usec(stabilizingNs(result.latency, options.measure.percentile));
      const note = mark === undefined ? '' : ` (${mark})`;
      return `${name}: ${formatG(level)}, throughput: ${formatG(result.throughput)} infer/sec, latency ${latency} usec${note}`;
    }),
  ];
}
