import { TritonError } from '../../base/error.js';
import { MinHeap } from '../../base/min-heap.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import type { ModelQueuePolicy } from '../../protocol/proto/model-config.js';
import { TimeoutAction } from '../../protocol/proto/model-config.js';
import type { Task } from '../schedule/task.js';
import { TaskLine } from '../schedule/task-line.js';
import type { Candidates } from './form-batch.js';

/** Queue policies and priority levels of a dynamic batcher. */
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
  readonly live: TaskLine;
  /** Expired under DELAY: served when nothing live remains in the level. */
  readonly delayed: TaskLine;

  constructor(
    readonly priority: bigint,
    readonly policy: ModelQueuePolicy | undefined,
    onCancelled: (line: TaskLine, task: Task) => void,
  ) {
    this.live = new TaskLine(onCancelled);
    this.delayed = new TaskLine(onCancelled);
  }

  get length(): number {
    return this.live.length + this.delayed.length;
  }

  /** Requests that expire are served later instead of being refused. */
  get delays(): boolean {
    return this.policy?.timeout_action === TimeoutAction.values.DELAY;
  }
}

/** The end of a request's wait under REJECT. It is void when the request left the queue before. */
interface Deadline {
  readonly ns: number;
  readonly task: Task;
}

/** Void deadlines are dropped when there are more of them than this and than of the others. */
const FEW_DEADLINES = 64;

/**
 * The waiting requests of one batcher in the order in which they are to be served, with a cursor that a batching pass
 * moves over them. The cursor drops expired requests as it meets them; cancelled ones leave at once. Levels exist only
 * while something waits in them, whatever number of levels is configured.
 *
 * Costs: to queue, to cancel and to take a request takes constant time on average, logarithmic in the waiting deadlines
 * where there are timeouts; a level that begins or ends moves the references to those behind it.
 */
export class BatchQueue implements Candidates {
  readonly #options: QueueOptions;
  /** Ascending by priority number; the first is served first. */
  #levels: Level[] = [];
  /** Taken out of their slots because they were cancelled or expired; `respondToDropped` responds to them. */
  #dropped: Task[] = [];
  readonly #deadlines = new MinHeap<Deadline>(({ ns }) => ns);
  #length = 0;
  #cursorLevel = 0;
  #cursorSlot = 0;
  /** Levels may have become empty since the last pass. */
  #emptied = false;
  /** Lines that requests left out of the middle since the last pass. */
  readonly #gappy = new Set<TaskLine>();
  readonly #onCancelled: (line: TaskLine, task: Task) => void;

  /** `onDropped`: a waiting request was cancelled, `respondToDropped` is to be called soon. */
  constructor(options: QueueOptions, onDropped: () => void) {
    this.#options = options;
    this.#onCancelled = (line, task) => {
      this.#drop(line, task);
      onDropped();
    };
    if (options.priorityLevels === 0n) this.#levels.push(this.#newLevel(0n));
  }

  /** Requests that are kept in memory: those that wait, and those that left and whose slots are not closed yet. */
  get slots(): number {
    return this.#levels.reduce((sum, { live, delayed }) => sum + live.slots + delayed.slots, 0);
  }

  /** Requests waiting, expired ones that no cursor has met included. */
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
        if (!level.delays) this.#addDeadline(task);
      }
    }
    level.live.push(task);
    this.#length++;
  }

  /** Puts the cursor before the first request. */
  rewind(): void {
    if (this.#emptied) this.#dropLevels();
    this.#closeGaps();
    this.#cursorLevel = 0;
    this.#cursorSlot = 0;
  }

  /**
   * The request behind the cursor, after dropping what was cancelled or has expired; undefined at the end. What was dropped
   * gets its response from `respondToDropped`.
   */
  peek(now: number): Task | undefined {
    for (;;) {
      const level = this.#levels[this.#cursorLevel];
      if (level === undefined) return undefined;
      const { live, delayed } = level;
      const slot = this.#cursorSlot;
      if (slot >= live.slots + delayed.slots) {
        this.#cursorLevel++;
        this.#cursorSlot = 0;
        continue;
      }
      const isLive = slot < live.slots;
      const line = isLive ? live : delayed;
      const task = line.at(isLive ? slot : slot - live.slots);
      if (task === undefined) {
        this.#cursorSlot++;
      } else if (task.cancelled) {
        this.#drop(line, task);
      } else if (isLive && task.deadlineNs !== 0 && task.deadlineNs < now) {
        task.deadlineNs = 0;
        if (level.delays) {
          live.remove(task);
          this.#gappy.add(live);
          delayed.push(task);
        } else {
          this.#drop(live, task);
        }
      } else {
        return task;
      }
    }
  }

  /** As `peek`, and moves the cursor behind the request. */
  next(now: number): Task | undefined {
    const task = this.peek(now);
    if (task !== undefined) this.#cursorSlot++;
    return task;
  }

  /** Takes the first request in the order of the cursor. */
  shift(): Task | undefined {
    for (let i = 0; i < this.#levels.length; i++) {
      const level = this.#levels[i]!;
      const task = level.live.shift() ?? level.delayed.shift();
      if (task === undefined) continue;
      this.#length--;
      if (level.length === 0 && this.#isTemporary(level)) this.#levels.splice(i, 1);
      return task;
    }
    return undefined;
  }

  /**
   * Drops every request that has expired and is to be refused, wherever it waits; returns the next point in time at which
   * one will, 0 = none. Those that are only to be delayed keep their slots until a cursor meets them.
   */
  expire(now: number): number {
    const deadlines = this.#deadlines;
    for (let next = deadlines.peek(); next !== undefined; next = deadlines.peek()) {
      const { ns, task } = next;
      if (isWaiting(next)) {
        if (ns >= now) return ns;
        this.#drop(task.line!, task);
      }
      deadlines.shift();
    }
    return 0;
  }

  /**
   * Responds to the requests that were dropped. They may bring new ones, so no cursor may be in use. Their slots are closed here
   * too: where every request is cancelled before a batching pass, no pass would do it.
   */
  respondToDropped(): void {
    this.#closeGaps();
    if (this.#dropped.length === 0) return;
    const dropped = this.#dropped;
    this.#dropped = [];
    for (const task of dropped) {
      if (task.cancelled) task.rejectCancelled();
      else task.reject(new TritonError('UNAVAILABLE', 'Request timeout expired'), 'REJECTED');
    }
  }

  #level(priority: bigint): Level {
    let low = 0;
    for (let high = this.#levels.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (this.#levels[middle]!.priority < priority) low = middle + 1;
      else high = middle;
    }
    const found = this.#levels[low];
    if (found?.priority === priority) return found;
    const level = this.#newLevel(priority);
    this.#levels.splice(low, 0, level);
    return level;
  }

  #newLevel(priority: bigint): Level {
    const { policies, defaultPolicy } = this.#options;
    return new Level(priority, policies.get(priority) ?? defaultPolicy, this.#onCancelled);
  }

  /** Levels without a policy of their own are made again when they are needed. */
  #isTemporary({ priority }: Level): boolean {
    return this.#options.priorityLevels > 0n && !this.#options.policies.has(priority);
  }

  #dropLevels(): void {
    this.#emptied = false;
    if (this.#options.priorityLevels === 0n) return;
    this.#levels = this.#levels.filter((level) => level.length > 0 || !this.#isTemporary(level));
  }

  #closeGaps(): void {
    if (this.#gappy.size === 0) return;
    for (const line of this.#gappy) line.close();
    this.#gappy.clear();
  }

  #drop(line: TaskLine, task: Task): void {
    line.remove(task);
    this.#length--;
    this.#emptied ||= line.length === 0;
    this.#gappy.add(line);
    this.#dropped.push(task);
  }

  #addDeadline(task: Task): void {
    const deadlines = this.#deadlines;
    if (deadlines.length > FEW_DEADLINES && deadlines.length > 2 * this.#length) deadlines.keep(isWaiting);
    deadlines.push({ ns: task.deadlineNs, task });
  }
}

function isWaiting({ ns, task }: Deadline): boolean {
  return task.line !== undefined && task.deadlineNs === ns;
}

/** The client's timeout counts only where allowed and below a default that is set. Microseconds. */
function timeoutOf(policy: ModelQueuePolicy, task: Task): bigint {
  const limit = policy.default_timeout_microseconds;
  const asked = task.timeoutMicroseconds;
  return policy.allow_timeout_override && asked !== 0n && asked < limit ? asked : limit;
}
