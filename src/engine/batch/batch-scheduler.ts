import { type Clock, SYSTEM_CLOCK, type Timer } from '../../base/clock.js';
import { TritonError } from '../../base/error.js';
import { Ring } from '../../base/ring.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import { OrderedResponses } from '../schedule/ordered-responses.js';
import { type Scheduler, STOPPING_TEXT } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import type { BatchOptions } from './batch-options.js';
import { BatchQueue } from './batch-queue.js';
import { compatible } from './compatible.js';
import { formBatch, type NextBatch } from './form-batch.js';
import { Runners } from './runners.js';

/** Time that executions on the main thread may take without letting the event loop turn, in ns. */
const MAX_TURN_NS = 2_000_000;

/** How often instances that are not healthy are looked at while requests wait, in ms. */
const RECOVERY_MS = 100;

/** A batch on its way to an instance. It may grow until an instance takes it or it is saturated. */
class Payload {
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

/**
 * The default scheduler and the dynamic batcher: one queue for all instances of a version.
 *
 *   queue --pass--> current payload (grows) --> formed payloads --> instances that are free
 */
export class BatchScheduler implements Scheduler {
  readonly #runners: Runners;
  readonly #options: BatchOptions;
  readonly #clock: Clock;
  readonly #queue: BatchQueue;
  readonly #prefetch: boolean;
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

  constructor(runners: readonly InstanceRunner[], options: BatchOptions, clock: Clock = SYSTEM_CLOCK) {
    this.#runners = new Runners(runners);
    this.#options = options;
    this.#clock = clock;
    this.#queue = new BatchQueue(options.queue, () => this.#wake());
    this.#prefetch = this.#queue.allowsPrefetch;
    this.#order = options.preserveOrdering ? new OrderedResponses() : undefined;
    this.#startAfter = options.startAfter;
  }

  /** As Triton counts: what is queued and the batch that grows. Batches on their way to an instance have left. */
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
    for (const runner of this.#runners.replace(runners)) unused(runner);
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
        this.#queue.respondToDropped();
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
    if (!this.#scheduled && this.#timer === undefined && this.#formed.length > 0 && this.#runners.partlyHealthy) {
      this.#timer = this.#clock.setTimer(this.#run, RECOVERY_MS);
    }
    this.#queue.respondToDropped();
  }

  /** Moves requests from the queue into payloads while there is room for payloads. Returns ns to wait, 0 = unknown. */
  #form(now: number): number {
    while (this.#queue.length > 0) {
      if (this.#current.saturated || this.#current.taken) this.#current = new Payload();
      if (!this.#hasSlot()) return 0;
      const payload = this.#current;
      const { count, waitNs, saturated, sealed } = this.#options.batching
        ? formBatch(this.#options, payload, this.#queue, now)
        : this.#single(now);
      if (saturated) payload.saturated = true;
      if (sealed) payload.sealed = true;
      if (waitNs > 0) return waitNs;
      if (count === 0) {
        if (payload.saturated && this.#queue.length > 0) continue;
        return 0;
      }
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
    return this.#formed.length === 0 && this.#runners.anyIdle;
  }

  /** Without batching every request is its own payload, and has left the queue's rules with that. */
  #single(now: number): NextBatch {
    if (this.#current.tasks.length > 0) return NOTHING;
    this.#queue.rewind();
    return this.#queue.peek(now) === undefined ? NOTHING : ONE;
  }

  /** Gives the oldest payload to a free instance. False when there is none of either. */
  #dispatch(now: number): boolean {
    const payload = this.#formed.at(0);
    if (payload === undefined) return false;
    const runner = this.#runners.take();
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
    const { delayNs, maxBatchSize, plan } = this.#options;
    if (delayNs === 0 || maxBatchSize <= 1) return;
    while (!payload.sealed) {
      const next = this.#formed.at(0);
      if (next === undefined || next.sealed || now - next.oldestNs <= delayNs) return;
      if (payload.rows + next.rows > maxBatchSize || !compatible(plan, payload.tasks[0]!, next.tasks[0]!)) return;
      this.#formed.shift();
      next.taken = true;
      for (const task of next.tasks) payload.add(task);
    }
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

const NOTHING: NextBatch = { count: 0, waitNs: 0, saturated: true, sealed: false };
const ONE: NextBatch = { ...NOTHING, count: 1 };
