import { PerfError, PerfExit } from '../error/perf-error.js';
import type { GpuPoll } from './gpu-metrics.js';
import type { LatencyFigures } from './latency.js';
import { latencyFigures } from './latency.js';
import {
  FLAG_DELAYED,
  FLAG_SEQUENCE_END,
  RECORD_END,
  RECORD_FLAGS,
  RECORD_RESPONSES,
  RECORD_START,
} from './records.js';
import type { ServerStats } from './server-stats.js';
import { mergeServerStats } from './server-stats.js';

/** What the client side counted in a window, besides the requests themselves. */
export interface ClientCounters {
  /** Calls that were completed. */
  completed: number;
  /** Summed times of these calls in nanoseconds. */
  requestNs: number;
  sendNs: number;
  receiveNs: number;
  /** Requests that were sent. */
  sent: number;
}

/** A window, or several merged: everything that the reports show. */
export interface WindowResult {
  readonly startNs: number;
  readonly endNs: number;
  /** Length; of merged windows the sum. */
  readonly durationNs: number;
  readonly batchSize: number;
  readonly requestCount: number;
  readonly sequenceCount: number;
  readonly delayedCount: number;
  readonly responseCount: number;
  /** Nanoseconds, ascending. */
  readonly latencies: Float64Array;
  readonly latency: LatencyFigures;
  /** Inferences per second. */
  readonly throughput: number;
  /** Non-empty responses per second. */
  readonly responseThroughput: number;
  /** Sequences per second. */
  readonly sequenceRate: number;
  /** Requests sent per second. */
  readonly sendRate: number;
  /** Share of the time in which workers had no request outstanding, percent. */
  readonly overheadPercent: number;
  /** Busiest load thread's event loop, 0..1. */
  readonly utilization: number;
  readonly completedCount: number;
  /** Averages per call in whole nanoseconds. */
  readonly avgRequestNs: number;
  readonly avgSendNs: number;
  readonly avgReceiveNs: number;
  /** Undefined when the server has no statistics. */
  readonly server: ServerStats | undefined;
  /** What the metrics endpoint showed; undefined when it was not asked. */
  readonly gpuPolls: readonly GpuPoll[] | undefined;
}

/** What a window is computed from. */
export interface WindowInput {
  readonly startNs: number;
  readonly endNs: number;
  readonly batchSize: number;
  readonly percentile: number;
  /** Records that count. */
  readonly records: readonly Float64Array[];
  readonly counters: ClientCounters;
  readonly overheadPercent: number;
  readonly utilization: number;
  readonly server: ServerStats | undefined;
  readonly gpuPolls: readonly GpuPoll[] | undefined;
}

const ONE_REQUEST =
  'WARNING: Pass contained only one request, so sample latency standard deviation will be infinity (UINT64_MAX).';

/** Computes a window. Without a request: PerfError with status 3. */
export function computeWindow(input: WindowInput, warn: (line: string) => void): WindowResult {
  const { records, counters } = input;
  if (records.length === 0) {
    throw new PerfError('No valid requests recorded within time interval. Please use a larger time window.', {
      exit: PerfExit.OPTION,
    });
  }
  const latencies = new Float64Array(records.length);
  let sequenceCount = 0;
  let delayedCount = 0;
  let responseCount = 0;
  records.forEach((record, i) => {
    latencies[i] = (record[RECORD_END] as number) - (record[RECORD_START] as number);
    const flags = record[RECORD_FLAGS] as number;
    if (flags & FLAG_SEQUENCE_END) sequenceCount += 1;
    if (flags & FLAG_DELAYED) delayedCount += 1;
    responseCount += record[RECORD_RESPONSES] as number;
  });
  latencies.sort();
  const durationNs = input.endNs - input.startNs;
  const seconds = Math.fround(durationNs / 1e9);
  const average = (total: number): number => (counters.completed === 0 ? 0 : Math.floor(total / counters.completed));
  if (latencies.length === 1) warn(ONE_REQUEST);
  return {
    startNs: input.startNs,
    endNs: input.endNs,
    durationNs,
    batchSize: input.batchSize,
    requestCount: records.length,
    sequenceCount,
    delayedCount,
    responseCount,
    latencies,
    latency: latencyFigures(latencies, input.percentile),
    throughput: perSecond(records.length * Math.max(input.batchSize, 1), seconds),
    responseThroughput: perSecond(responseCount, seconds),
    sequenceRate: perSecond(sequenceCount, seconds),
    sendRate: perSecond(counters.sent, seconds),
    overheadPercent: input.overheadPercent,
    utilization: input.utilization,
    completedCount: counters.completed,
    avgRequestNs: average(counters.requestNs),
    avgSendNs: average(counters.sendNs),
    avgReceiveNs: average(counters.receiveNs),
    server: input.server,
    gpuPolls: input.gpuPolls,
  };
}

/** Merges the windows of a stable level (MergePerfStatusReports of perf_analyzer's inference_profiler.cc). */
export function mergeWindows(
  windows: readonly WindowResult[],
  percentile: number,
  warn: (line: string) => void,
): WindowResult {
  const first = windows[0] as WindowResult;
  const last = windows.at(-1) as WindowResult;
  const sum = (pick: (window: WindowResult) => number): number =>
    windows.reduce((total, window) => total + pick(window), 0);
  const completedCount = sum((w) => w.completedCount);
  const weighted = (pick: (window: WindowResult) => number): number =>
    completedCount === 0 ? 0 : Math.floor(sum((w) => pick(w) * w.completedCount) / completedCount);
  const latencies = new Float64Array(sum((w) => w.latencies.length));
  let offset = 0;
  for (const window of windows) {
    latencies.set(window.latencies, offset);
    offset += window.latencies.length;
  }
  latencies.sort();
  const durationNs = sum((w) => w.durationNs);
  const seconds = Math.fround(durationNs / 1e9);
  const requestCount = sum((w) => w.requestCount);
  const responseCount = sum((w) => w.responseCount);
  const sequenceCount = sum((w) => w.sequenceCount);
  const servers = windows.flatMap((window) => (window.server === undefined ? [] : [window.server]));
  if (latencies.length === 1) warn(ONE_REQUEST);
  return {
    startNs: first.startNs,
    endNs: last.endNs,
    durationNs,
    batchSize: first.batchSize,
    requestCount,
    sequenceCount,
    delayedCount: sum((w) => w.delayedCount),
    responseCount,
    latencies,
    latency: latencyFigures(latencies, percentile),
    throughput: perSecond(requestCount * Math.max(first.batchSize, 1), seconds),
    responseThroughput: perSecond(responseCount, seconds),
    sequenceRate: perSecond(sequenceCount, seconds),
    sendRate: sum((w) => w.sendRate) / windows.length,
    overheadPercent: sum((w) => w.overheadPercent) / windows.length,
    utilization: sum((w) => w.utilization) / windows.length,
    completedCount,
    avgRequestNs: weighted((w) => w.avgRequestNs),
    avgSendNs: weighted((w) => w.avgSendNs),
    avgReceiveNs: weighted((w) => w.avgReceiveNs),
    server: servers.length === 0 ? undefined : mergeServerStats(servers),
    gpuPolls: first.gpuPolls && windows.flatMap((window) => window.gpuPolls ?? []),
  };
}

/** perf_analyzer divides in 32-bit floating point. */
function perSecond(count: number, seconds: number): number {
  return Math.fround(Math.fround(count) / seconds);
}
