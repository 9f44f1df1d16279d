/** A double as C prints it by `%g`, and C++ streams by default: with that number of significant digits, trailing zeros dropped. */
export function formatG(value: number, digits = 6): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponent = ''] = value.toExponential(digits - 1).split('e');
  const power = Number(exponent);
  if (power < -4 || power >= digits) {
    const sign = power < 0 ? '-' : '+';
    return `${trimZeros(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  return trimZeros(value.toFixed(digits - 1 - power));
}

function trimZeros(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}
