import type { Task } from '../schedule/task.js';
import type { SequenceId } from './slot.js';

/** The requests of a sequence that waits for a slot. */
export class BacklogEntry {
  readonly tasks: Task[] = [];
  /** False once its END is queued: further requests of the id belong to another sequence. */
  open = true;
  /** Earliest point in time at which one of its requests times out, in ns; 0 = never. */
  deadlineNs = 0;

  constructor(readonly key: SequenceId) {}

  add(task: Task): void {
    this.tasks.push(task);
    if (task.sequenceEnd) this.open = false;
    if (task.timeoutMicroseconds === 0n) return;
    const deadline = task.startNs + Number(task.timeoutMicroseconds) * 1000;
    if (this.deadlineNs === 0 || deadline < this.deadlineNs) this.deadlineNs = deadline;
  }
}

/** Sequences that wait for a slot, oldest first. */
export class Backlog {
  readonly #entries: BacklogEntry[] = [];
  /** Those that take further requests. */
  readonly #open = new Map<SequenceId, BacklogEntry>();

  get length(): number {
    return this.#entries.length;
  }

  /** Requests waiting. */
  get requests(): number {
    return this.#entries.reduce((sum, { tasks }) => sum + tasks.length, 0);
  }

  /** The entry that takes further requests of a sequence. */
  find(key: SequenceId): BacklogEntry | undefined {
    return this.#open.get(key);
  }

  /** Puts the first request of a sequence at the end. */
  begin(task: Task): BacklogEntry {
    const entry = new BacklogEntry(task.correlationId);
    this.#entries.push(entry);
    this.#open.set(entry.key, entry);
    this.add(entry, task);
    return entry;
  }

  /** Puts a further request behind the others of its sequence. */
  add(entry: BacklogEntry, task: Task): void {
    entry.add(task);
    if (!entry.open) this.#open.delete(entry.key);
  }

  /** Takes the oldest. */
  shift(): BacklogEntry | undefined {
    const entry = this.#entries.shift();
    if (entry?.open) this.#open.delete(entry.key);
    return entry;
  }

  /** Takes those whose time is over. */
  takeExpired(now: number): BacklogEntry[] {
    const expired = this.#entries.filter(({ deadlineNs }) => deadlineNs !== 0 && deadlineNs <= now);
    for (const entry of expired) {
      this.#entries.splice(this.#entries.indexOf(entry), 1);
      if (entry.open) this.#open.delete(entry.key);
    }
    return expired;
  }

  /** The next point in time at which an entry expires, in ns; infinity when none does. */
  get nextDeadline(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { deadlineNs } of this.#entries) if (deadlineNs !== 0 && deadlineNs < next) next = deadlineNs;
    return next;
  }
}
