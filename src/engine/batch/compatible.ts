import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { Tensor } from '../../protocol/tensor.js';

/** A request, as far as it decides with which others it shares a batch. */
export interface Comparable {
  /** It shares a batch with no other. */
  readonly alone: boolean;
  /** As the backend is fed them. */
  readonly inputs: readonly Tensor[];
}

/**
 * Whether a request may share a batch with the batch's first one: the same inputs where some are optional, equal shapes
 * where a dimension varies (ragged inputs excepted), equal contents of shape tensors.
 */
export function compatible(plan: ModelPlan, first: Comparable, other: Comparable): boolean {
  if (first.alone || other.alone) return false;
  if (!plan.comparesInBatch) return true;
  const hasOptional = plan.requiredInputs !== plan.inputs.length;
  if (hasOptional && first.inputs.length !== other.inputs.length) return false;
  for (const input of other.inputs) {
    const inputPlan = plan.inputsByName.get(input.name);
    if (inputPlan === undefined) continue;
    if (!hasOptional && !inputPlan.equalInBatch) continue;
    const reference = first.inputs.find((candidate) => candidate.name === input.name);
    if (reference === undefined) return false;
    if (!inputPlan.equalInBatch) continue;
    const { shape } = input;
    if (shape.length !== reference.shape.length) return false;
    for (let i = plan.maxBatchSize > 0 && !inputPlan.shapeTensor ? 1 : 0; i < shape.length; i++) {
      if (shape[i] !== reference.shape[i]) return false;
    }
    if (inputPlan.shapeTensor && !sameBytes(input.data, reference.data)) return false;
  }
  return true;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && Buffer.compare(a, b) === 0;
}
