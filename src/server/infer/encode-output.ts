import { TritonError } from '../../base/error.js';
import type { ReadyModel } from '../../contract/engine.js';
import { classifySteps } from '../../protocol/classification.js';
import { unknownRegion } from '../../protocol/infer/parameters.js';
import { atOnce, type Steps } from '../../protocol/steps.js';
import type { Tensor } from '../../protocol/tensor.js';
import { type DecodedInferRequest, formOf, type OutputForm } from './output-form.js';

/** An output in the form that the client asked for. */
export interface FormedOutput {
  readonly form: OutputForm;
  /** What the response says of it: name, datatype and shape. */
  readonly tensor: Tensor;
  /** What the response carries; undefined when the data went to shared memory. */
  readonly data: Uint8Array | undefined;
}

/** Brings an output into the form that the client asked for: classes instead of values, data into shared memory. */
export function toOutputForm(output: Tensor, decoded: DecodedInferRequest, model: ReadyModel): FormedOutput {
  return atOnce(toOutputFormSteps(output, decoded, model));
}

/** The same in steps: only large classifications take more than one. */
export function* toOutputFormSteps(
  output: Tensor,
  decoded: DecodedInferRequest,
  model: ReadyModel,
): Steps<FormedOutput> {
  const form = formOf(decoded, output.name);
  if (form.classification > 0) {
    const tensor = yield* classifySteps(output, form.classification, model.maxBatchSize > 0, model.labels(output.name));
    return { form, tensor, data: tensor.data };
  }
  if (form.sharedMemory === undefined) return { form, tensor: output, data: output.data };
  const { region, byteSize } = form.sharedMemory;
  if (output.data.length > byteSize) {
    throw new TritonError(
      'INTERNAL',
      `shared memory size specified with the request for output '${output.name}' (${byteSize} bytes) should be at least ${output.data.length} bytes to hold the results`,
    );
  }
  if (decoded.sharedMemory === undefined) throw unknownRegion(region);
  decoded.sharedMemory.write(form.sharedMemory, output.data);
  return { form, tensor: output, data: undefined };
}
