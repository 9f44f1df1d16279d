/** The text format of Prometheus as the original writes it (spec: runtime, section 8.1). */

/** One line of a family: labels in their final form (`{a="b"}` or '') and the value. */
export type Sample = readonly [labels: string, value: number];

/** Kinds of families that occur. */
export type FamilyType = 'counter' | 'gauge';

/** HELP, TYPE and the samples of a family; nothing at all for a family without samples. */
export function familyText(name: string, type: FamilyType, help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return '';
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  for (const [labels, value] of samples) text += `${name}${labels} ${formatValue(value)}\n`;
  return text;
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
  const [mantissa = '', exponentText = '0'] = value.toExponential(15).split('e');
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 16) {
    const sign = exponent < 0 ? '-' : '+';
    return `${trimZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  return trimZeros(value.toFixed(15 - exponent));
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
