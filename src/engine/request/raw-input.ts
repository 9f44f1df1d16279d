import { invalidArg } from '../../base/error.js';
import type { InferenceRequest, RequestInput } from '../../contract/request.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';

/**
 * Name of the input of a raw request until it has taken that of the configuration: messages about its shape name the
 * configured input, those about its bytes this one (NVIDIA's `infer_request.cc`, `InferenceRequest::Normalize`).
 */
const RAW_NAME = 'raw_input';

/**
 * The one input of a raw binary request: datatype and shape come from the configuration; a single variable dimension
 * follows from the number of bytes.
 */
export function deduceRawInput(plan: ModelPlan, request: InferenceRequest, raw: Uint8Array): RequestInput {
  const prefix = requestPrefix(request.id);
  if (request.inputs.length > 0) {
    throw invalidArg(`${prefix}raw input '${RAW_NAME}' can't be added to request with other inputs`);
  }
  const input = plan.inputs[0];
  if (input === undefined || plan.inputs.length !== 1) {
    throw invalidArg(
      `${prefix}Raw request must only have 1 input (found 1) to be deduced but got ${plan.inputs.length} inputs in ` +
        `'${plan.name}' model configuration`,
    );
  }
  const variable = input.dims.filter((dim) => dim === -1).length;
  const fixed = input.dims.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  let data = raw;
  if (input.elementSize === 0) {
    if (variable > 0 || fixed !== 1) {
      throw invalidArg(`${prefix}For BYTE datatype raw input '${input.name}', the model must have input shape [1]`);
    }
    data = new Uint8Array(4 + raw.byteLength);
    new DataView(data.buffer).setUint32(0, raw.byteLength, true);
    data.set(raw, 4);
  } else if (variable > 1) {
    throw invalidArg(
      `${prefix}The shape of the raw input '${input.name}' can not be deduced because there are more than one ` +
        'variable-sized dimension',
    );
  }
  const unit = fixed * Math.max(1, input.elementSize);
  const deduced = unit === 0 ? 0 : Math.floor(raw.byteLength / unit);
  const dims = input.dims.map((dim) => (dim === -1 ? deduced : dim));
  return { name: RAW_NAME, datatype: input.datatype, shape: plan.maxBatchSize > 0 ? [1, ...dims] : dims, data };
}
