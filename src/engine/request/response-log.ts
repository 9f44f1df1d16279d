import type { Log } from '../../base/log.js';
import { formatShape } from '../../protocol/datatype.js';
import type { Tensor } from '../../protocol/tensor.js';

/** Reports one output of a response. */
export function logOutput(log: Log, { name, datatype, shape }: Tensor): void {
  log.verbose(1, `add response output: output: ${name}, type: ${datatype}, shape: ${formatShape(shape)}`);
}
