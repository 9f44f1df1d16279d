/** What the steps of an ensemble take and what it puts out, from the tensors that have come so far. */
import type { Tensor } from '../../protocol/tensor.js';
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

/**
 * The shape under which a tensor is handed from one model to another when just one of them batches.
 * `dims`: what the receiver's configuration says, without a batch dimension.
 */
function adaptBatch(
  shape: readonly number[],
  dims: readonly number[],
  senderBatches: boolean,
  receiverBatches: boolean,
): readonly number[] {
  if (senderBatches === receiverBatches) return shape;
  // A sender without batches may have made the batch dimension itself; otherwise its tensor is a batch of one.
  if (receiverBatches) return matches(shape, dims) ? [1, ...shape] : shape;
  return !matches(shape, dims) && shape[0] === 1 ? shape.slice(1) : shape;
}

function matches(shape: readonly number[], dims: readonly number[]): boolean {
  if (shape.length !== dims.length) return false;
  for (let i = 0; i < dims.length; i++) if (dims[i] !== -1 && dims[i] !== shape[i]) return false;
  return true;
}
