import type { Log } from '../../base/log.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { ModelSequenceBatching } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';
import { NullRequest, zerosLike } from '../schedule/null-request.js';
import type { Task } from '../schedule/task.js';
import { SequenceControls } from './controls.js';
import type { Slot } from './slot.js';
import { SlotState } from './slot-state.js';
import type { StatesPlan } from './state-plan.js';

/** Adds to requests what their sequences say: control tensors and states. */
export class SequenceInputs {
  readonly #controls: SequenceControls;
  readonly #nullId: Tensor | undefined;
  readonly #states: StatesPlan | undefined;
  readonly #log: Log;
  /** Inputs of the model that are controls or states too: what the client sent for them is replaced. */
  readonly #replaced: ReadonlySet<string>;

  constructor(config: ModelSequenceBatching, plan: ModelPlan, states: StatesPlan | undefined, log: Log) {
    this.#controls = new SequenceControls(config, plan.maxBatchSize > 0);
    this.#nullId = this.#controls.idTensor(0n);
    this.#states = states;
    this.#log = log;
    const names = [
      ...config.control_input.map(({ name }) => name),
      ...(states?.states.map(({ inputName }) => inputName) ?? []),
    ];
    this.#replaced = new Set(names.filter((name) => plan.inputs.some((input) => input.name === name)));
  }

  /** Makes the inputs of a request's next execution in a slot. A START begins with fresh states. */
  attach(task: Task, slot: Slot): void {
    const { sequenceStart: start, sequenceEnd: end } = task;
    slot.idTensor ??= this.#controls.idTensor(task.correlationId);
    if (this.#states !== undefined) {
      if (start) slot.state = this.#begin(this.#states);
      task.state = slot.state;
    }
    const inputs = this.#given(task).slice();
    this.#controls.add(inputs, start, true, end, slot.idTensor);
    if (slot.state !== undefined) inputs.push(...slot.state.inputs);
    task.inputs = inputs;
  }

  /** Fills a row: zeros in the shapes of a request that was attached, and states that are nobody's. */
  nullRequest(like: Task, slot: Slot): NullRequest {
    const inputs = zerosLike(this.#given(like));
    this.#controls.add(inputs, false, false, false, this.#nullId);
    inputs.push(...zerosLike(slot.state?.inputs ?? []));
    return new NullRequest(inputs, like.requestedOutputs);
  }

  #given({ given }: Task): readonly Tensor[] {
    return this.#replaced.size === 0 ? given : given.filter(({ name }) => !this.#replaced.has(name));
  }

  #begin(plan: StatesPlan): SlotState | undefined {
    if (plan.refusal === undefined) return new SlotState(plan);
    this.#log.error(`Failed to initialize sequence state: ${plan.refusal}`);
    return undefined;
  }
}
