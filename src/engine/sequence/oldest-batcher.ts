import type { Clock } from '../../base/clock.js';
import type { BatchOptions } from '../batch/batch-options.js';
import { BatchScheduler } from '../batch/batch-scheduler.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import type { Task } from '../schedule/task.js';
import type { SequenceInputs } from './sequence-inputs.js';
import { nextInSlot, type SequenceBatcher, Slot, type SlotBatcherParts, type SlotOwner } from './slot.js';

/**
 * The oldest strategy for one instance: a dynamic batcher that holds at most one request of each sequence; the next
 * follows when it has had its final response.
 */
export class OldestBatcher implements SequenceBatcher {
  readonly capacity: number;
  readonly slots: Slot[] = [];
  readonly #runner: InstanceRunner;
  readonly #batcher: BatchScheduler;
  readonly #inputs: SequenceInputs;
  readonly #owner: SlotOwner;
  readonly #clock: Clock;
  /** Called when a slot's request has had its final response. */
  readonly #finished = new Map<Slot, () => void>();

  /** `slots`: sequences that it may hold at once. */
  constructor({ runner, inputs, owner, clock }: SlotBatcherParts, slots: number, options: BatchOptions) {
    this.#batcher = new BatchScheduler([runner], options, clock);
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
    const head = nextInSlot(slot, this.#owner);
    if (head === undefined) return;
    slot.queue.shift();
    this.#start(slot, head);
  }

  takenBack(slot: Slot): void {
    slot.issued = undefined;
  }

  close(): void {
    this.#batcher.close();
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
