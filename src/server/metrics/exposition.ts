/** The text format of Prometheus, as Triton writes it. */
import { formatG } from '../../base/format-g.js';
import type { SummaryValues } from '../../contract/statistics.js';

/** One line of a family: labels in their final form (`{a="b"}` or '') and the value. */
export type Sample = readonly [labels: string, value: number];

/** Kinds of families that occur. */
export type FamilyType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** HELP, TYPE and the samples of a family (or its series as a string); nothing at all for a family without any. */
export function familyText(name: string, type: FamilyType, help: string, series: readonly Sample[] | string): string {
  if (series.length === 0) return '';
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  if (typeof series === 'string') return text + series;
  for (const [labels, value] of series) text += `${name}${labels} ${formatValue(value)}\n`;
  return text;
}

/** The lines of one histogram: count, sum, then the buckets, each with all below it. */
export function histogramSeries(
  name: string,
  labels: string,
  {
    bounds,
    counts,
    sum,
  }: { readonly bounds: readonly number[]; readonly counts: readonly number[]; readonly sum: number },
): string {
  const total = counts.reduce((all, count) => all + count, 0);
  let text = `${name}_count${labels} ${formatValue(total)}\n${name}_sum${labels} ${formatValue(sum)}\n`;
  let below = 0;
  [...bounds, Number.POSITIVE_INFINITY].forEach((bound, i) => {
    below += counts[i] ?? 0;
    text += `${name}_bucket${withLabel(labels, 'le', bound)} ${formatValue(below)}\n`;
  });
  return text;
}

/** The lines of one summary: count, sum, then the quantiles. */
export function summarySeries(name: string, labels: string, { count, sum, quantiles }: SummaryValues): string {
  let text = `${name}_count${labels} ${formatValue(count)}\n${name}_sum${labels} ${formatValue(sum)}\n`;
  for (const [quantile, value] of quantiles) {
    text += `${name}${withLabel(labels, 'quantile', quantile)} ${formatValue(value)}\n`;
  }
  return text;
}

/** `le` and `quantile` stand behind all other labels. */
function withLabel(labels: string, name: string, value: number): string {
  const last = `${name}="${formatValue(value)}"`;
  return labels === '' ? `{${last}}` : `${labels.slice(0, -1)},${last}}`;
}

/** `{a="x",b="y"}`, names in alphabetical order; '' without labels. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).sort();
  if (names.length === 0) return '';
  return `{${names.map((name) => `${name}="${escapeLabel(labels[name] as string)}"`).join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** A number as C's `%.16g` prints it; `Nan`, `+Inf`, `-Inf`. */
export function formatValue(value: number): string {
  if (Number.isNaN(value)) return 'Nan';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return String(value);
  return formatG(value, 16);
}
