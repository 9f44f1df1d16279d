import { formatG } from '../../base/format-g.js';
import { PerfError } from '../error/perf-error.js';
import { deviationText, stabilizingNs } from '../measure/latency.js';
import { averageUs } from '../measure/server-latency.js';
import type { WindowResult } from '../measure/window.js';
import { isSequenceModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import { gpuReport } from './gpu-report.js';
import type { ReportContext } from './reporter.js';
import { serverReport } from './server-report.js';

/** Share of delayed requests above which a level says so, percent. */
const DELAYED_LIMIT = 1;
/** Share of its own work above which the tool doubts its figures, percent. */
const OVERHEAD_LIMIT = 50;
/** Utilisation of a load thread's event loop above which the tool itself is the limit. */
export const SATURATED = 0.95;

/** Whole microseconds of nanoseconds. */
export function usec(ns: number): number {
  return Math.floor(ns / 1000);
}

/** `  Pass [1] throughput: ...`: the line of a window, or of the error that it ended with. */
export function passLine(index: number, window: WindowResult | PerfError, percentile: number): string {
  if (window instanceof PerfError) return `  Pass [${index}] cb::Error: ${window.message}`;
  const head = `  Pass [${index}] throughput: ${formatG(window.throughput)} infer/sec.`;
  const value = usec(stabilizingNs(window.latency, percentile));
  if (percentile !== -1) return `${head} p${percentile} latency: ${value} usec`;
  return `${head} Avg latency: ${value} usec (std ${deviationText(window.latency.deviationUs)} usec). `;
}

/** The report of a level, as lines (report_writer.cc and inference_profiler.cc of perf_analyzer). `warn` gets what goes to stderr. */
export function levelReport(result: WindowResult, context: ReportContext, warn: (line: string) => void): string[] {
  const lines = [...clientReport(result, context)];
  if (result.server !== undefined) lines.push('  Server: ', ...serverReport(result.server, context.model, warn));
  if (result.gpuPolls !== undefined) lines.push(...gpuReport(result.gpuPolls));
  if (isOverloaded(result)) {
    lines.push(
      '[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate.',
    );
  }
  return lines;
}

/** True when the figures say more about this tool than about the server. */
export function isOverloaded(result: WindowResult): boolean {
  return result.overheadPercent > OVERHEAD_LIMIT || result.utilization > SATURATED;
}

function clientReport(result: WindowResult, { options, model }: ReportContext): string[] {
  const lines = ['  Client: ', `    Request count: ${result.requestCount}`];
  const delayed = (result.delayedCount / result.requestCount) * 100;
  if (delayed > DELAYED_LIMIT) {
    lines.push(
      `    Avg send request rate: ${result.sendRate.toFixed(2)} infer/sec`,
      `    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. ${delayed.toFixed(2)}% of the requests were delayed. `,
    );
  }
  if (isSequenceModel(model)) {
    lines.push(`    Sequence count: ${result.sequenceCount} (${formatG(result.sequenceRate)} seq/sec)`);
  }
  lines.push(`    Throughput: ${formatG(result.throughput)} infer/sec`);
  if (model.decoupled) lines.push(`    Response Throughput: ${formatG(result.responseThroughput)} infer/sec`);
  if (options.report.verbosity > 0) lines.push(`    Avg client overhead: ${result.overheadPercent.toFixed(2)}%`);
  if (options.measure.percentile === -1) {
    const deviation = deviationText(result.latency.deviationUs);
    lines.push(`    Avg latency: ${usec(result.latency.averageNs)} usec (standard deviation ${deviation} usec)`);
  }
  for (const [percentile, ns] of result.latency.percentilesNs) {
    lines.push(`    p${percentile} latency: ${usec(ns)} usec`);
  }
  lines.push(`    ${model.decoupled ? '' : clientLibrary(result, options)}`);
  return lines;
}

function clientLibrary(result: WindowResult, { connection: { protocol }, report: { verbosity } }: PerfOptions): string {
  const send = usec(result.avgSendNs);
  const receive = usec(result.avgReceiveNs);
  const total = averageUs(result.avgRequestNs, 1);
  const wait = Math.max(0, total - send - receive);
  if (protocol === 'grpc') {
    return verbosity > 0
      ? `Avg gRPC time: ${total} usec (marshal ${send} usec + response wait ${wait} usec + unmarshal ${receive} usec)`
      : `Avg gRPC time: ${total} usec ((un)marshal request/response ${send + receive} usec + response wait ${wait} usec)`;
  }
  return verbosity > 0
    ? `Avg HTTP time: ${total} usec (send ${send} usec + response wait ${wait} usec + receive ${receive} usec)`
    : `Avg HTTP time: ${total} usec (send/recv ${send + receive} usec + response wait ${wait} usec)`;
}
