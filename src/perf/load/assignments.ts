import { readFileSync } from 'node:fs';
import { PerfError } from '../error/perf-error.js';
import type { InputData } from '../input/input-data.js';
import type { PerfOptions } from '../options/perf-options.js';
import type { WorkerAssignment } from './load-messages.js';

/** A load: what each worker does. Schedules begin at time 0 until they are started. */
export type LoadPlan = readonly WorkerAssignment[];

/** Shares `total` over `parts`: the first ones get one more. */
export function shares(total: number, parts: number): number[] {
  return Array.from({ length: parts }, (_, i) => Math.floor(total / parts) + (i < total % parts ? 1 : 0));
}

/** What the load of a level depends on besides the level. */
export interface PlanContext {
  readonly options: PerfOptions;
  readonly data: InputData;
  readonly isSequence: boolean;
  /** Nanoseconds; empty unless the load goes by a file of intervals. */
  readonly intervalsNs: readonly number[];
}

/** The load of a level, in whatever mode the run has; `count` = number of requests in all, 0 = no limit. */
export function planOf(
  { options, data, isSequence, intervalsNs }: PlanContext,
  level: number,
  count: number,
  phase: 'warmup' | 'measure',
): LoadPlan {
  switch (options.load.loadMode) {
    case 'RequestRate':
      return ratePlan(level, options, isSequence, count);
    case 'CustomIntervals':
      return intervalsPlan(intervalsNs, options, isSequence, count);
    case 'FixedSchedule': {
      const split = options.load.warmupRequestCount;
      return phase === 'warmup'
        ? fixedPlan(data, options, 0, split)
        : fixedPlan(data, options, split, data.streams[0]?.length ?? 0);
    }
    default:
      return concurrencyPlan(phase === 'warmup' ? Math.min(level, count) : level, options, count);
  }
}

/** `level` requests outstanding; `count` = number of requests in all, 0 = no limit. */
export function concurrencyPlan(level: number, options: PerfOptions, count = 0): LoadPlan {
  // A synchronous worker has one request outstanding, so it takes one for each unit of concurrency.
  const workers = options.load.async ? Math.min(level, options.load.maxThreads) : level;
  const slots = shares(level, workers);
  return withLimits(
    slots.map((share, index) => ({ index, slots: share })),
    count,
  );
}

/** Requests at a rate per second. */
export function ratePlan(rate: number, options: PerfOptions, isSequence: boolean, count = 0): LoadPlan {
  const workers = scheduledWorkers(options, isSequence);
  const intervals =
    options.load.requestDistribution === 'poisson'
      ? poissonIntervals(rate, (options.measure.maxTrials * options.measure.measurementInterval) / 1000)
      : [1e9 / rate];
  return withLimits(dealIntervals(intervals, workers, slotsOf(options, isSequence, workers)), count);
}

/** Requests at the intervals of a file. */
export function intervalsPlan(
  intervalsNs: readonly number[],
  options: PerfOptions,
  isSequence: boolean,
  count = 0,
): LoadPlan {
  const workers = scheduledWorkers(options, isSequence);
  return withLimits(dealIntervals(intervalsNs, workers, slotsOf(options, isSequence, workers)), count);
}

/** The entries `from` to `to` of a fixed schedule, each sent once at its time. */
export function fixedPlan(data: InputData, options: PerfOptions, from: number, to: number): LoadPlan {
  const entries = (data.streams[0] ?? [])
    .map((step, index) => ({ index, timeNs: (step.timestamp ?? 0) * 1e6 }))
    .slice(from, to)
    .sort((a, b) => a.timeNs - b.timeNs);
  const workers = Math.min(options.load.maxThreads, entries.length);
  return Array.from({ length: workers }, (_, index) => {
    const own = entries.filter((_, i) => i % workers === index);
    const schedule = {
      startNs: 0,
      offsetsNs: Float64Array.from(own, ({ timeNs }) => timeNs),
      roundNs: 0,
      steps: own.map((entry) => entry.index),
    };
    return { index, slots: 1, limit: own.length, schedule };
  });
}

/** Reads a file of intervals: nanoseconds. Throws for what is not a number and for an empty file. */
export function readIntervals(path: string): number[] {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch {
    throw new PerfError(`error: failed to open file '${path}'`);
  }
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new PerfError(`error: file '${path}' is empty`);
  return lines.map((line) => {
    const match = /^\s*([+-]?\d+)/.exec(line);
    if (match === null) {
      throw new PerfError(`error: file '${path}' holds a line that is not a number of microseconds: '${line}'`);
    }
    return Number(match[1]) * 1000;
  });
}

/** Rate of a list of intervals: whole requests per second. */
export function rateOfIntervals(intervalsNs: readonly number[]): number {
  const total = intervalsNs.reduce((sum, interval) => sum + interval, 0);
  return Math.floor((intervalsNs.length * 1e9) / total);
}

function scheduledWorkers(options: PerfOptions, isSequence: boolean): number {
  return isSequence ? Math.min(options.load.maxThreads, options.sequence.numOfSequences) : options.load.maxThreads;
}

function slotsOf(options: PerfOptions, isSequence: boolean, workers: number): number[] {
  return isSequence ? shares(options.sequence.numOfSequences, workers) : shares(workers, workers);
}

/** Most sends that a list of offsets holds; a longer distribution is cut there and begins again. */
const MAX_SENDS = 1_000_000;

/** Exponentially distributed gaps with a mean of 1/rate, the same on every run, for a duration in seconds. */
export function poissonIntervals(rate: number, seconds: number): number[] {
  let state = 0x2545f491;
  const random = (): number => {
    // Weyl sequence with a mixing step (mulberry32): 32 good bits, and it never repeats within a list.
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const intervals: number[] = [];
  let total = 0;
  while (total < seconds * 1e9 && intervals.length < MAX_SENDS) {
    const gap = (-Math.log(1 - random()) * 1e9) / rate;
    intervals.push(gap);
    total += gap;
  }
  return intervals;
}

/** Deals the sends of a list that is repeated for ever to the workers in turn. */
export function dealIntervals(intervalsNs: readonly number[], workers: number, slots: readonly number[]): LoadPlan {
  // After this number of rounds the list and the dealing begin together again.
  const rounds = workers / gcd(intervalsNs.length, workers);
  const offsets: number[][] = Array.from({ length: workers }, () => []);
  let time = 0;
  let send = 0;
  for (let round = 0; round < rounds; round++) {
    for (const interval of intervalsNs) {
      time += interval;
      (offsets[send % workers] as number[]).push(time);
      send += 1;
    }
  }
  return offsets.map((own, index) => ({
    index,
    slots: slots[index] as number,
    schedule: { startNs: 0, offsetsNs: Float64Array.from(own), roundNs: time },
  }));
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Gives each worker its share of a number of requests. Workers without one send nothing. */
function withLimits(plan: LoadPlan, count: number): LoadPlan {
  if (count === 0) return plan;
  const limits = shares(count, plan.length);
  return plan.map((worker, i) => ({ ...worker, limit: limits[i] as number }));
}
