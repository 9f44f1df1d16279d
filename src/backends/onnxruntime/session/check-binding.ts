import type { Fault } from '../../../contract/fault.js';
import { datatypeOfConfigValue } from '../../../protocol/datatype.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { isOrtDatatype } from './ort-tensors.js';

/** Inputs and outputs of datatypes that the runtime's binding cannot carry (BF16), although Triton's protocol can. */
export function checkBinding(config: ModelConfig): Fault[] {
  const faults: Fault[] = [];
  for (const kind of ['input', 'output'] as const) {
    for (const [i, { name, data_type: type }] of config[kind].entries()) {
      const datatype = datatypeOfConfigValue(type);
      if (datatype !== undefined && isOrtDatatype(datatype)) continue;
      faults.push({
        rule: 'onnx-datatype',
        code: 'INTERNAL',
        message:
          `unsupported datatype TYPE_${datatype ?? 'INVALID'} for ${kind} '${name}' for model '${config.name}': ` +
          `onnxruntime-node cannot carry such tensors; let the model cast it to TYPE_FP32`,
        path: [kind, i, 'data_type'],
        remedy: `Let the model's ${kind} be FP32 and cast inside the graph (an ONNX Cast node), or export the model in FP32 or FP16.`,
      });
    }
  }
  return faults;
}
