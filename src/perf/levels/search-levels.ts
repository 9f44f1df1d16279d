import type { SearchRange } from '../options/load-options.js';

/** How a level ended: within the limit and stable (`met`), or why not. */
export interface LevelVerdict {
  readonly met: boolean;
  readonly stable: boolean;
  readonly overLimit: boolean;
}

/** How a sweep from level to level ended. */
export interface SweepEnd {
  /** Levels that were measured. */
  readonly measured: number;
  /** Levels that the range holds; undefined where it has no end. */
  readonly planned: number | undefined;
  /** The level that was measured last and what became of it. */
  readonly level: number;
  readonly last: LevelVerdict;
}

/**
 * Goes through the levels of a range: one after the other until one is over the limit or unstable, by halving, or just
 * the first. `keepGoing`: a sweep is measured to its end whatever its levels are like. Resolves with the end of a sweep,
 * with undefined for the other kinds of search.
 */
export async function searchLevels(
  { search, keepGoing }: { readonly search: 'linear' | 'binary' | 'none'; readonly keepGoing: boolean },
  range: SearchRange,
  isInteger: boolean,
  profile: (level: number) => Promise<LevelVerdict>,
): Promise<SweepEnd | undefined> {
  if (search === 'linear') return searchLinear(range, keepGoing, profile);
  if (search === 'none') await profile(range.start);
  else await searchBinary(range, isInteger, profile);
  return undefined;
}

async function searchLinear(
  { start, end, step }: SearchRange,
  keepGoing: boolean,
  profile: (level: number) => Promise<LevelVerdict>,
): Promise<SweepEnd> {
  let last: LevelVerdict;
  let measured = 0;
  let level = start;
  let next = start;
  do {
    level = next;
    last = await profile(level);
    measured += 1;
    next = level + step;
  } while ((last.met || keepGoing) && (next <= end || end === 0));
  return { measured, planned: end === 0 ? undefined : plannedLevels(start, end, step), level, last };
}

/** Levels from `start` to `end`; at least the first. Counted as the sweep counts, so that fractions round alike. */
function plannedLevels(start: number, end: number, step: number): number {
  if (step <= 0 || end < start) return 1;
  return Math.floor((end - start) / step + 1e-9) + 1;
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
