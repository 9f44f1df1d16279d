import type { Tensor } from '../../protocol/tensor.js';
import type { EnsemblePlan } from './ensemble-plan.js';
import type { SequencePlace } from './sequence-parameters.js';

/** Stands for a tensor that its model left out, or an optional input that was not given. */
export const EMPTY = Symbol('empty tensor');

/**
 * The tensors that belong together: the ensemble's inputs and what steps made of them. Every response of a decoupled
 * step opens a frame of its own, in which the steps behind it run.
 */
export class Frame {
  readonly tensors: (Tensor | typeof EMPTY | undefined)[];
  /** By step: input tensors that are not there yet. */
  readonly waiting: number[];
  /** By tensor: the position in a sequence that its producer gave; undefined when none did. */
  places: (SequencePlace | undefined)[] | undefined;
  sent = false;

  constructor(plan: EnsemblePlan) {
    this.tensors = new Array(plan.consumers.length).fill(undefined);
    this.waiting = plan.steps.map((step) => step.inputTensors);
  }
}
