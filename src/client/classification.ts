import { TritonError } from '../protocol/error.js';
import type { Tensor } from '../protocol/tensor.js';
import { bytesElements } from './tensor-values.js';

/** One class of a classification result. */
export interface Classification {
  /** As the server printed it: six decimals for floating-point tensors. */
  readonly score: string;
  /** Place in the (flattened) output tensor. */
  readonly index: number;
  /** Line of the label file, where the model has one. May contain colons. */
  readonly label: string | undefined;
}

/**
 * The classes of an output that was requested with `classification`, best first: one list per batch element, or a
 * single list when the model does not batch. Throws INVALID_ARG when the tensor is no classification result.
 */
export function classifications(output: Tensor): Classification[][] {
  if (output.datatype !== 'BYTES' || output.shape.length === 0 || output.shape.length > 2) {
    throw new TritonError(
      'INVALID_ARG',
      `output '${output.name}' is no classification result: datatype ${output.datatype}, shape [${output.shape}]`,
    );
  }
  const perEntry = output.shape.at(-1) as number;
  const classes = bytesElements(output).map((element) => parseClassification(element.toString('utf8')));
  const entries = output.shape.length === 2 ? (output.shape[0] as number) : 1;
  return Array.from({ length: entries }, (_, i) => classes.slice(i * perEntry, (i + 1) * perEntry));
}

/** Reads `<score>:<index>[:<label>]`. */
export function parseClassification(text: string): Classification {
  const match = /^([^:]*):(\d+)(?::(.*))?$/s.exec(text);
  if (match === null)
    throw new TritonError('INVALID_ARG', `'${text}' is no classification; expected score:index:label`);
  return { score: match[1] as string, index: Number(match[2]), label: match[3] };
}
