import { MinHeap } from '../../base/min-heap.js';
import { Ring } from '../../base/ring.js';
import type { Task } from '../schedule/task.js';
import type { SequenceId } from './slot.js';

/** The requests of a sequence that waits for a slot. */
export class BacklogEntry {
  readonly tasks: Task[] = [];
  /** False once it has left the backlog. */
  waits = true;
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

/** The end of an entry's wait. It is void when the entry does not wait any more, or an earlier end was added. */
interface Deadline {
  readonly ns: number;
  readonly entry: BacklogEntry;
}

/** Void deadlines are dropped when there are more of them than this and than of the others. */
const FEW_DEADLINES = 64;

/**
 * Sequences that wait for a slot, oldest first. An entry that expires leaves its element of the queue behind, which is
 * passed over later; all operations take constant time on average, logarithmic where requests have timeouts.
 */
export class Backlog {
  readonly #entries = new Ring<BacklogEntry>();
  /** Those that take further requests. */
  readonly #open = new Map<SequenceId, BacklogEntry>();
  readonly #deadlines = new MinHeap<Deadline>(({ ns }) => ns);
  #length = 0;
  #requests = 0;

  get length(): number {
    return this.#length;
  }

  /** Requests waiting. */
  get requests(): number {
    return this.#requests;
  }

  /** The entry that takes further requests of a sequence. */
  find(key: SequenceId): BacklogEntry | undefined {
    return this.#open.get(key);
  }

  /** Puts the first request of a sequence at the end. */
  begin(task: Task): BacklogEntry {
    const entry = new BacklogEntry(task.correlationId);
    this.#entries.push(entry);
    this.#length++;
    this.#open.set(entry.key, entry);
    this.add(entry, task);
    return entry;
  }

  /** Puts a further request behind the others of its sequence. */
  add(entry: BacklogEntry, task: Task): void {
    const before = entry.deadlineNs;
    entry.add(task);
    this.#requests++;
    if (!entry.open) this.#open.delete(entry.key);
    if (entry.deadlineNs === before) return;
    const deadlines = this.#deadlines;
    if (deadlines.length > FEW_DEADLINES && deadlines.length > 2 * this.#length) deadlines.keep(isWaiting);
    deadlines.push({ ns: entry.deadlineNs, entry });
  }

  /** Takes the oldest. */
  shift(): BacklogEntry | undefined {
    for (let entry = this.#entries.shift(); entry !== undefined; entry = this.#entries.shift()) {
      if (!entry.waits) continue;
      this.#leave(entry);
      return entry;
    }
    return undefined;
  }

  /** Takes those whose time is over. */
  takeExpired(now: number): BacklogEntry[] {
    const expired: BacklogEntry[] = [];
    while (this.nextDeadline <= now) {
      const { entry } = this.#deadlines.shift() as Deadline;
      this.#leave(entry);
      expired.push(entry);
    }
    return expired;
  }

  /** The next point in time at which an entry expires, in ns; infinity when none does. */
  get nextDeadline(): number {
    for (let next = this.#deadlines.peek(); next !== undefined; next = this.#deadlines.peek()) {
      if (isWaiting(next)) return next.ns;
      this.#deadlines.shift();
    }
    return Number.POSITIVE_INFINITY;
  }

  #leave(entry: BacklogEntry): void {
    entry.waits = false;
    this.#length--;
    this.#requests -= entry.tasks.length;
    if (entry.open) this.#open.delete(entry.key);
  }
}

function isWaiting({ ns, entry }: Deadline): boolean {
  return entry.waits && entry.deadlineNs === ns;
}
