import { Ring } from '../../base/ring.js';
import type { Task } from './task.js';

/** Gaps are closed when there are more of them than this and than a quarter of what waits. */
const FEW_GAPS = 16;

/**
 * Requests that wait in their order. One that leaves out of the middle (cancelled, expired) leaves a gap, which costs
 * nothing; gaps are closed when they get many, so that all operations take constant time on average.
 *
 *    [ a _ b c _ _ d ]   slots; a gap is a request whose `line` is not this one any more
 */
export class TaskLine {
  readonly #ring = new Ring<Task>();
  readonly #onCancelled: (line: TaskLine, task: Task) => void;
  #length = 0;

  /** `onCancelled`: a request that waits here was cancelled. */
  constructor(onCancelled: (line: TaskLine, task: Task) => void) {
    this.#onCancelled = onCancelled;
  }

  /** Requests that wait. */
  get length(): number {
    return this.#length;
  }

  /** Slots, gaps included. */
  get slots(): number {
    return this.#ring.length;
  }

  push(task: Task): void {
    task.line = this;
    this.#ring.push(task);
    this.#length++;
  }

  /** The request in a slot; undefined for a gap. */
  at(slot: number): Task | undefined {
    const task = this.#ring.at(slot);
    return task?.line === this ? task : undefined;
  }

  /** Takes the oldest. */
  shift(): Task | undefined {
    for (let task = this.#ring.shift(); task !== undefined; task = this.#ring.shift()) {
      if (task.line !== this) continue;
      task.line = undefined;
      this.#length--;
      return task;
    }
    return undefined;
  }

  /** Takes a request that waits here out of its slot. */
  remove(task: Task): void {
    task.line = undefined;
    this.#length--;
  }

  /** For a request that waits here: it was cancelled. */
  cancelled(task: Task): void {
    this.#onCancelled(this, task);
  }

  /** Closes gaps where there are many: slots then have other numbers. */
  close(): void {
    const gaps = this.#ring.length - this.#length;
    // Where nothing waits any more, nothing may keep the last requests' tensors.
    if (this.#length > 0 && (gaps <= FEW_GAPS || gaps <= this.#length >> 2)) return;
    for (let left = this.#ring.length; left > 0; left--) {
      const task = this.#ring.shift() as Task;
      if (task.line === this) this.#ring.push(task);
    }
  }
}
