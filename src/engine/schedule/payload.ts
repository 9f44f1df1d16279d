import type { Task } from './task.js';

/** A batch on its way to an instance. It may grow until an instance takes it or it is saturated. */
export class Payload {
  readonly tasks: Task[] = [];
  /** Sum of the requests' batch sizes. */
  rows = 0;
  /** The batcher adds nothing more. */
  saturated = false;
  /** The request behind it cannot share a batch with it: nothing follows into it, and it follows into no other. */
  sealed = false;
  taken = false;
  /** When the oldest request in it came to the batcher, in ns. */
  oldestNs = Number.POSITIVE_INFINITY;

  add(task: Task): void {
    this.tasks.push(task);
    this.rows += task.batchSize;
    if (task.batcherNs < this.oldestNs) this.oldestNs = task.batcherNs;
  }
}
