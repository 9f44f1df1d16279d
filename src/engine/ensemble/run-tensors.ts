/** What the steps of an ensemble take and what it puts out, from the tensors that have come so far. */
import type { Tensor } from '../../protocol/tensor.js';
import { adaptBatch } from './adapt-batch.js';
import type { EnsembleOutput, EnsemblePlan, StepPlan } from './ensemble-plan.js';
import { EMPTY, type Frame } from './frame.js';
import type { Member } from './member.js';

/** An ensemble, and by step the models that run for one request. */
export interface RunMembers {
  readonly plan: EnsemblePlan;
  readonly members: readonly (Member | undefined)[];
}

/** The inputs of a step's request. Tensors that their makers left out are left out here too. */
export function stepInputs(run: RunMembers, step: StepPlan, member: Member, frame: Frame): Tensor[] {
  const inputs: Tensor[] = [];
  for (const { name, tensor } of step.inputs) {
    const value = frame.tensors[tensor];
    if (value === undefined || value === EMPTY) continue;
    const dims = member.plan.inputsByName.get(name)?.dims ?? [];
    const shape = adaptBatch(value.shape, dims, batches(run, tensor), member.maxBatchSize > 0);
    inputs.push({ name, datatype: value.datatype, shape, data: value.data });
  }
  return inputs;
}

/** The outputs of a response of the ensemble. */
export function outputsOf(run: RunMembers, outputs: readonly EnsembleOutput[], frame: Frame): Tensor[] {
  const tensors: Tensor[] = [];
  for (const { name, tensor, dims } of outputs) {
    const value = frame.tensors[tensor];
    if (value === undefined || value === EMPTY) continue;
    const shape = adaptBatch(value.shape, dims, batches(run, tensor), run.plan.batches);
    tensors.push({ name, datatype: value.datatype, shape, data: value.data });
  }
  return tensors;
}

/** Whether the maker of a tensor batches. */
function batches({ plan, members }: RunMembers, tensor: number): boolean {
  const producer = plan.producers[tensor];
  return producer === undefined ? plan.batches : (members[producer.index]?.maxBatchSize ?? 0) > 0;
}
