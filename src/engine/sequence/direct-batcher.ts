import type { Clock, Timer } from '../../base/clock.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { compatible } from '../batch/compatible.js';
import type { BatchItem, InstanceRunner } from '../schedule/instance-runner.js';
import type { Task } from '../schedule/task.js';
import type { SequenceInputs } from './sequence-inputs.js';
import { FORCED_END, type SequenceBatcher, Slot, type SlotOwner } from './slot.js';

/** Options of the direct strategy. */
export interface DirectOptions {
  readonly slots: number;
  /** Both 0 or: wait until this part of the slots has a request, or the oldest is this old (ns). */
  readonly minimumUtilization: number;
  readonly delayNs: number;
}

/**
 * The direct strategy for one instance: a sequence keeps its row of the batch. One batch at a time; each takes one
 * request of every slot up to the highest that has one, null requests between (spec: runtime, section 3.3).
 */
export class DirectBatcher implements SequenceBatcher {
  readonly capacity: number;
  readonly slots: Slot[] = [];
  readonly #plan: ModelPlan;
  readonly #runner: InstanceRunner;
  readonly #inputs: SequenceInputs;
  readonly #owner: SlotOwner;
  readonly #options: DirectOptions;
  readonly #clock: Clock;
  readonly #run = () => this.#pass();
  #scheduled = false;
  #timer: Timer | undefined;

  constructor(
    plan: ModelPlan,
    runner: InstanceRunner,
    inputs: SequenceInputs,
    owner: SlotOwner,
    options: DirectOptions,
    clock: Clock,
  ) {
    this.#plan = plan;
    this.#runner = runner;
    this.#inputs = inputs;
    this.#owner = owner;
    this.#options = options;
    this.#clock = clock;
    this.capacity = options.slots;
  }

  get healthy(): boolean {
    return this.#runner.healthy;
  }

  addSlot(): Slot {
    const slot = new Slot(this, this.slots.length);
    this.slots.push(slot);
    return slot;
  }

  wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.nextTurn(this.#run);
  }

  takenBack(): void {}

  close(): void {
    this.#clock.clearTimer(this.#timer);
  }

  #pass(): void {
    this.#scheduled = false;
    this.#clock.clearTimer(this.#timer);
    if (this.#owner.held || this.#runner.inFlight > 0) return;
    const ready: Task[] = [];
    let first: Slot | undefined;
    let highest = -1;
    for (const slot of this.slots) {
      const head = this.#head(slot);
      if (head === undefined) continue;
      first ??= slot;
      highest = slot.index;
      ready.push(head);
    }
    if (first === undefined || this.#mustWait(ready)) return;
    this.#execute(first, ready[0]!, highest);
  }

  #execute(firstSlot: Slot, first: Task, highest: number): void {
    const batch: BatchItem[] = [];
    const ended: Slot[] = [];
    this.#inputs.attach(first, firstSlot);
    for (let index = 0; index <= highest; index++) {
      const slot = this.slots[index]!;
      const head = slot.queue.at(0) as Task | undefined;
      if (head !== undefined && head !== first) this.#inputs.attach(head, slot);
      if (head === undefined || !compatible(this.#plan, first, head)) {
        batch.push(this.#inputs.nullRequest(first, firstSlot));
        continue;
      }
      slot.queue.shift();
      batch.push(head);
      if (head.sequenceEnd) ended.push(slot);
      if (this.#owner.iterative) this.#follow(slot, head);
    }
    // The next batch waits for this one, so a released row may be given to another sequence at once.
    for (const slot of ended) this.#owner.release(slot);
    this.#runner.run(batch, () => this.wake());
  }

  #follow(slot: Slot, task: Task): void {
    task.onRescheduled ??= () => this.#owner.rescheduled(slot, task);
    task.onFinished ??= () => this.#owner.finished(slot, task);
  }

  /** The request to be executed next in a slot, after ending sequences that are over. */
  #head(slot: Slot): Task | undefined {
    for (;;) {
      const head = slot.queue.at(0);
      if (head === undefined) return undefined;
      if (head === FORCED_END) {
        slot.queue.shift();
        this.#owner.release(slot);
      } else if (head.cancelled) {
        this.#owner.cancelSequence(slot);
      } else {
        return head;
      }
    }
  }

  #mustWait(ready: readonly Task[]): boolean {
    const { minimumUtilization, delayNs } = this.#options;
    if (minimumUtilization === 0 || delayNs === 0) return false;
    if (ready.length / this.capacity >= minimumUtilization) return false;
    const oldest = ready.reduce((least, { startNs }) => Math.min(least, startNs), Number.POSITIVE_INFINITY);
    const left = delayNs - (this.#clock.nowNs() - oldest);
    if (left <= 0) return false;
    this.#timer = this.#clock.setTimer(this.#run, Math.ceil(left / 1e6));
    return true;
  }
}
