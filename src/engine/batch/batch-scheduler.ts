import { type Clock, SYSTEM_CLOCK, type Timer } from '../../base/clock.js';
import { Ring } from '../../base/ring.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { TritonError } from '../../protocol/error.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import { OrderedResponses } from '../schedule/ordered-responses.js';
import { Payload } from '../schedule/payload.js';
import { type Scheduler, STOPPING_TEXT } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import { BatchQueue, type QueueOptions } from './batch-queue.js';
import { compatible } from './compatible.js';

/** How a batcher forms batches. */
export interface BatchOptions {
  /** False: every request is executed by itself, in order (the default scheduler). */
  readonly batching: boolean;
  /** Largest number of rows; 1 where nothing is batched. */
  readonly maxBatchSize: number;
  readonly preferredSizes: readonly number[];
  /** How long the oldest request may wait for more, in ns; 0 = not at all. */
  readonly delayNs: number;
  readonly preserveOrdering: boolean;
  readonly queue: QueueOptions;
  /** Starts only once so many requests are queued: for deterministic tests (spec: runtime, section 1.10). */
  readonly startAfter: number;
}

/** Time that executions on the main thread may take without letting the event loop turn, in ns. */
const MAX_TURN_NS = 2_000_000;

/** How often instances that are not healthy are looked at while requests wait, in ms. */
const RECOVERY_MS = 100;

/**
 * The default scheduler and the dynamic batcher: one queue for all instances of a version (spec: runtime, section 1).
 *
 *   queue --pass--> current payload (grows) --> formed payloads --> instances that are free
 */
export class BatchScheduler implements Scheduler {
  readonly #plan: ModelPlan;
  #runners: readonly InstanceRunner[];
  readonly #options: BatchOptions;
  readonly #clock: Clock;
  readonly #queue: BatchQueue;
  readonly #prefetch: boolean;
  readonly #maxPreferred: number;
  readonly #order: OrderedResponses | undefined;
  readonly #run = () => this.#schedule();
  readonly #freed = () => this.#instanceFreed();
  /** Payloads that no instance has taken, oldest first; the last may be the current one. */
  readonly #formed = new Ring<Payload>();
  #current = new Payload();
  #scheduled = false;
  #running = false;
  #stopping = false;
  #startAfter: number;
  #timer: Timer | undefined;
  #nextRunner = 0;

  constructor(plan: ModelPlan, runners: readonly InstanceRunner[], options: BatchOptions, clock: Clock = SYSTEM_CLOCK) {
    this.#plan = plan;
    this.#runners = runners;
    this.#options = options;
    this.#clock = clock;
    this.#queue = new BatchQueue(options.queue, () => this.#wake());
    this.#prefetch = this.#queue.allowsPrefetch;
    this.#maxPreferred = options.preferredSizes.reduce((most, size) => Math.max(most, size), 0);
    this.#order = options.preserveOrdering ? new OrderedResponses() : undefined;
    this.#startAfter = options.startAfter;
  }

  /** As the original counts: what is queued and the batch that grows. Batches on their way to an instance have left. */
  get inFlight(): number {
    if (!this.#options.batching) return 0;
    return this.#queue.length + (this.#current.taken ? 0 : this.#current.tasks.length);
  }

  enqueue(task: Task): void {
    if (this.#stopping && !task.isStep)
      throw new TritonError('UNAVAILABLE', `${requestPrefix(task.id)}${STOPPING_TEXT}`);
    this.#queue.push(task);
    this.#wake();
  }

  setRunners(runners: readonly InstanceRunner[], unused: (runner: InstanceRunner) => void): void {
    const left = this.#runners.filter((runner) => !runners.includes(runner));
    this.#runners = runners;
    this.#nextRunner = 0;
    for (const runner of left) unused(runner);
    this.#wake();
  }

  stop(): void {
    this.#stopping = true;
    this.#startAfter = 0;
    this.#wake();
  }

  close(): void {
    this.#clock.clearTimer(this.#timer);
  }

  /**
   * Runs the scheduler soon, never inside `enqueue`. A batcher waits for the end of the event loop's turn, so that all
   * requests that arrived with it can share a batch; without batching the end of the current callback is enough.
   */
  #wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#options.batching) this.#clock.nextTurn(this.#run);
    else this.#clock.soon(this.#run);
  }

  #instanceFreed(): void {
    // An execution that ends inside the loop below is seen by that loop.
    if (!this.#running) this.#wake();
  }

  #schedule(): void {
    this.#scheduled = false;
    if (this.#timer !== undefined) {
      this.#clock.clearTimer(this.#timer);
      this.#timer = undefined;
    }
    if (this.#startAfter > 0) {
      if (this.#queue.length < this.#startAfter) {
        this.#queue.answerDropped();
        return;
      }
      this.#startAfter = 0;
    }
    const start = this.#clock.nowNs();
    let now = start;
    let waitNs = 0;
    this.#running = true;
    try {
      waitNs = this.#form(now);
      while (this.#dispatch(now)) {
        now = this.#clock.nowNs();
        if (now - start > MAX_TURN_NS) {
          this.#scheduled = true;
          this.#clock.nextTurn(this.#run);
          break;
        }
        waitNs = this.#form(now);
      }
    } finally {
      this.#running = false;
    }
    if (!this.#scheduled && this.#queue.length > 0) this.#waitFor(waitNs, now);
    // Nobody says when an instance has recovered.
    if (!this.#scheduled && this.#timer === undefined && this.#formed.length > 0 && this.#usable() !== this.#runners) {
      this.#timer = this.#clock.setTimer(this.#run, RECOVERY_MS);
    }
    this.#queue.answerDropped();
  }

  /** Moves requests from the queue into payloads while there is room for payloads. Returns ns to wait, 0 = unknown. */
  #form(now: number): number {
    while (this.#queue.length > 0) {
      if (this.#current.saturated || this.#current.taken) this.#current = new Payload();
      if (!this.#hasSlot()) return 0;
      const { count, waitNs } = this.#options.batching ? this.#pass(now) : this.#single(now);
      if (waitNs > 0) return waitNs;
      if (count === 0) {
        if (this.#current.saturated && this.#queue.length > 0) continue;
        return 0;
      }
      const payload = this.#current;
      if (payload.tasks.length === 0) this.#formed.push(payload);
      for (let i = 0; i < count; i++) {
        const task = this.#queue.shift()!;
        if (this.#order !== undefined) task.order ??= this.#order.slot();
        payload.add(task);
      }
    }
    return 0;
  }

  #hasSlot(): boolean {
    if (this.#prefetch) return this.#formed.length < 2 * this.#runners.length;
    return this.#formed.length === 0 && this.#usable().some((runner) => runner.idle);
  }

  /** Without batching every request is its own payload, and has left the queue's rules with that. */
  #single(now: number): { count: number; waitNs: number } {
    this.#current.saturated = true;
    if (this.#current.tasks.length > 0) return NOTHING;
    this.#queue.rewind();
    return this.#queue.peek(now) === undefined ? NOTHING : ONE;
  }

  /** One batching pass: how many requests join the current payload now, or how long to wait. */
  #pass(now: number): { count: number; waitNs: number } {
    const { maxBatchSize, preferredSizes, delayNs } = this.#options;
    const payload = this.#current;
    const queue = this.#queue;
    let first = payload.tasks[0];
    let pending = 0;
    let count = 0;
    let best = 0;
    let bestCount = 0;
    let sendNow = false;
    let oldest = now;
    let nearestDeadline = 0;
    queue.rewind();
    for (let task = queue.peek(now); task !== undefined; task = queue.peek(now)) {
      const rows = payload.rows + pending + task.batchSize;
      if (first === undefined) {
        first = task;
      } else {
        if (rows > this.#maxPreferred && best === 0) {
          best = pending;
          bestCount = count;
          payload.saturated = true;
        }
        if (rows > maxBatchSize) {
          sendNow = true;
          break;
        }
        if (!compatible(this.#plan, first, task)) {
          payload.saturated = true;
          payload.sealed = true;
          sendNow = true;
          break;
        }
      }
      pending += task.batchSize;
      count++;
      if (task.batcherNs < oldest) oldest = task.batcherNs;
      if (task.deadlineNs !== 0 && (nearestDeadline === 0 || task.deadlineNs < nearestDeadline)) {
        nearestDeadline = task.deadlineNs;
      }
      queue.advance();
      if (preferredSizes.includes(rows)) {
        best = pending;
        bestCount = count;
      }
    }

    const exceeded = delayNs !== 0 && now - oldest >= delayNs;
    if (best !== 0 && !exceeded) {
      if (delayNs === 0) payload.saturated = true;
      return { count: bestCount, waitNs: 0 };
    }
    if (count === 0) return NOTHING;
    if (sendNow || payload.rows + pending >= this.#maxPreferred) {
      payload.saturated = true;
      return { count, waitNs: 0 };
    }
    if (exceeded || delayNs === 0) return { count, waitNs: 0 };
    if (payload.rows > 0 && !payload.saturated && !preferredSizes.includes(payload.rows)) return { count, waitNs: 0 };
    let waitNs = delayNs - (now - oldest);
    if (nearestDeadline !== 0) waitNs = Math.min(waitNs, nearestDeadline - now);
    return { count: 0, waitNs: Math.max(waitNs, 1000) };
  }

  /** Gives the oldest payload to a free instance. False when there is none of either. */
  #dispatch(now: number): boolean {
    const payload = this.#formed.at(0);
    if (payload === undefined) return false;
    const runner = this.#freeRunner();
    if (runner === undefined) return false;
    this.#formed.shift();
    if (runner.cost === undefined) {
      this.#take(payload, now);
      runner.run(payload.tasks, this.#freed);
    } else {
      runner.run(payload.tasks, this.#freed, () => this.#take(payload, this.#clock.nowNs()));
    }
    return true;
  }

  /**
   * An instance begins to execute the payload: it grows no more. Requests in it that were cancelled meanwhile are executed
   * all the same, as in Triton; there are at most two payloads for each instance.
   */
  #take(payload: Payload, now: number): void {
    payload.taken = true;
    this.#merge(payload, now);
  }

  /** Adds following payloads that have waited out the delay, as far as they fit. */
  #merge(payload: Payload, now: number): void {
    const { delayNs, maxBatchSize } = this.#options;
    if (delayNs === 0 || maxBatchSize <= 1) return;
    while (!payload.sealed) {
      const next = this.#formed.at(0);
      if (next === undefined || next.sealed || now - next.oldestNs <= delayNs) return;
      if (payload.rows + next.rows > maxBatchSize || !compatible(this.#plan, payload.tasks[0]!, next.tasks[0]!)) return;
      this.#formed.shift();
      next.taken = true;
      for (const task of next.tasks) payload.add(task);
    }
  }

  /**
   * Free instances take turns; one that accepts work ahead of its end gets it when no other is free. Those that compete
   * for resources go by their cost. One that is not healthy gets nothing while another is: it would fail every request at
   * once, and so be free for the next.
   */
  #freeRunner(): InstanceRunner | undefined {
    const runners = this.#usable();
    if (runners[0]?.cost !== undefined) return cheapest(runners.filter((runner) => runner.idle));
    let ahead = -1;
    for (let i = 0; i < runners.length; i++) {
      const index = (this.#nextRunner + i) % runners.length;
      const runner = runners[index]!;
      if (!runner.idle) continue;
      if (runner.inFlight === 0) {
        this.#nextRunner = index + 1;
        return runner;
      }
      if (ahead < 0) ahead = index;
    }
    if (ahead < 0) return undefined;
    this.#nextRunner = ahead + 1;
    return runners[ahead];
  }

  /** The instances that may get work: the healthy ones, or all when none is. */
  #usable(): readonly InstanceRunner[] {
    const runners = this.#runners;
    for (let i = 0; i < runners.length; i++) if (!runners[i]!.healthy) return healthyOf(runners);
    return runners;
  }

  /** Comes back when the oldest request's delay or a queue timeout is over. */
  #waitFor(waitNs: number, now: number): void {
    const deadline = this.#queue.expire(now);
    const timeoutNs = deadline === 0 ? 0 : Math.max(deadline - now, 1000);
    const ns = waitNs === 0 ? timeoutNs : timeoutNs === 0 ? waitNs : Math.min(waitNs, timeoutNs);
    if (ns === 0) return;
    // Timers count whole milliseconds and come up to one late: the rest below two is spent in turns of the loop.
    if (ns >= 2_000_000) this.#timer = this.#clock.setTimer(this.#run, Math.floor(ns / 1e6) - 1);
    else {
      this.#scheduled = true;
      this.#clock.nextTurn(this.#run);
    }
  }
}

function cheapest(runners: readonly InstanceRunner[]): InstanceRunner | undefined {
  let best = runners[0];
  for (const runner of runners) if (runner.cost! < best!.cost!) best = runner;
  return best;
}

function healthyOf(runners: readonly InstanceRunner[]): readonly InstanceRunner[] {
  const healthy = runners.filter((runner) => runner.healthy);
  return healthy.length === 0 ? runners : healthy;
}

const NOTHING = { count: 0, waitNs: 0 } as const;
const ONE = { count: 1, waitNs: 0 } as const;
