import { formatShape } from '../../protocol/datatype.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { Log } from '../log.js';

/** Tells of one output of a response. */
export function logOutput(log: Log, { name, datatype, shape }: Tensor): void {
  log.verbose(1, `add response output: output: ${name}, type: ${datatype}, shape: ${formatShape(shape)}`);
}
