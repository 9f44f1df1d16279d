/** A double as C++ streams print it by default (`%g`): six significant digits, trailing zeros dropped. */
export function formatG(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponent = ''] = value.toExponential(5).split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 6) {
    const sign = power < 0 ? '-' : '+';
    return `${trimZeros(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  return trimZeros(value.toFixed(5 - power));
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
