import { formatG } from '../../base/format-g.js';
import type { Tensor } from '../../protocol/tensor.js';
import { tensorStrings, tensorValues } from '../../protocol/tensor-values.js';

/**
 * The elements of a tensor as traces show them: separated by commas, numbers with six significant digits where they have
 * fractions, BYTES in quotes, nothing for 16-bit floating point numbers.
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
        .map((value) => formatG(Number(value)))
        .join();
    default:
      return tensorValues(tensor).map(decimal).join();
  }
}

/** An integer, or 1 and 0 for BOOL. */
function decimal(value: unknown): string {
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}
