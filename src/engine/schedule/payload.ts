import type { Task } from './task.js';

/** A batch on its way to an instance. It may grow until an instance takes it or it is saturated. */
export class Payload {
  readonly tasks: Task[] = [];
  /** Sum of the requests' batch sizes. */
  rows = 0;
  saturated = false;
  taken = false;
  /** When the oldest request in it was queued, in ns. */
  oldestNs = Number.POSITIVE_INFINITY;

  add(task: Task): void {
    this.tasks.push(task);
    this.rows += task.batchSize;
    if (task.startNs < this.oldestNs) this.oldestNs = task.startNs;
  }
}
