import type { CustomFamily, CustomSeries, MetricKind } from '../../contract/metrics.js';
import { formatValue, histogramSeries, labelText } from './exposition.js';

/** The families of a kind that models made, in the text format; those without series are left out. */
export function customFamilies(families: readonly CustomFamily[], wanted: MetricKind): string {
  let text = '';
  for (const { name, description, kind, series } of families) {
    if (kind !== wanted || series.length === 0) continue;
    // A line break in a description would end the comment and break the format.
    if (description !== '') text += `# HELP ${name} ${description.replaceAll('\n', '\\n')}\n`;
    text += `# TYPE ${name} ${kind.toLowerCase()}\n`;
    for (const one of series) text += seriesText(name, one);
  }
  return text;
}

function seriesText(name: string, { labels, value, bounds, counts }: CustomSeries): string {
  const own = labelText(labels);
  if (bounds === undefined) return `${name}${own} ${formatValue(value)}\n`;
  return histogramSeries(name, own, { bounds, counts, sum: value });
}
