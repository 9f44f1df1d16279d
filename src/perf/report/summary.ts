import { stabilizingNs } from '../measure/latency.js';
import type { WindowResult } from '../measure/window.js';
import type { PerfOptions } from '../options/perf-options.js';
import { formatG } from './format-number.js';
import { usec } from './level-report.js';

/** A level that is reported: stable and within the limit, unless it is marked. */
export interface ReportedLevel {
  /** Concurrency or requests per second. */
  readonly level: number;
  readonly result: WindowResult;
  /** Why its figures are to be taken with care (--keep-going). */
  readonly mark?: LevelMark | undefined;
}

/** What may be wrong with a level that is reported all the same. */
export type LevelMark = 'unstable' | 'over limit';

/** `Concurrency` or `Request Rate`: what levels of this run are. */
export function levelName({ loadMode }: PerfOptions): 'Concurrency' | 'Request Rate' {
  return loadMode === 'Concurrency' ? 'Concurrency' : 'Request Rate';
}

/** The lines at the end of a run (spec, section 13.3); none without a level. */
export function summary(levels: readonly ReportedLevel[], options: PerfOptions): string[] {
  if (levels.length === 0) return [];
  const value = options.percentile === -1 ? 'Average' : `p${options.percentile}`;
  const name = levelName(options);
  return [
    `Inferences/Second vs. Client ${value} Batch Latency`,
    ...levels.map(({ level, result, mark }) => {
      const latency = usec(stabilizingNs(result.latency, options.percentile));
      const note = mark === undefined ? '' : ` (${mark})`;
      return `${name}: ${formatG(level)}, throughput: ${formatG(result.throughput)} infer/sec, latency ${latency} usec${note}`;
    }),
  ];
}
