import type { Clock, Timer } from '../../../src/base/clock.js';

/** Longest chain of promises that has run to its end before time passes. A turn of the real loop would cost 20 times as much. */
const PROMISE_STEPS = 12;

interface Scheduled extends Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
}

/**
 * A clock that stands still while code runs and jumps from one timer to the next, for simulations of the schedulers:
 * hours pass in seconds, and every run with the same input is the same. A turn of its event loop takes `turnNs`, so that
 * code that waits by taking turns gets somewhere.
 */
export class VirtualClock implements Clock {
  readonly #turnNs: number;
  /** A binary heap: the earliest first, of equal ones the one that was set first. */
  readonly #heap: Scheduled[] = [];
  #turn: (() => void)[] = [];
  #soon: (() => void)[] = [];
  #now = 1e9;
  #order = 0;

  constructor(turnNs = 1000) {
    this.#turnNs = turnNs;
  }

  nowNs(): number {
    return this.#now;
  }

  setTimer(run: () => void, ms: number): Timer {
    return this.at(this.#now + Math.max(1, Math.trunc(ms)) * 1e6, run);
  }

  /** Calls `run` at a point in time, in ns: finer than timers of Node are. */
  at(ns: number, run: () => void): Timer {
    const timer: Scheduled = { at: ns, order: this.#order++, run, cancelled: false, ref() {}, unref() {} };
    this.#push(timer);
    return timer;
  }

  clearTimer(timer: Timer | undefined): void {
    if (timer !== undefined) (timer as Scheduled).cancelled = true;
  }

  nextTurn(run: () => void): void {
    this.#turn.push(run);
  }

  soon(run: () => void): void {
    this.#soon.push(run);
  }

  /** Lets time pass until nothing is scheduled any more, or until a point in time (ns). */
  async run(until = Number.POSITIVE_INFINITY): Promise<void> {
    for (;;) {
      await this.#callbacks();
      if (this.#turn.length > 0) {
        const turn = this.#turn;
        this.#turn = [];
        this.#now += this.#turnNs;
        for (const run of turn) run();
        continue;
      }
      const next = this.#heap[0];
      if (next === undefined || next.at > until) break;
      this.#pop();
      if (next.cancelled) continue;
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    if (until !== Number.POSITIVE_INFINITY) this.#now = Math.max(this.#now, until);
  }

  /** What is to run at the end of the current callback, reactions of promises included. */
  async #callbacks(): Promise<void> {
    do {
      for (const run of this.#soon.splice(0)) run();
      for (let i = 0; i < PROMISE_STEPS; i++) await undefined;
    } while (this.#soon.length > 0);
  }

  #push(timer: Scheduled): void {
    const heap = this.#heap;
    let i = heap.push(timer) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(timer, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
  }
}

function before(a: Scheduled, b: Scheduled): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
