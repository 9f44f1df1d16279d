import type { Clock } from '../../base/clock.js';
import { Ring } from '../../base/ring.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import type { Task } from '../schedule/task.js';
import type { SequenceInputs } from './sequence-inputs.js';
import type { SlotState } from './slot-state.js';

/** Identity of a sequence. The type is part of it: the string "1" and the number 1 are two sequences. */
export type SequenceId = bigint | string;

/** Ends a sequence that its client left, or whose only request is done: stands behind what is still queued. */
export const FORCED_END = Symbol('forced end');

/** The slot of one sequence in one instance: its requests in their order, and its states. */
export class Slot {
  readonly queue = new Ring<Task | typeof FORCED_END>();
  /** Of the sequence that holds the slot; undefined while it is free. */
  key: SequenceId | undefined;
  /** Made at each START of a model that has states. */
  state: SlotState | undefined;
  /** Its id as a control tensor, where the model has one. */
  idTensor: Tensor | undefined;
  /** The request that is on its way, where there is one at most. */
  issued: Task | undefined;

  constructor(
    readonly batcher: SequenceBatcher,
    readonly index: number,
  ) {}
}

/** Executes the requests of the sequences of one instance. */
export interface SequenceBatcher {
  /** How many sequences it can hold. */
  readonly capacity: number;
  /** Those that were used so far, by index; at most `capacity`. */
  readonly slots: readonly Slot[];
  /** False while its instance cannot execute anything. */
  readonly healthy: boolean;
  /** Makes the next slot. */
  addSlot(): Slot;
  /** Requests were put into a slot's queue. */
  wake(slot: Slot): void;
  /** A request of a slot is to be executed again: it is no longer on its way. */
  takenBack(slot: Slot): void;
  close(): void;
}

/** What the batchers ask of the scheduler and report to it. */
export interface SlotOwner {
  /** One request makes a sequence, which is executed until it has its final response. */
  readonly iterative: boolean;
  /** True while batchers must not start yet (start-delay.ts). */
  readonly held: boolean;
  /** The slot's sequence is over: the slot may serve another, which its queue then holds already. */
  release(slot: Slot): void;
  /** A request of the slot's sequence was cancelled: the others are cancelled too and the slot is released. */
  cancelSequence(slot: Slot): void;
  /** A request of an iterative sequence had its final response. */
  finished(slot: Slot, task: Task): void;
  /** A request of an iterative sequence is to be executed again. */
  rescheduled(slot: Slot, task: Task): void;
}

/** What a batcher of sequences is made of. */
export interface SlotBatcherParts {
  readonly plan: ModelPlan;
  readonly runner: InstanceRunner;
  readonly inputs: SequenceInputs;
  readonly owner: SlotOwner;
  readonly clock: Clock;
}

/**
 * The request to be executed next in a slot, after ending sequences that are over; undefined when there is none, or one is
 * on its way (ending one sequence may begin another in the same slot).
 */
export function nextInSlot(slot: Slot, owner: SlotOwner): Task | undefined {
  while (slot.issued === undefined) {
    const head = slot.queue.at(0);
    if (head === undefined) return undefined;
    if (head === FORCED_END) {
      slot.queue.shift();
      owner.release(slot);
    } else if (head.cancelled) {
      owner.cancelSequence(slot);
    } else {
      return head;
    }
  }
  return undefined;
}
