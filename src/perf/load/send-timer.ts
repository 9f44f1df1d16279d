import { nowNs } from '../../base/clock.js';
import type { LoadWorker } from './load-worker.js';

/** Timers of the event loop are exact to a millisecond; the rest of a wait is spent asking the clock between events. */
const TIMER_EXACTNESS_NS = 1.2e6;

/** Requests that a worker sends in one go, at most. */
const MAX_SENDS = 16;

/** Wakes the workers of a thread that send by a schedule, each at its time. */
export class SendTimer {
  readonly #workers: () => Iterable<LoadWorker>;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;

  constructor(workers: () => Iterable<LoadWorker>) {
    this.#workers = workers;
  }

  /** Sends what is due and waits for what comes next. Also called when a response lets a worker send again. */
  wake(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    let next = Number.POSITIVE_INFINITY;
    for (const worker of this.#workers()) {
      let due = worker.nextDueNs();
      // Bounded, so that responses are read although the load is behind its schedule.
      for (let sends = 0; due !== undefined && due <= nowNs() && sends < MAX_SENDS; sends++) {
        worker.sendScheduled(due);
        due = worker.nextDueNs();
      }
      if (due !== undefined) next = Math.min(next, due);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    const wait = next - nowNs();
    if (wait > TIMER_EXACTNESS_NS) {
      this.#timer = setTimeout(() => this.wake(), Math.floor((wait - TIMER_EXACTNESS_NS) / 1e6));
    } else {
      this.#immediate = setImmediate(() => this.wake());
    }
  }

  /** Sends nothing more. */
  stop(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
  }
}
