import { formatG } from '../../base/format-g.js';
import { levelName } from '../levels/measured-level.js';
import type { SweepEnd } from '../levels/search-levels.js';
import type { StabilitySpread } from '../measure/stability.js';
import type { PerfOptions } from '../options/perf-options.js';

/**
 * The line for a sweep that stopped before the end of its range: where, why, by how much, and what to change. Undefined
 * when the sweep reached its end, or had none to reach.
 */
export function sweepEndLine(
  end: SweepEnd,
  spread: StabilitySpread | undefined,
  options: PerfOptions,
): string | undefined {
  const { measured, planned, level, last } = end;
  if (planned === undefined || measured >= planned || last.met) return undefined;
  const where = `stopped at level ${measured} of ${planned}: ${levelName(options.load).toLowerCase()} ${formatG(level)}`;
  const goOn = 'or measure all levels with --keep-going';
  if (last.overLimit) {
    return `${where} is over the latency threshold of ${options.measure.latencyThreshold} msec. Raise -l, ${goOn}.`;
  }
  const window =
    options.measure.measurementMode === 'time_windows' ? '--measurement-interval' : '--measurement-request-count';
  return `${where} is not stable: ${spreadText(spread)}, the bound is ${percent(options.measure.stabilityThreshold)} (-s). Raise ${window} or -s, ${goOn}.`;
}

function spreadText(spread: StabilitySpread | undefined): string {
  if (spread === undefined || !Number.isFinite(spread.throughput) || !Number.isFinite(spread.latency)) {
    return 'a measurement window held no request';
  }
  return `in the last windows throughput varied by ${percent(spread.throughput)} and latency by ${percent(spread.latency)}`;
}

/** `12.3 %` of a fraction. */
function percent(fraction: number): string {
  return `${Number((100 * fraction).toFixed(1))} %`;
}
