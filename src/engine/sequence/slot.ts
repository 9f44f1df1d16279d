import { Ring } from '../schedule/ring.js';
import type { Task } from '../schedule/task.js';

/** Ends a sequence that its client left: stands behind the requests that are still queued. */
export const FORCED_END = Symbol('forced end');

/** The place of one sequence in one instance: its requests in their order. */
export class Slot {
  readonly queue = new Ring<Task | typeof FORCED_END>();
  /** Of the sequence that holds the slot; undefined while it is free. */
  key: string | undefined;

  constructor(
    readonly batcher: SequenceBatcher,
    readonly index: number,
  ) {}
}

/** Executes the requests of the sequences of one instance. */
export interface SequenceBatcher {
  readonly slots: readonly Slot[];
  /** Requests were put into a slot's queue. */
  wake(slot: Slot): void;
  close(): void;
}

/** What the batchers tell the scheduler. */
export interface SlotOwner {
  /** The slot's sequence is over: the slot may serve another, which its queue then holds already. */
  release(slot: Slot): void;
  /** A request of the slot's sequence was cancelled: the others are cancelled too and the slot is released. */
  cancelSequence(slot: Slot): void;
}
