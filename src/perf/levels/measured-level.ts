/** What is known of a level once it was measured. */
import type { RequestDetail } from '../load/load-messages.js';
import type { WindowResult } from '../measure/window.js';
import type { LoadOptions } from '../options/load-options.js';

/** What may be wrong with a level that is reported all the same. */
export type LevelMark = 'unstable' | 'over limit';

/** A level that is reported: stable and within the limit, unless it is marked. */
export interface ReportedLevel {
  /** Concurrency or requests per second. */
  readonly level: number;
  readonly result: WindowResult;
  /** Why its figures are to be taken with care (--keep-going). */
  readonly mark?: LevelMark | undefined;
}

/** Requests of a level for the profile export. */
export interface LevelDetails {
  readonly requests: RequestDetail[];
  /** Start of the first window, then the end of each, in nanoseconds of the monotonic clock. */
  readonly boundariesNs: number[];
}

/** A level with all its requests. */
export interface ExportedLevel extends LevelDetails {
  readonly level: number;
}

/** `Concurrency` or `Request Rate`: what levels of a run are. */
export function levelName({ loadMode }: Pick<LoadOptions, 'loadMode'>): 'Concurrency' | 'Request Rate' {
  return loadMode === 'Concurrency' ? 'Concurrency' : 'Request Rate';
}
