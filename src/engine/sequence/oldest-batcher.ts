import type { Clock } from '../../base/clock.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { type BatchOptions, BatchScheduler } from '../batch/batch-scheduler.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import type { Task } from '../schedule/task.js';
import type { SequenceInputs } from './sequence-inputs.js';
import { FORCED_END, type SequenceBatcher, Slot, type SlotOwner } from './slot.js';

/**
 * The oldest strategy for one instance: a dynamic batcher that holds at most one request of each sequence; the next
 * follows when it is answered (spec: runtime, section 3.4).
 */
export class OldestBatcher implements SequenceBatcher {
  readonly capacity: number;
  readonly slots: Slot[] = [];
  readonly #runner: InstanceRunner;
  readonly #batcher: BatchScheduler;
  readonly #inputs: SequenceInputs;
  readonly #owner: SlotOwner;
  readonly #clock: Clock;
  /** Called when a slot's request was answered. */
  readonly #finished = new Map<Slot, () => void>();

  constructor(
    plan: ModelPlan,
    runner: InstanceRunner,
    inputs: SequenceInputs,
    owner: SlotOwner,
    slots: number,
    options: BatchOptions,
    clock: Clock,
  ) {
    this.#batcher = new BatchScheduler(plan, [runner], options, clock);
    this.#inputs = inputs;
    this.#owner = owner;
    this.#clock = clock;
    this.#runner = runner;
    this.capacity = slots;
  }

  get healthy(): boolean {
    return this.#runner.healthy;
  }

  addSlot(): Slot {
    const slot = new Slot(this, this.slots.length);
    this.slots.push(slot);
    this.#finished.set(slot, () => this.#answered(slot));
    return slot;
  }

  wake(slot: Slot): void {
    if (slot.issued === undefined) this.#issue(slot);
  }

  takenBack(slot: Slot): void {
    slot.issued = undefined;
  }

  close(): void {
    this.#batcher.close();
  }

  #issue(slot: Slot): void {
    // Ending one sequence may begin another in the same slot, which then is busy.
    while (slot.issued === undefined) {
      const head = slot.queue.at(0);
      if (head === undefined) return;
      if (head === FORCED_END) {
        slot.queue.shift();
        this.#owner.release(slot);
      } else if (head.cancelled) {
        this.#owner.cancelSequence(slot);
      } else {
        slot.queue.shift();
        this.#start(slot, head);
        return;
      }
    }
  }

  #start(slot: Slot, task: Task): void {
    this.#inputs.attach(task, slot);
    slot.issued = task;
    if (this.#owner.iterative) task.onRescheduled ??= () => this.#owner.rescheduled(slot, task);
    task.onFinished = this.#finished.get(slot);
    task.batcherNs = this.#clock.nowNs();
    this.#batcher.enqueue(task);
  }

  #answered(slot: Slot): void {
    const task = slot.issued!;
    slot.issued = undefined;
    if (task.dropped) this.#owner.cancelSequence(slot);
    else if (task.sequenceEnd) this.#owner.release(slot);
    else if (this.#owner.iterative) this.#owner.finished(slot, task);
    this.wake(slot);
  }
}
