import type { SearchRange } from './options/perf-options.js';
import { PerfError, PerfExit } from './perf-error.js';

/** How a level ended: within the limit and stable (`met`), or why not. */
export interface LevelVerdict {
  readonly met: boolean;
  readonly stable: boolean;
}

/**
 * Goes through the levels of a range: one after the other until one is over the limit or unstable, by halving, or just
 * the first (spec of the load generator, section 5). Throws `Failed to obtain stable measurement.` when the only level
 * of a sweep was unstable.
 */
export async function searchLevels(
  search: 'linear' | 'binary' | 'none',
  range: SearchRange,
  isInteger: boolean,
  profile: (level: number) => Promise<LevelVerdict>,
): Promise<void> {
  if (search === 'none') await profile(range.start);
  else if (search === 'linear') await searchLinear(range, profile);
  else await searchBinary(range, isInteger, profile);
}

async function searchLinear(range: SearchRange, profile: (level: number) => Promise<LevelVerdict>): Promise<void> {
  let verdict: LevelVerdict;
  let levels = 0;
  let level = range.start;
  do {
    verdict = await profile(level);
    levels += 1;
    level += range.step;
  } while (verdict.met && (level <= range.end || range.end === 0));
  if (levels === 1 && !verdict.stable) {
    throw new PerfError('Failed to obtain stable measurement.', { exit: PerfExit.STABILITY });
  }
}

async function searchBinary(
  range: SearchRange,
  isInteger: boolean,
  profile: (level: number) => Promise<LevelVerdict>,
): Promise<void> {
  if (!(await profile(range.start)).met) return;
  if ((await profile(range.end)).met) return;
  let low = range.start;
  let high = range.end;
  while (high - low > range.step) {
    const middle = isInteger ? Math.floor((high + low) / 2) : (high + low) / 2;
    if ((await profile(middle)).met) low = middle;
    else high = middle;
  }
}
