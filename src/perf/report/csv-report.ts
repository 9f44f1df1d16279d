import path from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { formatG } from '../../base/format-g.js';
import { levelName, type ReportedLevel } from '../levels/measured-level.js';
import type { ServerStats } from '../measure/server-stats.js';
import type { PerfModel } from '../model/perf-model.js';
import { composingModelsOf } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import { GPU_COLUMNS } from './gpu-report.js';
import { usec } from './level-report.js';
import { checkReportFile, writeReportFile } from './report-file.js';
import type { ReportContext, Reporter, ReportOutput } from './reporter.js';

const SMALL_SAMPLE =
  'Server average accounted time was larger than client average wait time due to small sample size. Increase the measurement interval with `--measurement-interval`.';

/** A cell. */
type Cell = string | number;

/** A column: its header and the value of a row. */
interface Column<Row> {
  readonly header: string;
  value(row: Row): Cell;
}

/**
 * The CSV files: the report and one for each model that the measured one calls. The file is checked before the first
 * request: perf_analyzer leaves out what cannot be written without a word.
 */
export function csvReport({ report: { reportFile } }: PerfOptions, { warn }: ReportOutput): Reporter {
  checkReportFile(reportFile);
  return {
    runFinished({ levels, options, model }) {
      if (levels.length > 0) writeCsvFiles(levels, { options, model }, warn);
    },
  };
}

function writeCsvFiles(levels: readonly ReportedLevel[], context: ReportContext, warn: (line: string) => void): void {
  const file = context.options.report.reportFile;
  const rows = byThroughput(levels);
  writeReportFile(file, csvTable(levels, context, warn));
  const [first] = rows;
  for (const { name, version } of composingModelsOf(context.model)) {
    const found = first?.result.server?.composing.find(
      (stats) => stats.name === name && (version === '' || stats.version === version),
    );
    if (found === undefined) continue;
    const composed = rows.flatMap((row) => {
      const stats = row.result.server?.composing.find((each) => each.name === name && each.version === found.version);
      return stats === undefined ? [] : [{ ...row, stats }];
    });
    const own = path.join(path.dirname(file), `${name}_v${found.version}.${path.basename(file)}`);
    writeReportFile(own, table(composingColumns(context, warn), composed));
  }
}

/** The content of the report's file; rows ascend by throughput. */
export function csvTable(
  levels: readonly ReportedLevel[],
  context: ReportContext,
  warn: (line: string) => void,
): string {
  const rows = byThroughput(levels);
  const hasServer = rows[0]?.result.server !== undefined;
  return table(mainColumns(context, hasServer, warn), rows);
}

function byThroughput(levels: readonly ReportedLevel[]): ReportedLevel[] {
  return [...levels].sort((a, b) => a.result.throughput - b.result.throughput);
}

function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const records = rows.map((row) => columns.map((column) => column.value(row)));
  return stringify([columns.map((column) => column.header), ...records]);
}

function mainColumns(
  { options, model }: ReportContext,
  hasServer: boolean,
  warn: (line: string) => void,
): Column<ReportedLevel>[] {
  const columns: Column<ReportedLevel>[] = [
    { header: levelName(options.load), value: ({ level }) => formatG(level) },
    { header: 'Inferences/Second', value: ({ result }) => formatG(result.throughput) },
  ];
  if (model.decoupled) {
    columns.push({ header: 'Response Throughput', value: ({ result }) => formatG(result.responseThroughput) });
  }
  // Decoupled models have no times of the client library: one request has several responses.
  const send = ({ result }: ReportedLevel): number => (model.decoupled ? 0 : result.avgSendNs);
  const receive = ({ result }: ReportedLevel): number => (model.decoupled ? 0 : result.avgReceiveNs);
  columns.push({ header: 'Client Send', value: (row) => usec(send(row)) });
  if (hasServer) {
    columns.push(
      ...serverColumns<ReportedLevel>(
        model,
        ({ result }) => result.server,
        (row, accounted) => row.result.latency.averageNs - send(row) - receive(row) - accounted,
        warn,
      ),
    );
  }
  columns.push({ header: 'Client Recv', value: (row) => usec(receive(row)) });
  columns.push(...percentileColumns(options));
  if (options.report.verboseCsv) {
    if (options.measure.percentile === -1) {
      columns.push({ header: 'Avg latency', value: ({ result }) => usec(result.latency.averageNs) });
    }
    columns.push(
      { header: 'request/response', value: (row) => usec(send(row)) + usec(receive(row)) },
      {
        header: 'response wait',
        value: (row) =>
          model.decoupled ? 0 : Math.max(0, usec(row.result.avgRequestNs) - usec(send(row)) - usec(receive(row))),
      },
    );
  }
  // A column that perf_analyzer does not have: only where its option asks for rows that perf_analyzer would not write.
  if (options.measure.keepGoing) columns.push({ header: 'Verdict', value: ({ mark }) => mark ?? 'ok' });
  if (options.report.verboseCsv && options.connection.collectMetrics) {
    for (const { header, value } of GPU_COLUMNS) {
      columns.push({ header, value: ({ result }) => value(result.gpuPolls ?? []) });
    }
  }
  return columns;
}

function percentileColumns({ measure: { percentile } }: PerfOptions): Column<ReportedLevel>[] {
  return [...new Set([50, 90, 95, 99, ...(percentile === -1 ? [] : [percentile])])]
    .sort((a, b) => a - b)
    .map((p) => ({
      header: `p${p} latency`,
      value: ({ result }) => usec(result.latency.percentilesNs.get(p) as number),
    }));
}

function composingColumns(
  { options, model }: ReportContext,
  warn: (line: string) => void,
): Column<ReportedLevel & { stats: ServerStats }>[] {
  type Row = ReportedLevel & { stats: ServerStats };
  return [
    { header: levelName(options.load), value: ({ level }) => formatG(level) },
    {
      header: 'Inferences/Second',
      value: ({ result, stats }) => {
        const share = stats.success.count / Math.max(1, result.server?.success.count ?? 0);
        return formatG(result.throughput * share);
      },
    },
    { header: 'Client Send', value: () => 0 },
    ...serverColumns<Row>(
      model,
      ({ stats }) => stats,
      ({ stats }, accounted) => averageNs(stats.success) - accounted,
      warn,
    ),
    { header: 'Client Recv', value: () => 0 },
  ];
}

/** The columns about the server; the first holds what the server's own times leave of the client's waiting time. */
function serverColumns<Row>(
  model: PerfModel,
  statsOf: (row: Row) => ServerStats | undefined,
  rest: (row: Row, accountedNs: number) => number,
  warn: (line: string) => void,
): Column<Row>[] {
  const cell = (pick: (stats: ServerStats) => number) => (row: Row) => {
    const stats = statsOf(row);
    return stats === undefined ? 0 : usec(pick(stats));
  };
  const columns: Column<Row>[] = [
    {
      header: 'Network+Server Send/Recv',
      value: (row) => {
        const stats = statsOf(row);
        const ns = stats === undefined ? 0 : Math.max(0, rest(row, accountedNs(stats)));
        if (ns === 0) warn(SMALL_SAMPLE);
        return usec(ns);
      },
    },
    { header: 'Server Queue', value: cell((stats) => averageNs(stats.queue)) },
    { header: 'Server Compute Input', value: cell((stats) => averageNs(stats.computeInput)) },
    { header: 'Server Compute Infer', value: cell((stats) => averageNs(stats.computeInfer)) },
    { header: 'Server Compute Output', value: cell((stats) => averageNs(stats.computeOutput)) },
  ];
  if (model.responseCache) {
    columns.push(
      { header: 'Server Cache Hit', value: cell((stats) => averageNs(stats.cacheHit)) },
      { header: 'Server Cache Miss', value: cell((stats) => averageNs(stats.cacheMiss)) },
    );
  }
  return columns;
}

/** What the server explains of a request, nanoseconds. */
function accountedNs(stats: ServerStats): number {
  const { computeInput, computeInfer, computeOutput } = stats;
  const compute = { count: computeInput.count, ns: computeInput.ns + computeInfer.ns + computeOutput.ns };
  return averageNs(stats.queue) + averageNs(compute) + averageNs(stats.cacheHit) + averageNs(stats.cacheMiss);
}

function averageNs({ count, ns }: { readonly count: number; readonly ns: number }): number {
  return count === 0 ? 0 : Math.floor(ns / count);
}
