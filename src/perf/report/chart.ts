import { plot } from 'asciichart';
import Table from 'cli-table3';
import { formatG } from '../../base/format-g.js';
import { levelName, type ReportedLevel } from '../levels/measured-level.js';
import type { PerfOptions } from '../options/perf-options.js';
import { usec } from './level-report.js';
import type { Reporter, ReportOutput } from './reporter.js';

/** Columns of characters that a chart takes, so that few levels still make a line. */
const CHART_WIDTH = 60;
const CHART_HEIGHT = 8;

/** The levels as a table and as charts, on stdout behind everything else. */
export function chartReport(_: PerfOptions, { print }: ReportOutput): Reporter {
  return {
    runFinished({ levels, options }) {
      if (levels.length === 0) return;
      print(`\n${levelTable(levels, options)}`);
      const chart = levelChart(levels, options);
      if (chart !== '') print(`\n${chart}`);
    },
  };
}

/** The levels as a table: throughput, latencies, and where the time went (microseconds). */
function levelTable(levels: readonly ReportedLevel[], options: PerfOptions): string {
  const table = new Table({
    head: [
      levelName(options.load),
      'infer/sec',
      'avg us',
      'p50',
      'p90',
      'p95',
      'p99',
      'queue',
      'compute',
      'network+rest',
    ],
    style: { head: [], border: [] },
    colAligns: Array.from({ length: 10 }, () => 'right' as const),
  });
  for (const { level, result, mark } of levels) {
    const { percentilesNs, averageNs } = result.latency;
    const queue = averageOf(result.server?.queue);
    const compute =
      averageOf(result.server?.computeInput) +
      averageOf(result.server?.computeInfer) +
      averageOf(result.server?.computeOutput);
    table.push([
      mark === undefined ? formatG(level) : `${formatG(level)} (${mark})`,
      formatG(result.throughput),
      usec(averageNs),
      ...[50, 90, 95, 99].map((p) => usec(percentilesNs.get(p) ?? 0)),
      ...(result.server === undefined
        ? ['-', '-', '-']
        : [usec(queue), usec(compute), usec(Math.max(0, averageNs - queue - compute))]),
    ]);
  }
  return table.toString();
}

/** Throughput and average latency over the levels, as two charts of characters. None for a single level. */
function levelChart(levels: readonly ReportedLevel[], options: PerfOptions): string {
  if (levels.length < 2) return '';
  const sorted = [...levels].sort((a, b) => a.level - b.level);
  const name = levelName(options.load).toLowerCase();
  const first = formatG((sorted[0] as ReportedLevel).level);
  const last = formatG((sorted.at(-1) as ReportedLevel).level);
  const chart = (title: string, values: readonly number[]): string =>
    `${title} over ${name} ${first} to ${last}\n${plot(stretch(values, CHART_WIDTH), { height: CHART_HEIGHT })}`;
  return [
    chart(
      'throughput (infer/sec)',
      sorted.map(({ result }) => result.throughput),
    ),
    chart(
      'average latency (usec)',
      sorted.map(({ result }) => usec(result.latency.averageNs)),
    ),
  ].join('\n\n');
}

/** As many values as there are columns, between the given ones by straight lines. */
function stretch(values: readonly number[], width: number): number[] {
  return Array.from({ length: width }, (_, column) => {
    const at = (column * (values.length - 1)) / (width - 1);
    const left = Math.floor(at);
    const a = values[left] as number;
    const b = values[Math.min(left + 1, values.length - 1)] as number;
    return a + (b - a) * (at - left);
  });
}

function averageOf(duration: { readonly count: number; readonly ns: number } | undefined): number {
  return duration === undefined || duration.count === 0 ? 0 : duration.ns / duration.count;
}
