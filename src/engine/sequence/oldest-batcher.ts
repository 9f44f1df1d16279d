import type { Clock } from '../clock.js';
import type { ModelPlan } from '../model-plan.js';
import { type BatchOptions, BatchScheduler } from '../schedule/batch-scheduler.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import type { Task } from '../schedule/task.js';
import type { SequenceControls } from './controls.js';
import { FORCED_END, type SequenceBatcher, Slot, type SlotOwner } from './slot.js';

/**
 * The oldest strategy for one instance: a dynamic batcher that holds at most one request of each sequence; the next
 * follows when it is answered (spec: runtime, section 3.4).
 */
export class OldestBatcher implements SequenceBatcher {
  readonly slots: readonly Slot[];
  readonly #batcher: BatchScheduler;
  readonly #controls: SequenceControls;
  readonly #owner: SlotOwner;
  /** Slots with a request in the batcher. */
  readonly #busy = new Set<Slot>();

  constructor(
    plan: ModelPlan,
    runner: InstanceRunner,
    controls: SequenceControls,
    owner: SlotOwner,
    slots: number,
    options: BatchOptions,
    clock: Clock,
  ) {
    this.#batcher = new BatchScheduler(plan, [runner], options, clock);
    this.#controls = controls;
    this.#owner = owner;
    this.slots = Array.from({ length: slots }, (_, index) => new Slot(this, index));
  }

  wake(slot: Slot): void {
    if (!this.#busy.has(slot)) this.#issue(slot);
  }

  close(): void {
    this.#batcher.close();
  }

  #issue(slot: Slot): void {
    // Ending one sequence may begin another in the same slot, which then is busy.
    while (!this.#busy.has(slot)) {
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
    const { sequenceStart: start, sequenceEnd: end, correlationId } = task;
    task.inputs = [...task.inputs, ...this.#controls.tensors({ start, ready: true, end, correlationId })];
    this.#busy.add(slot);
    task.onFinished = () => {
      this.#busy.delete(slot);
      if (task.dropped) this.#owner.cancelSequence(slot);
      else if (end) this.#owner.release(slot);
      this.wake(slot);
    };
    this.#batcher.enqueue(task);
  }
}
