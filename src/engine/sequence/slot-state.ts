import { invalidArg } from '../../base/error.js';
import type { SequenceState } from '../../contract/backend.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { StatesPlan } from './state-plan.js';

/**
 * The states of one sequence from its START to its end, as its next request is fed them. An output becomes the next input by changing
 * its name: no bytes are copied, and `use_same_buffer_for_input_output` has nothing to save here.
 */
export class SlotState implements SequenceState {
  readonly outputs: readonly string[];
  readonly #plan: StatesPlan;
  readonly #inputs: Tensor[];

  constructor(plan: StatesPlan) {
    this.#plan = plan;
    this.outputs = plan.states.map(({ outputName }) => outputName);
    this.#inputs = plan.states.map(({ initial }) => initial);
  }

  /** What the next request is fed. */
  get inputs(): readonly Tensor[] {
    return this.#inputs;
  }

  update({ name, datatype, shape, data }: Tensor): void {
    const index = this.outputs.indexOf(name);
    if (index < 0) throw invalidArg(`state '${name}' is not a valid state name.`);
    this.#inputs[index] = { name: this.#plan.states[index]!.inputName, datatype, shape, data };
  }
}
