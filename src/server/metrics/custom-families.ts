import type { CustomFamily, CustomSeries } from '../../engine/statistics/custom-metrics.js';
import { formatValue, labelText } from './exposition.js';

/** Text of the families that models made (spec: runtime, section 8.8); those without series are left out. */
export function customFamilies(families: readonly CustomFamily[]): string {
  let text = '';
  for (const { name, description, kind, series } of families) {
    if (series.length === 0) continue;
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
  const total = counts.reduce((sum, count) => sum + count, 0);
  let text = `${name}_count${own} ${formatValue(total)}\n${name}_sum${own} ${formatValue(value)}\n`;
  let below = 0;
  [...bounds, Number.POSITIVE_INFINITY].forEach((bound, i) => {
    below += counts[i] ?? 0;
    const edge = `le="${formatValue(bound)}"`;
    text += `${name}_bucket${own === '' ? `{${edge}}` : `${own.slice(0, -1)},${edge}}`} ${formatValue(below)}\n`;
  });
  return text;
}
