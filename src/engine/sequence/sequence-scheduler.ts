import { invalidArg, TritonError } from '../../protocol/error.js';
import type { ModelSequenceBatching } from '../../protocol/proto/model-config.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../clock.js';
import type { Log } from '../log.js';
import type { ModelPlan } from '../model-plan.js';
import { PLAIN_QUEUE } from '../schedule/batch-queue.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import { type Scheduler, STOPPING_TEXT } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import { Backlog, type BacklogEntry } from './backlog.js';
import { SequenceControls } from './controls.js';
import { DirectBatcher } from './direct-batcher.js';
import { OldestBatcher } from './oldest-batcher.js';
import { FORCED_END, type SequenceBatcher, type Slot, type SlotOwner } from './slot.js';

interface Active {
  readonly slot: Slot;
  lastUseNs: number;
}

/**
 * The sequence batcher: binds each sequence to a slot of one instance until it ends, is idle for too long or is
 * cancelled; sequences without a slot wait in a backlog (spec: runtime, section 3).
 */
export class SequenceScheduler implements Scheduler, SlotOwner {
  readonly #model: string;
  readonly #idleNs: number;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #batchers: readonly SequenceBatcher[];
  /** Free slots: the lowest index first, spread over the instances. */
  readonly #free: Slot[] = [];
  /** Sequences that hold a slot and take further requests. */
  readonly #active = new Map<string, Active>();
  readonly #backlog = new Backlog();
  readonly #onTimer = () => this.#timerFired();
  #held = 0;
  #stopping = false;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(
    config: ModelSequenceBatching,
    plan: ModelPlan,
    runners: readonly InstanceRunner[],
    startAfter: number,
    log: Log,
    clock: Clock = SYSTEM_CLOCK,
  ) {
    if (config.iterative_sequence || config.state.length > 0) {
      const what = config.iterative_sequence ? 'iterative sequences' : 'implicit state';
      throw new TritonError('UNSUPPORTED', `model '${plan.name}' uses ${what}, which this server does not run yet`);
    }
    this.#model = plan.name;
    this.#idleNs = Number(config.max_sequence_idle_microseconds) * 1000;
    this.#log = log;
    this.#clock = clock;
    const controls = new SequenceControls(config, plan.maxBatchSize > 0);
    this.#batchers = runners.map((runner) => this.#batcher(config, plan, runner, controls, startAfter));
    const most = this.#batchers[0]?.slots.length ?? 0;
    for (let index = 0; index < most; index++) {
      for (const batcher of this.#batchers) this.#free.push(batcher.slots[index]!);
    }
  }

  /** Sequences that hold a slot. */
  get inFlight(): number {
    return this.#held;
  }

  enqueue(task: Task): void {
    if (task.batchSize > 1) {
      throw invalidArg(
        `inference request to model '${this.#model}' must specify batch-size 1 due to requirements of sequence batcher`,
      );
    }
    const { correlationId } = task;
    if (correlationId === 0n || correlationId === '') {
      throw invalidArg(
        `inference request to model '${this.#model}' must specify a non-zero or non-empty correlation ID`,
      );
    }
    if (this.#stopping && task.sequenceStart && !task.isStep) throw new TritonError('UNAVAILABLE', STOPPING_TEXT);
    // The type is part of the identity: the text "1" and the number 1 are two sequences.
    const key = typeof correlationId === 'string' ? `s${correlationId}` : `n${correlationId}`;
    const active = this.#active.get(key);
    const waiting = active === undefined ? this.#backlog.find(key) : undefined;
    if (active === undefined && waiting === undefined && !task.sequenceStart) {
      throw invalidArg(
        `inference request for sequence ${correlationId} to model '${this.#model}' must specify the START flag ` +
          'on the first request of the sequence',
      );
    }
    if (task.sequenceStart && (active !== undefined || waiting !== undefined)) {
      this.#log.warning(
        `sequence ${correlationId} for model '${this.#model}' has a conflict. The previous sequence did not end before ` +
          'this sequence start. Previous sequence will be terminated early.',
      );
    }
    if (active !== undefined) {
      active.lastUseNs = this.#clock.nowNs();
      if (task.sequenceEnd) this.#active.delete(key);
      this.#put(active.slot, task);
    } else if (waiting !== undefined) {
      waiting.add(task);
      this.#armTimer(waiting.deadlineNs);
    } else {
      this.#begin(key, task);
    }
  }

  stop(): void {
    this.#stopping = true;
  }

  close(): void {
    this.#clock.clearTimer(this.#timer);
    for (const batcher of this.#batchers) batcher.close();
  }

  release(slot: Slot): void {
    if (slot.key !== undefined && this.#active.get(slot.key)?.slot === slot) this.#active.delete(slot.key);
    slot.key = undefined;
    const next = this.#nextWaiting();
    if (next === undefined) {
      this.#held--;
      this.#addFree(slot);
    } else {
      this.#bind(next.key, slot, next.open);
      for (const task of next.tasks) slot.queue.push(task);
      slot.batcher.wake(slot);
    }
  }

  cancelSequence(slot: Slot): void {
    for (let task = slot.queue.shift(); task !== undefined; task = slot.queue.shift()) {
      if (task !== FORCED_END) task.rejectCancelled();
    }
    this.release(slot);
  }

  #batcher(
    config: ModelSequenceBatching,
    plan: ModelPlan,
    runner: InstanceRunner,
    controls: SequenceControls,
    startAfter: number,
  ): SequenceBatcher {
    const rows = Math.max(1, plan.maxBatchSize);
    const { oldest, direct } = config;
    if (oldest === undefined) {
      return new DirectBatcher(
        plan,
        runner,
        controls,
        this,
        {
          slots: rows,
          minimumUtilization: direct?.minimum_slot_utilization ?? 0,
          delayNs: Number(direct?.max_queue_delay_microseconds ?? 0n) * 1000,
          startAfter,
        },
        this.#clock,
      );
    }
    const candidates = oldest.max_candidate_sequences > 0 ? oldest.max_candidate_sequences : rows;
    return new OldestBatcher(
      plan,
      runner,
      controls,
      this,
      candidates,
      {
        batching: true,
        maxBatchSize: rows,
        preferredSizes: oldest.preferred_batch_size,
        delayNs: Number(oldest.max_queue_delay_microseconds) * 1000,
        preserveOrdering: oldest.preserve_ordering,
        queue: PLAIN_QUEUE,
        startAfter,
      },
      this.#clock,
    );
  }

  /** First request of a sequence: into a free slot, or into the backlog. */
  #begin(key: string, task: Task): void {
    const slot = this.#free.shift();
    if (slot === undefined) {
      const entry = this.#backlog.open(key);
      entry.add(task);
      this.#armTimer(entry.deadlineNs);
      this.#timer?.ref();
      return;
    }
    this.#held++;
    this.#bind(key, slot, !task.sequenceEnd);
    this.#put(slot, task);
  }

  #bind(key: string, slot: Slot, open: boolean): void {
    slot.key = key;
    if (!open) return;
    const now = this.#clock.nowNs();
    this.#active.set(key, { slot, lastUseNs: now });
    this.#armTimer(now + this.#idleNs);
  }

  #put(slot: Slot, task: Task): void {
    slot.queue.push(task);
    slot.batcher.wake(slot);
  }

  /** The oldest sequence of the backlog that is not cancelled; cancelled ones are answered. */
  #nextWaiting(): BacklogEntry | undefined {
    for (let entry = this.#backlog.shift(); entry !== undefined; entry = this.#backlog.shift()) {
      if (!entry.tasks[0]!.cancelled) return entry;
      for (const task of entry.tasks) task.rejectCancelled();
    }
    return undefined;
  }

  #addFree(slot: Slot): void {
    const rank = (candidate: Slot): number =>
      candidate.index * this.#batchers.length + this.#batchers.indexOf(candidate.batcher);
    const own = rank(slot);
    const position = this.#free.findIndex((candidate) => rank(candidate) > own);
    this.#free.splice(position < 0 ? this.#free.length : position, 0, slot);
  }

  #armTimer(at: number): void {
    if (at === 0 || at >= this.#timerAt) return;
    this.#clock.clearTimer(this.#timer);
    this.#timerAt = at;
    this.#timer = this.#clock.setTimer(this.#onTimer, Math.max(1, Math.ceil((at - this.#clock.nowNs()) / 1e6)));
    // Idle sequences alone do not keep a process alive; requests that wait for their slots do.
    if (this.#backlog.length === 0) this.#timer.unref();
  }

  #timerFired(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.nowNs();
    for (const entry of this.#backlog.takeExpired(now)) {
      const error = new TritonError('UNAVAILABLE', 'timeout of the corresponding sequence has been expired');
      for (const task of entry.tasks) task.reject(error, 'REJECTED');
    }
    let next = this.#backlog.nextDeadline;
    for (const [key, { slot, lastUseNs }] of this.#active) {
      const idleAt = lastUseNs + this.#idleNs;
      if (idleAt > now) {
        if (idleAt < next) next = idleAt;
        continue;
      }
      this.#active.delete(key);
      slot.queue.push(FORCED_END);
      slot.batcher.wake(slot);
    }
    if (next !== Number.POSITIVE_INFINITY) this.#armTimer(next);
  }
}
