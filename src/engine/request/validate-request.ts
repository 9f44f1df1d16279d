/**
 * Turns a request into what a scheduler queues: names, counts, datatypes, shapes and sizes checked against the model's
 * configuration in Triton's order and with its messages, shapes mapped by `reshape`.
 */

import { invalidArg, type TritonError } from '../../base/error.js';
import type { InferenceRequest, RequestInput } from '../../contract/request.js';
import type { InputPlan, ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { hashOrder } from '../../protocol/compat/hash-order.js';
import { elementCount, formatShape, isDatatype } from '../../protocol/datatype.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import { UniqueNames } from '../../protocol/infer/unique-names.js';
import type { Tensor } from '../../protocol/tensor.js';
import { checkBytesElements } from './check-bytes-elements.js';
import { deduceRawInput } from './raw-input.js';
import { mapReshape } from './reshape.js';

/** Largest byte size and element count: int64. */
const MAX_SIZE = 2 ** 63;

/**
 * Of a request with more inputs than this, the first wrong one in the order of the request is named: finding out in which
 * order Triton would meet them takes quadratic time.
 */
const MAX_ORDERED = 256;

const BATCH_NOTE =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each ' +
  'input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting ' +
  'max_batch_size to zero. See the model configuration docs for more info on max_batch_size.';

/** A request that passed validation. */
export interface ValidatedRequest {
  /** 0 for models that do not batch and for a batch dimension of 0. */
  readonly batchSize: number;
  readonly inputs: Tensor[];
  readonly requestedOutputs: readonly string[];
}

/** Validates a request. Throws a TritonError (INVALID_ARG) with the message of the first check that fails. */
export function validateRequest(plan: ModelPlan, request: InferenceRequest): ValidatedRequest {
  checkDuplicates(request);
  if (request.raw !== undefined) return validate(plan, request, [deduceRawInput(plan, request, request.raw)]);
  try {
    return validate(plan, request, request.inputs);
  } catch (reason) {
    if (request.inputs.length < 2 || request.inputs.length > MAX_ORDERED) throw reason;
    // Of several wrong inputs the one is named that Triton meets first.
    const byName = new Map(request.inputs.map((input) => [input.name, input]));
    const inputs = hashOrder([...byName.keys()]).map((name) => byName.get(name)!);
    validate(plan, request, inputs);
    throw reason;
  }
}

function validate(plan: ModelPlan, request: InferenceRequest, inputs: readonly RequestInput[]): ValidatedRequest {
  const requestedOutputs = checkOutputs(plan, request);
  if (inputs.length > plan.inputs.length || inputs.length < plan.requiredInputs) {
    throw wrongInputCount(plan, request, inputs);
  }
  const plans = findPlans(plan, request, inputs);
  const batchSize = findBatchSize(plan, request, inputs, plans);
  const tensors: Tensor[] = new Array(inputs.length);
  for (let i = 0; i < inputs.length; i++) {
    tensors[i] = validateInput(plan, request, inputs[i]!, plans[i]!, batchSize);
  }
  checkCorrelationType(plan, request);
  return { batchSize, inputs: tensors, requestedOutputs };
}

function checkDuplicates(request: InferenceRequest): void {
  const { inputs, requestedOutputs } = request;
  if (inputs.length > 1) {
    const names = new UniqueNames();
    for (const { name } of inputs) if (!names.add(name)) throw exists(request, `input '${name}'`);
  }
  if (requestedOutputs.length > 1) {
    const names = new UniqueNames();
    for (const name of requestedOutputs) if (!names.add(name)) throw exists(request, `output '${name}'`);
  }
}

function exists(request: InferenceRequest, what: string): TritonError {
  return invalidArg(`${requestPrefix(request.id)}${what} already exists in request`);
}

function checkOutputs(plan: ModelPlan, request: InferenceRequest): readonly string[] {
  const names = request.requestedOutputs;
  if (names.length === 0) return plan.outputNames;
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    if (!plan.outputsByName.has(name)) {
      throw invalidArg(`unexpected inference output '${name}' for model '${plan.name}'`);
    }
  }
  return names;
}

function wrongInputCount(plan: ModelPlan, request: InferenceRequest, inputs: readonly RequestInput[]) {
  const got = inputs.map((input) => input.name);
  const given = new Set(got);
  const missing = plan.inputs.filter((input) => !input.optional && !given.has(input.name)).map((i) => i.name);
  const expected =
    plan.requiredInputs === plan.inputs.length
      ? `expected ${plan.inputs.length} inputs`
      : `expected number of inputs between ${plan.requiredInputs} and ${plan.inputs.length}`;
  // Triton opens the second list only when it has an entry.
  const missingText = missing.length === 0 ? ']' : nameList(missing);
  return invalidArg(
    `${requestPrefix(request.id)}${expected} but got ${inputs.length} inputs for model '${plan.name}'. ` +
      `Got input(s) ${nameList(got)}, but missing required input(s) ${missingText}. ` +
      'Please provide all required input(s).',
  );
}

function nameList(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(',')}]`;
}

function findPlans(plan: ModelPlan, request: InferenceRequest, inputs: readonly RequestInput[]): InputPlan[] {
  const plans: InputPlan[] = new Array(inputs.length);
  for (let i = 0; i < inputs.length; i++) {
    const name = inputs[i]!.name;
    const found = request.raw === undefined ? plan.inputsByName.get(name) : plan.inputs[0];
    if (found === undefined) throw invalidArg(`unexpected inference input '${name}' for model '${plan.name}'`);
    plans[i] = found;
  }
  return plans;
}

function findBatchSize(
  plan: ModelPlan,
  request: InferenceRequest,
  inputs: readonly RequestInput[],
  plans: readonly InputPlan[],
): number {
  if (plan.maxBatchSize === 0) return 0;
  let batchSize = 0;
  for (let i = 0; i < inputs.length; i++) {
    if (plans[i]!.shapeTensor) continue;
    const { name, shape } = inputs[i]!;
    if (shape.length === 0) {
      throw invalidArg(
        `${requestPrefix(request.id)}input '${name}' has no shape but model requires batch dimension for '${plan.name}'`,
      );
    }
    if (batchSize === 0) batchSize = shape[0]!;
    else if (shape[0] !== batchSize) {
      throw invalidArg(
        `${requestPrefix(request.id)}input '${name}' batch size does not match other inputs for '${plan.name}'`,
      );
    }
  }
  if (batchSize > plan.maxBatchSize) {
    throw invalidArg(
      `${requestPrefix(request.id)}inference request batch-size must be <= ${plan.maxBatchSize} for '${plan.name}'`,
    );
  }
  return batchSize;
}

// biome-ignore lint/complexity/useMaxParams: called per input of a request, an object for it would cost.
function validateInput(
  plan: ModelPlan,
  request: InferenceRequest,
  input: RequestInput,
  inputPlan: InputPlan,
  batchSize: number,
): Tensor {
  if (input.datatype !== inputPlan.datatype) {
    const got = isDatatype(input.datatype) ? input.datatype : '<invalid>';
    throw invalidArg(
      `${requestPrefix(request.id)}inference input '${input.name}' data-type is '${got}', ` +
        `but model '${plan.name}' expects '${inputPlan.datatype}'`,
    );
  }
  const { shape } = input;
  // Where a batch dimension is expected, the configured dimensions start at 1.
  const offset = plan.maxBatchSize > 0 && !inputPlan.shapeTensor ? 1 : 0;
  const { dims } = inputPlan;
  let matches = shape.length - offset === dims.length;
  for (let i = 0; i < shape.length; i++) {
    if (shape[i] === -1) {
      throw invalidArg(
        `${requestPrefix(request.id)}All input dimensions should be specified for input '${input.name}' ` +
          `for model '${plan.name}', got ${formatShape(shape)}`,
      );
    }
    if (i >= offset && dims[i - offset] !== -1 && shape[i] !== dims[i - offset]) matches = false;
  }
  if (!matches) {
    const expected = plan.maxBatchSize > 0 ? [-1, ...dims] : dims;
    throw invalidArg(
      `${requestPrefix(request.id)}unexpected shape for input '${input.name}' for model '${plan.name}'. ` +
        `Expected ${formatShape(expected)}, got ${formatShape(shape)}. ${plan.maxBatchSize > 0 ? BATCH_NOTE : ''}`,
    );
  }

  // A batch of 0 counts as no batch: the shape then loses its first dimension. An input with 0 rows beside others with
  // more has as many as these, so that its bytes are found missing.
  const dropsBatch = offset === 1 && batchSize === 0;
  let modelShape: readonly number[] = dropsBatch ? shape.slice(1) : shape;
  if (offset === 1 && batchSize !== shape[0] && !dropsBatch) modelShape = [batchSize, ...shape.slice(1)];
  if (inputPlan.reshape !== undefined) {
    modelShape = mapReshape(modelShape, inputPlan.dims, inputPlan.reshape, offset === 1 && !dropsBatch);
  }
  checkSize(plan, request, input, inputPlan, modelShape);
  return { name: inputPlan.name, datatype: inputPlan.datatype, shape: modelShape, data: input.data };
}

// biome-ignore lint/complexity/useMaxParams: called per input of a request, an object for it would cost.
function checkSize(
  plan: ModelPlan,
  request: InferenceRequest,
  input: RequestInput,
  inputPlan: InputPlan,
  modelShape: readonly number[],
): void {
  const isBytes = inputPlan.elementSize === 0;
  for (const dim of modelShape) {
    if (dim < 0) {
      throw invalidArg(
        `tensor '${input.name}' contains an invalid dimension ${isBytes ? 'in shape ' : ''}${formatShape(modelShape)}`,
      );
    }
  }
  const count = elementCount(modelShape);
  if (isBytes) {
    if (count >= MAX_SIZE) {
      throw invalidArg(`element count for tensor '${input.name}' exceeds maximum size of 9223372036854775807`);
    }
    checkBytesElements(plan, request.id, input, count);
    return;
  }
  const byteSize = count * inputPlan.elementSize;
  if (byteSize >= MAX_SIZE) {
    throw invalidArg(`byte size for tensor '${input.name}' exceeds maximum size of 9223372036854775807`);
  }
  if (byteSize !== input.data.byteLength) {
    throw invalidArg(
      `${requestPrefix(request.id)}input byte size mismatch for input '${input.name}' for model '${plan.name}'. ` +
        `Expected ${byteSize}, got ${input.data.byteLength}`,
    );
  }
}

function checkCorrelationType(plan: ModelPlan, request: InferenceRequest): void {
  const control = plan.correlationControl;
  if (control === undefined || request.correlationId === 0n || request.correlationId === '') return;
  // A string is taken where the control is a number, too (SequenceControls says what the model sees): clients rely on it.
  if (typeof request.correlationId === 'string' || control.datatype !== 'BYTES') return;
  throw invalidArg(
    `${requestPrefix(request.id)}sequence batching control '${control.name}' data-type is 'UINT64', ` +
      `but model '${plan.name}' expects 'BYTES'`,
  );
}
