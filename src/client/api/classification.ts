import { invalidArg } from '../../base/error.js';
import { type Classification, parseClassification } from '../../protocol/classification.js';
import { formatShape } from '../../protocol/datatype.js';
import type { Tensor } from '../../protocol/tensor.js';
import { tensorStrings } from '../../protocol/tensor-values.js';

/**
 * The classes of an output that was requested with `classification`, best first: one list per batch element, or a
 * single list when the model does not batch. Throws INVALID_ARG when the tensor is not a classification result.
 */
export function classifications(output: Tensor): Classification[][] {
  const { name, datatype, shape } = output;
  if (datatype !== 'BYTES' || shape.length === 0 || shape.length > 2) {
    throw invalidArg(
      `output '${name}' is not a classification result: datatype ${datatype}, shape ${formatShape(shape)}`,
    );
  }
  const perEntry = shape.at(-1) as number;
  const classes = tensorStrings(output).map(parseClassification);
  const entries = shape.length === 2 ? (shape[0] as number) : 1;
  return Array.from({ length: entries }, (_, i) => classes.slice(i * perEntry, (i + 1) * perEntry));
}
