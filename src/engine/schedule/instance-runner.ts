import { type Clock, SYSTEM_CLOCK } from '../../base/clock.js';
import { TritonError } from '../../base/error.js';
import type { BackendInstance, ExecutionTimes } from '../../contract/backend.js';
import type { RequestLog } from '../request/request-log.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import { NullRequest } from './null-request.js';
import type { LimitedInstance } from './rate-limiter.js';
import type { Task } from './task.js';
import { traceExecution } from './task-trace.js';

/** What a batch consists of. */
export type BatchItem = Task | NullRequest;

/** Runs batches on one instance, responds where the backend did not, and counts what happened. */
export class InstanceRunner {
  readonly instance: BackendInstance;
  readonly #statistics: ModelStatistics;
  readonly #decoupled: boolean;
  readonly #clock: Clock;
  /** Set when the instance competes for resources (the rate limiter is on): one batch at a time then. */
  readonly #limited: LimitedInstance | undefined;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor(
    instance: BackendInstance,
    statistics: ModelStatistics,
    decoupled: boolean,
    { clock = SYSTEM_CLOCK, limited }: { readonly clock?: Clock; readonly limited?: LimitedInstance | undefined } = {},
  ) {
    this.instance = instance;
    this.#statistics = statistics;
    this.#decoupled = decoupled;
    this.#clock = clock;
    this.#limited = limited;
  }

  /** True when the instance takes another batch. */
  get idle(): boolean {
    if (this.#inFlight === 0) return true;
    return this.#limited === undefined && this.#inFlight < this.instance.concurrency;
  }

  /** False while the instance cannot execute anything. */
  get healthy(): boolean {
    return this.instance.healthy ?? true;
  }

  /** Of idle instances the one with the lowest cost is to be preferred; undefined where nothing is limited. */
  get cost(): number | undefined {
    return this.#limited?.cost;
  }

  /** Batches being executed. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Executes a batch; `done` follows once the instance is free again, possibly before this returns. With the rate limiter
   * the batch waits for its turn and may grow until `starting` is called.
   */
  run(tasks: readonly BatchItem[], done: () => void, starting?: () => void): void {
    this.#inFlight++;
    if (this.#limited === undefined) {
      this.#execute(tasks, done);
      return;
    }
    this.#limited.stage(() => {
      starting?.();
      this.#execute(tasks, done);
    });
  }

  /** Resolves when no batch is on its way; nothing may be given to the instance any more. */
  async drained(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** Warmed up: takes its place among those that compete. */
  serve(): void {
    this.#limited?.serve();
  }

  /** Ends the instance and gives up its part of the resources. */
  async close(): Promise<void> {
    try {
      await this.instance.close();
    } finally {
      this.#limited?.remove();
    }
  }

  #execute(tasks: readonly BatchItem[], done: () => void, isRepeat = false): void {
    let log: RequestLog | undefined;
    for (const task of tasks) {
      if (task instanceof NullRequest) continue;
      task.markExecuting();
      log = task.verbose;
    }
    log?.executing(this.instance.name, tasks.length);
    let result: Promise<ExecutionTimes> | ExecutionTimes;
    try {
      result = this.instance.execute(tasks);
    } catch (reason) {
      this.#fail(tasks, reason, done, isRepeat);
      return;
    }
    if (!(result instanceof Promise)) {
      this.#finish(tasks, result, done, isRepeat);
      return;
    }
    result.then(
      (times) => this.#finish(tasks, times, done, isRepeat),
      (reason) => this.#fail(tasks, reason, done, isRepeat),
    );
  }

  /** Executes the requests of a batch that failed one by one; the instance stays taken meanwhile. */
  #executeAlone(tasks: readonly BatchItem[], done: () => void): void {
    let next = 0;
    const step = (): void => {
      const task = tasks[next++];
      if (task !== undefined) {
        // After a turn of the event loop: an instance on the main thread must not keep it for all of them.
        this.#execute([task], () => this.#clock.nextTurn(step), true);
        return;
      }
      this.#free();
      done();
    };
    step();
  }

  /** Rows of a batch with null requests belong to slots, so such a batch is not taken apart. */
  #canRepeat(tasks: readonly BatchItem[]): boolean {
    if (tasks.length < 2 || this.instance.repeatable !== true || !this.healthy) return false;
    return tasks.every((task) => !(task instanceof NullRequest) && !task.finished);
  }

  #free(): void {
    this.#inFlight--;
    this.#limited?.release();
    if (this.#inFlight === 0 && this.#onIdle !== undefined) this.#onIdle();
  }

  #finish(tasks: readonly BatchItem[], times: ExecutionTimes, done: () => void, isRepeat: boolean): void {
    if (!isRepeat) this.#free();
    const end = this.#clock.nowNs();
    const inputNs = span(times.computeStart, times.inputEnd);
    const inferNs = span(times.inputEnd, times.outputStart);
    const outputNs = span(times.outputStart, times.computeEnd);
    let rows = 0;
    let succeeded = false;
    for (const task of tasks) {
      rows += task.batchSize;
      if (task instanceof NullRequest) continue;
      if (!task.finished && !task.rescheduled && !this.#decoupled && !times.answersLater) {
        task.respond({ outputs: [], error: new TritonError('INTERNAL', 'the backend gave no response') }, true);
      }
      if (task.trace !== undefined) traceExecution(task.trace, times);
      if (task.failed || times.failed) {
        this.#statistics.recordFailure('BACKEND', end - task.startNs);
        task.counted(0, 0, 0);
        continue;
      }
      succeeded = true;
      const queueNs = span(task.startNs, times.computeStart);
      this.#statistics.recordSuccess(task.batchSize, end - task.startNs, queueNs, inputNs, inferNs, outputNs);
      task.counted(inputNs, inferNs, outputNs);
    }
    if (succeeded || times.failed) this.#statistics.recordExecution(rows, inputNs, inferNs, outputNs);
    let log: RequestLog | undefined;
    for (const task of tasks) {
      if (task instanceof NullRequest) continue;
      log = task.verbose;
      if (task.rescheduled) task.requeue();
    }
    log?.released(this.instance.name, tasks.length);
    done();
  }

  #fail(tasks: readonly BatchItem[], reason: unknown, done: () => void, isRepeat: boolean): void {
    if (this.#canRepeat(tasks)) {
      this.#executeAlone(tasks, done);
      return;
    }
    if (!isRepeat) this.#free();
    const error = TritonError.from(reason);
    for (const task of tasks) {
      if (task instanceof NullRequest) continue;
      // It gets its response here, so it does not go back into its queue.
      task.rescheduled = false;
      if (!task.finished) task.respond({ outputs: [], error }, true);
      this.#statistics.recordFailure('BACKEND', this.#clock.nowNs() - task.startNs);
      task.counted(0, 0, 0);
    }
    done();
  }
}

/** Length of a span of time in ns; 0 where clocks of a backend put its ends the wrong way round. */
function span(start: number, end: number): number {
  return end > start ? end - start : 0;
}
