import type { Clock, Timer } from '../../base/clock.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { ModelSequenceBatching } from '../../protocol/proto/model-config.js';
import { compatible } from '../batch/compatible.js';
import type { BatchItem, InstanceRunner } from '../schedule/instance-runner.js';
import type { Task } from '../schedule/task.js';
import type { SequenceInputs } from './sequence-inputs.js';
import { nextInSlot, type SequenceBatcher, Slot, type SlotBatcherParts, type SlotOwner } from './slot.js';

type DirectConfig = NonNullable<ModelSequenceBatching['direct']>;

/**
 * The direct strategy for one instance: a sequence keeps its row of the batch. One batch at a time; each takes one
 * request of every slot up to the highest that has one, null requests between.
 */
export class DirectBatcher implements SequenceBatcher {
  readonly capacity: number;
  readonly slots: Slot[] = [];
  readonly #plan: ModelPlan;
  readonly #runner: InstanceRunner;
  readonly #inputs: SequenceInputs;
  readonly #owner: SlotOwner;
  /** Both 0 or: wait until this part of the slots has a request, or the oldest is this old (ns). */
  readonly #minimumUtilization: number;
  readonly #delayNs: number;
  readonly #clock: Clock;
  readonly #run = () => this.#pass();
  #scheduled = false;
  #timer: Timer | undefined;

  /** `config`: the section of the configuration, where it has one. */
  constructor(parts: SlotBatcherParts, config: DirectConfig | undefined) {
    this.#plan = parts.plan;
    this.#runner = parts.runner;
    this.#inputs = parts.inputs;
    this.#owner = parts.owner;
    this.#clock = parts.clock;
    this.#minimumUtilization = config?.minimum_slot_utilization ?? 0;
    this.#delayNs = Number(config?.max_queue_delay_microseconds ?? 0n) * 1000;
    this.capacity = Math.max(1, parts.plan.maxBatchSize);
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
      const head = nextInSlot(slot, this.#owner);
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

  #mustWait(ready: readonly Task[]): boolean {
    if (this.#minimumUtilization === 0 || this.#delayNs === 0) return false;
    if (ready.length / this.capacity >= this.#minimumUtilization) return false;
    const oldest = ready.reduce((least, { startNs }) => Math.min(least, startNs), Number.POSITIVE_INFINITY);
    const left = this.#delayNs - (this.#clock.nowNs() - oldest);
    if (left <= 0) return false;
    this.#timer = this.#clock.setTimer(this.#run, Math.ceil(left / 1e6));
    return true;
  }
}
