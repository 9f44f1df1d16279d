import { TritonError } from '../../protocol/error.js';
import type { ModelQueuePolicy } from '../../protocol/proto/model-config.js';
import { TimeoutAction } from '../../protocol/proto/model-config.js';
import { requestPrefix } from '../request/validate-request.js';
import { Ring } from './ring.js';
import type { Task } from './task.js';

/** Queue policies and priority levels of a dynamic batcher (spec: runtime, section 1.6). */
export interface QueueOptions {
  /** 0 = one level without a number. */
  readonly priorityLevels: bigint;
  readonly defaultPriority: bigint;
  readonly defaultPolicy: ModelQueuePolicy | undefined;
  readonly policies: ReadonlyMap<bigint, ModelQueuePolicy>;
}

/** The queue of a default scheduler: one level, no limits. */
export const PLAIN_QUEUE: QueueOptions = {
  priorityLevels: 0n,
  defaultPriority: 0n,
  defaultPolicy: undefined,
  policies: new Map(),
};

class Level {
  readonly live = new Ring<Task>();
  /** Expired under DELAY: served when nothing live remains in the level. */
  readonly delayed = new Ring<Task>();

  constructor(
    readonly priority: bigint,
    readonly policy: ModelQueuePolicy | undefined,
  ) {}

  get length(): number {
    return this.live.length + this.delayed.length;
  }

  /** Requests that expire are served later instead of being refused. */
  get delays(): boolean {
    return this.policy?.timeout_action === TimeoutAction.values['DELAY'];
  }
}

/**
 * The waiting requests of one batcher in the order in which they are to be served, with a cursor that a batching pass
 * moves over them. The cursor drops cancelled and expired requests as it meets them.
 */
export class BatchQueue {
  readonly #options: QueueOptions;
  /** Ascending by priority number; the first is served first. */
  readonly #levels: Level[] = [];
  /** Taken out of their places because they were cancelled or expired; answered by `answerDropped`. */
  #dropped: Task[] = [];
  /** No request under REJECT expires before this point in time, in ns; 0 = none of those that wait does. */
  #earliestNs = 0;
  #length = 0;
  #cursorLevel = 0;
  #cursorIndex = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
    if (options.priorityLevels === 0n) this.#levels.push(new Level(0n, options.defaultPolicy));
  }

  /** Requests waiting, cancelled and expired ones that no cursor has met included. */
  get length(): number {
    return this.#length;
  }

  /** True when batches may be formed ahead of a free instance: no limits, no timeouts, no priorities. */
  get allowsPrefetch(): boolean {
    const { priorityLevels, defaultPolicy: policy } = this.#options;
    if (priorityLevels > 0n) return false;
    if (policy === undefined) return true;
    return policy.default_timeout_microseconds === 0n && !policy.allow_timeout_override && policy.max_queue_size === 0;
  }

  /** Queues a request. Throws UNAVAILABLE when its level is full. */
  push(task: Task): void {
    const { priorityLevels, defaultPriority } = this.#options;
    if (priorityLevels === 0n) task.priority = 0n;
    else if (task.priority === 0n || task.priority > priorityLevels) task.priority = defaultPriority;
    const level = this.#level(task.priority);
    const { policy } = level;
    if (policy !== undefined) {
      if (policy.max_queue_size > 0 && level.length >= policy.max_queue_size) {
        throw new TritonError('UNAVAILABLE', `${requestPrefix(task.id)}Exceeds maximum queue size`);
      }
      const timeout = timeoutOf(policy, task);
      if (timeout > 0n) {
        task.deadlineNs = task.startNs + Number(timeout) * 1000;
        const { deadlineNs } = task;
        if (!level.delays && (this.#earliestNs === 0 || deadlineNs < this.#earliestNs)) this.#earliestNs = deadlineNs;
      }
    }
    level.live.push(task);
    this.#length++;
  }

  /** Puts the cursor before the first request. */
  rewind(): void {
    this.#cursorLevel = 0;
    this.#cursorIndex = 0;
  }

  /**
   * The request behind the cursor, after dropping what was cancelled or has expired; undefined at the end. What was dropped
   * is answered by `answerDropped`.
   */
  peek(now: number): Task | undefined {
    for (;;) {
      const level = this.#levels[this.#cursorLevel];
      if (level === undefined) return undefined;
      const liveCount = level.live.length;
      const index = this.#cursorIndex;
      const isLive = index < liveCount;
      const task = isLive ? level.live.at(index) : level.delayed.at(index - liveCount);
      if (task === undefined) {
        this.#cursorLevel++;
        this.#cursorIndex = 0;
      } else if (task.cancelled) {
        this.#remove(level, index);
        this.#dropped.push(task);
      } else if (isLive && task.deadlineNs !== 0 && task.deadlineNs < now) {
        this.#expire(level, index);
      } else {
        return task;
      }
    }
  }

  /** Moves the cursor behind the request that `peek` gave. */
  advance(): void {
    this.#cursorIndex++;
  }

  /** Takes the first request in the order of the cursor. */
  shift(): Task | undefined {
    for (let i = 0; i < this.#levels.length; i++) {
      const level = this.#levels[i]!;
      const task = level.live.shift() ?? level.delayed.shift();
      if (task === undefined) continue;
      this.#length--;
      if (level.length === 0 && this.#options.priorityLevels > 0n && !this.#options.policies.has(level.priority)) {
        this.#levels.splice(i, 1);
      }
      return task;
    }
    return undefined;
  }

  /**
   * Drops every request that has expired and is to be refused, wherever it waits; returns the next point in time at which
   * one will, or somewhat before, 0 = none. Those that are only to be delayed keep their places until a cursor meets them.
   */
  expire(now: number): number {
    if (this.#earliestNs === 0 || now <= this.#earliestNs) return this.#earliestNs;
    let next = 0;
    for (const level of this.#levels) {
      if (level.delays) continue;
      for (let i = 0; i < level.live.length; ) {
        const { deadlineNs } = level.live.at(i)!;
        if (deadlineNs !== 0 && deadlineNs < now) {
          this.#expire(level, i);
          continue;
        }
        if (deadlineNs !== 0 && (next === 0 || deadlineNs < next)) next = deadlineNs;
        i++;
      }
    }
    this.#earliestNs = next;
    return next;
  }

  /** Answers the requests that were dropped. They may bring new ones, so no cursor may be in use. */
  answerDropped(): void {
    if (this.#dropped.length === 0) return;
    const dropped = this.#dropped;
    this.#dropped = [];
    for (const task of dropped) {
      if (task.cancelled) task.rejectCancelled();
      else task.reject(new TritonError('UNAVAILABLE', 'Request timeout expired'), 'REJECTED');
    }
  }

  #level(priority: bigint): Level {
    let i = 0;
    while (i < this.#levels.length && this.#levels[i]!.priority < priority) i++;
    const found = this.#levels[i];
    if (found?.priority === priority) return found;
    const level = new Level(priority, this.#options.policies.get(priority) ?? this.#options.defaultPolicy);
    this.#levels.splice(i, 0, level);
    return level;
  }

  #remove(level: Level, index: number): void {
    if (index < level.live.length) level.live.removeAt(index);
    else level.delayed.removeAt(index - level.live.length);
    this.#length--;
  }

  #expire(level: Level, index: number): void {
    const task = level.live.removeAt(index)!;
    task.deadlineNs = 0;
    if (level.delays) {
      level.delayed.push(task);
      return;
    }
    this.#length--;
    this.#dropped.push(task);
  }
}

/** The client's timeout counts only where allowed and below a default that is set. Microseconds. */
function timeoutOf(policy: ModelQueuePolicy, task: Task): bigint {
  const limit = policy.default_timeout_microseconds;
  const asked = task.timeoutMicroseconds;
  return policy.allow_timeout_override && asked !== 0n && asked < limit ? asked : limit;
}
