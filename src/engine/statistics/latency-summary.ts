import type { SummaryValues } from '../../contract/statistics.js';

/** Observations older than this no longer count for quantiles, in ms; the same window as Triton's. */
const WINDOW_MS = 60_000;
const SLICES = 5;
const SLICE_MS = WINDOW_MS / SLICES;

/** Values below this are kept exactly, larger ones in steps of 1/1024 of their power of two. */
const EXACT = 1024;

/**
 * Quantiles of non-negative whole numbers over the last minute, with a fixed effort per observation: values are counted
 * in steps of at most 0.1 %, in slices of 12 seconds that go out of use one by one. Ranks are exact, so the result lies
 * within every error that a client may have asked for.
 */
export class LatencySummary {
  readonly #quantiles: readonly number[];
  readonly #nowMs: () => number;
  readonly #slices: Map<number, number>[] = Array.from({ length: SLICES }, () => new Map<number, number>());
  #slice = 0;
  #sliceEndMs: number;
  #count = 0;
  #sum = 0;

  /** `quantiles`: those wanted, 0 to 1. `nowMs`: a monotonic clock. */
  constructor(quantiles: readonly number[], nowMs: () => number = () => performance.now()) {
    this.#quantiles = quantiles;
    this.#nowMs = nowMs;
    this.#sliceEndMs = nowMs() + SLICE_MS;
  }

  observe(value: number): void {
    this.#rotate();
    this.#count++;
    this.#sum += value;
    const step = stepOf(value);
    const slice = this.#slices[this.#slice]!;
    slice.set(step, (slice.get(step) ?? 0) + 1);
  }

  values(): SummaryValues {
    this.#rotate();
    const counts = new Map<number, number>();
    let total = 0;
    for (const slice of this.#slices) {
      for (const [step, count] of slice) {
        counts.set(step, (counts.get(step) ?? 0) + count);
        total += count;
      }
    }
    const steps = [...counts].sort(([a], [b]) => a - b);
    const quantiles = this.#quantiles.map((quantile): [number, number] => [quantile, valueAt(steps, total, quantile)]);
    return { count: this.#count, sum: this.#sum, quantiles };
  }

  /** Begins new slices as time goes on; the oldest one makes room. */
  #rotate(): void {
    const now = this.#nowMs();
    if (now < this.#sliceEndMs) return;
    if (now >= this.#sliceEndMs + WINDOW_MS) {
      for (const slice of this.#slices) slice.clear();
      this.#sliceEndMs = now + SLICE_MS;
      return;
    }
    while (now >= this.#sliceEndMs) {
      this.#slice = (this.#slice + 1) % SLICES;
      this.#slices[this.#slice]!.clear();
      this.#sliceEndMs += SLICE_MS;
    }
  }
}

/** The value below or at which a share of all observations lies. */
function valueAt(steps: readonly (readonly [step: number, count: number])[], total: number, quantile: number): number {
  if (total === 0) return Number.NaN;
  const rank = Math.min(total, Math.max(1, Math.ceil(quantile * total)));
  let below = 0;
  for (const [step, count] of steps) {
    below += count;
    if (below >= rank) return smallestOf(step);
  }
  return Number.NaN;
}

function stepOf(value: number): number {
  if (value < EXACT) return value;
  const power = Math.floor(Math.log2(value)) - 10;
  return EXACT * (power + 1) + (Math.floor(value / 2 ** power) - EXACT);
}

/** The smallest value of a step. */
function smallestOf(step: number): number {
  if (step < EXACT) return step;
  const power = Math.floor(step / EXACT) - 1;
  return ((step % EXACT) + EXACT) * 2 ** power;
}
