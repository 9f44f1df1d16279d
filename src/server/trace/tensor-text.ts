import type { Tensor } from '../../protocol/tensor.js';
import { tensorStrings, tensorValues } from '../../protocol/tensor-values.js';

/**
 * The elements of a tensor as traces show them: separated by commas, numbers with six significant digits where they have
 * fractions, BYTES in quotes, nothing for 16-bit floating point numbers (spec: runtime, section 9.3).
 */
export function tensorText(tensor: Tensor): string {
  switch (tensor.datatype) {
    case 'BYTES':
      return tensorStrings(tensor)
        .map((element) => `"${element}"`)
        .join();
    case 'FP16':
    case 'BF16':
      return '';
    case 'FP32':
    case 'FP64':
      return tensorValues(tensor)
        .map((value) => sixDigits(Number(value)))
        .join();
    default:
      return tensorValues(tensor).map(decimal).join();
  }
}

/** A number as C's `%g` prints it. */
export function sixDigits(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponentText = '0'] = value.toExponential(5).split('e');
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 6) {
    const digits = String(Math.abs(exponent)).padStart(2, '0');
    return `${trimZeros(mantissa)}e${exponent < 0 ? '-' : '+'}${digits}`;
  }
  return trimZeros(value.toFixed(5 - exponent));
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** An integer, or 1 and 0 for BOOL. */
function decimal(value: unknown): string {
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}
