import { type Clock, SYSTEM_CLOCK } from '../../base/clock.js';
import { invalidArg, TritonError } from '../../base/error.js';
import type { Log } from '../../base/log.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { ModelSequenceBatching } from '../../protocol/proto/model-config.js';
import { batchOptions } from '../batch/batch-options.js';
import type { StartDelay } from '../batch/start-delay.js';
import type { InstanceRunner } from '../schedule/instance-runner.js';
import { type Scheduler, STOPPING_TEXT } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import { Alarm } from './alarm.js';
import { Backlog, type BacklogEntry } from './backlog.js';
import { DirectBatcher } from './direct-batcher.js';
import { FreeSlots } from './free-slots.js';
import { OldestBatcher } from './oldest-batcher.js';
import { RetiredBatchers } from './retired-batchers.js';
import { SequenceInputs } from './sequence-inputs.js';
import {
  FORCED_END,
  type SequenceBatcher,
  type SequenceId,
  type Slot,
  type SlotBatcherParts,
  type SlotOwner,
} from './slot.js';
import { planWithStates, type StatesPlan } from './state-plan.js';

/** What the sequence batcher of one version works with. */
export interface SequenceParts {
  readonly config: ModelSequenceBatching;
  readonly plan: ModelPlan;
  readonly states: StatesPlan | undefined;
  readonly runners: readonly InstanceRunner[];
  readonly statistics: Pick<ModelStatistics, 'recordFailure'>;
  readonly delay: StartDelay;
  readonly log: Log;
  readonly clock?: Clock;
}

/** How often instances that are not healthy are looked at while sequences wait, in ns. */
const RECOVERY_NS = 100_000_000;

interface Active {
  readonly slot: Slot;
  lastUseNs: number;
}

/**
 * The sequence batcher: binds each sequence to a slot of one instance until it ends, is idle for too long or is
 * cancelled; sequences without a slot wait in a backlog.
 */
export class SequenceScheduler implements Scheduler, SlotOwner {
  readonly iterative: boolean;
  readonly #model: string;
  readonly #statistics: SequenceParts['statistics'];
  readonly #delay: StartDelay;
  readonly #idleNs: number;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #makeBatcher: (runner: InstanceRunner) => SequenceBatcher;
  #runners: readonly InstanceRunner[];
  /** One for each instance. */
  #batchers: readonly SequenceBatcher[];
  readonly #retired: RetiredBatchers;
  readonly #free = new FreeSlots();
  /** Sequences that hold a slot and take further requests; the one that was not used for longest comes first. */
  readonly #active = new Map<SequenceId, Active>();
  readonly #backlog = new Backlog();
  readonly #alarm: Alarm;
  #heldSlots = 0;
  #held: boolean;
  #lastId = 0n;
  #stopping = false;

  constructor(parts: SequenceParts) {
    const { config, states, delay } = parts;
    this.iterative = config.iterative_sequence;
    this.#model = parts.plan.name;
    this.#idleNs = Number(config.max_sequence_idle_microseconds) * 1000;
    this.#statistics = parts.statistics;
    this.#delay = delay;
    this.#held = delay.queued > 0 && config.oldest === undefined;
    this.#log = parts.log;
    this.#clock = parts.clock ?? SYSTEM_CLOCK;
    this.#retired = new RetiredBatchers(this.#clock);
    this.#alarm = new Alarm(this.#clock, () => this.#onTime());
    const inputs = new SequenceInputs(config, parts.plan, states, parts.log);
    const plan = states === undefined ? parts.plan : planWithStates(parts.plan, states);
    this.#makeBatcher = (runner) => this.#batcher(config, plan, runner, inputs);
    this.#runners = parts.runners;
    this.#batchers = parts.runners.map(this.#makeBatcher);
  }

  /** Sequences that hold a slot. */
  get inFlight(): number {
    return this.#heldSlots;
  }

  /** Sequences that wait for one. */
  get backlogged(): number {
    return this.#backlog.length;
  }

  get held(): boolean {
    return this.#held;
  }

  enqueue(task: Task): void {
    if (task.batchSize > 1 || task.alone) {
      throw invalidArg(
        `inference request to model '${this.#model}' must specify batch-size 1 due to requirements of sequence batcher`,
      );
    }
    if (task.correlationId === 0n || task.correlationId === '') this.#assignId(task);
    if (this.#stopping && task.sequenceStart && !task.isStep) throw new TritonError('UNAVAILABLE', STOPPING_TEXT);
    const key: SequenceId = task.correlationId;
    const active = this.#active.get(key);
    const waiting = active === undefined ? this.#backlog.find(key) : undefined;
    if (active === undefined && waiting === undefined && !task.sequenceStart) {
      throw this.#notStarted(task);
    }
    if (task.sequenceStart && (active !== undefined || waiting !== undefined)) {
      this.#log.warning(
        `sequence ${task.correlationId} for model '${this.#model}' has a conflict. The previous sequence did not end before ` +
          'this sequence start. Previous sequence will be terminated early.',
      );
    }
    if (active !== undefined) {
      active.lastUseNs = this.#clock.nowNs();
      this.#active.delete(key);
      if (!task.sequenceEnd) this.#active.set(key, active);
      this.#put(active.slot, task);
    } else if (waiting !== undefined) {
      this.#backlog.add(waiting, task);
      this.#setAlarm(waiting.deadlineNs);
    } else {
      this.#begin(key, task);
    }
    if (this.#held) this.#tryStart();
  }

  /** New instances serve what waits for a slot; those left out keep their sequences until these end. */
  setRunners(runners: readonly InstanceRunner[], unused: (runner: InstanceRunner) => void): void {
    const before = new Map(this.#runners.map((runner, i) => [runner, this.#batchers[i]!]));
    this.#runners = runners;
    this.#batchers = runners.map((runner) => before.get(runner) ?? this.#makeBatcher(runner));
    for (const [runner, batcher] of before) {
      if (runners.includes(runner)) continue;
      const held = batcher.slots.length - this.#free.forget(batcher);
      this.#retired.add(batcher, held, () => unused(runner));
    }
    this.#placeWaiting();
  }

  stop(): void {
    this.#stopping = true;
    if (this.#held) this.#start();
  }

  close(): void {
    this.#alarm.close();
    for (const batcher of this.#allBatchers()) batcher.close();
  }

  release(slot: Slot): void {
    slot.state = undefined;
    slot.idTensor = undefined;
    if (slot.key !== undefined && this.#active.get(slot.key)?.slot === slot) this.#active.delete(slot.key);
    slot.key = undefined;
    this.#heldSlots--;
    if (this.#retired.release(slot.batcher)) return;
    this.#free.add(slot);
    this.#placeWaiting();
  }

  cancelSequence(slot: Slot): void {
    for (let task = slot.queue.shift(); task !== undefined; task = slot.queue.shift()) {
      if (task !== FORCED_END) task.rejectCancelled();
    }
    this.release(slot);
  }

  finished(slot: Slot, task: Task): void {
    if (this.#active.get(task.correlationId)?.slot !== slot) return;
    this.#active.delete(task.correlationId);
    // Triton ends the sequence with a request of its own that counts as cancelled.
    this.#statistics.recordFailure('CANCELED', this.#clock.nowNs() - task.startNs);
    if (slot.queue.length === 0) {
      this.release(slot);
      return;
    }
    slot.queue.push(FORCED_END);
    slot.batcher.wake(slot);
  }

  rescheduled(slot: Slot, task: Task): void {
    const active = this.#active.get(task.correlationId);
    const now = this.#clock.nowNs();
    if (active?.slot !== slot || active.lastUseNs + this.#idleNs <= now) {
      // Its sequence is over (END, idle for too long, or another request of the id has ended it): it cannot be continued.
      const error = this.#notStarted(task);
      this.#log.error(`Failed to reschedule request: ${error.message}`);
      task.respond({ outputs: [], error, countsAsSuccess: true }, true);
      // Its executions have been counted; what waits for its end (a trace, a response with times) is notified now.
      task.counted(0, 0, 0);
      return;
    }
    active.lastUseNs = now;
    this.#active.delete(task.correlationId);
    this.#active.set(task.correlationId, active);
    task.sequenceStart = false;
    task.onFinished = undefined;
    slot.batcher.takenBack(slot);
    this.#put(slot, task);
  }

  #batcher(
    config: ModelSequenceBatching,
    plan: ModelPlan,
    runner: InstanceRunner,
    inputs: SequenceInputs,
  ): SequenceBatcher {
    const { oldest, direct } = config;
    const parts: SlotBatcherParts = { plan, runner, inputs, owner: this, clock: this.#clock };
    if (oldest === undefined) return new DirectBatcher(parts, direct);
    const options = batchOptions(oldest, plan, this.#delay.queued);
    const { max_candidate_sequences: candidates } = oldest;
    return new OldestBatcher(parts, candidates > 0 ? candidates : options.maxBatchSize, options);
  }

  #allBatchers(): readonly SequenceBatcher[] {
    return [...this.#batchers, ...this.#retired.batchers()];
  }

  /** Requests of iterative sequences need no id: each is a sequence. */
  #assignId(task: Task): void {
    if (!this.iterative) {
      throw invalidArg(
        `inference request to model '${this.#model}' must specify a non-zero or non-empty correlation ID`,
      );
    }
    do {
      task.correlationId = ++this.#lastId;
    } while (this.#active.has(task.correlationId));
    task.sequenceStart = true;
    task.sequenceEnd = false;
  }

  #notStarted(task: Task): TritonError {
    return invalidArg(
      `inference request for sequence ${task.correlationId} to model '${this.#model}' must specify the START flag ` +
        'on the first request of the sequence',
    );
  }

  /** Lets the batchers start once as many requests are queued, and wait for slots, as the delay asks for. */
  #tryStart(): void {
    let queued = 0;
    for (const { slots } of this.#batchers) for (const slot of slots) queued += slot.queue.length;
    if (queued >= this.#delay.queued && this.#backlog.requests >= this.#delay.backlogged) this.#start();
  }

  #start(): void {
    this.#held = false;
    for (const batcher of this.#allBatchers()) {
      for (const slot of batcher.slots) batcher.wake(slot);
    }
  }

  /** First request of a sequence: into a free slot, or into the backlog. */
  #begin(key: SequenceId, task: Task): void {
    // Slots of an instance that has recovered belong to those that wait already.
    if (this.#backlog.length > 0) this.#placeWaiting();
    const slot = this.#backlog.length > 0 ? undefined : this.#free.take(this.#batchers);
    if (slot === undefined) {
      const entry = this.#backlog.begin(task);
      this.#setAlarm(entry.deadlineNs);
      this.#watchRecovery();
      this.#alarm.keep();
      return;
    }
    this.#heldSlots++;
    this.#bind(key, slot, !task.sequenceEnd);
    this.#put(slot, task);
  }

  #bind(key: SequenceId, slot: Slot, open: boolean): void {
    slot.key = key;
    if (!open) return;
    const now = this.#clock.nowNs();
    this.#active.set(key, { slot, lastUseNs: now });
    this.#setAlarm(now + this.#idleNs);
  }

  #put(slot: Slot, task: Task): void {
    if (task.verbose !== undefined) {
      const runner = this.#runners[this.#batchers.indexOf(slot.batcher)];
      task.verbose.slotted(task.correlationId, runner?.instance.name ?? '', slot.index);
    }
    slot.queue.push(task);
    slot.batcher.wake(slot);
  }

  /** The oldest sequence of the backlog that is not cancelled; cancelled ones get their responses. */
  #nextWaiting(): BacklogEntry | undefined {
    for (let entry = this.#backlog.shift(); entry !== undefined; entry = this.#backlog.shift()) {
      if (!entry.tasks[0]!.cancelled) return entry;
      for (const task of entry.tasks) task.rejectCancelled();
    }
    return undefined;
  }

  /** Gives the free slots to the sequences that wait, oldest first. */
  #placeWaiting(): void {
    while (this.#backlog.length > 0) {
      const slot = this.#free.take(this.#batchers);
      if (slot === undefined) {
        this.#watchRecovery();
        return;
      }
      const next = this.#nextWaiting();
      if (next === undefined) {
        this.#free.add(slot);
        return;
      }
      this.#heldSlots++;
      this.#bind(next.key, slot, next.open);
      for (const task of next.tasks) slot.queue.push(task);
      slot.batcher.wake(slot);
    }
  }

  /** While sequences wait that only an instance which is not healthy has slots for: nobody says when it has recovered. */
  #watchRecovery(): void {
    if (this.#batchers.every(({ healthy }) => healthy)) return;
    this.#setAlarm(this.#clock.nowNs() + RECOVERY_NS);
  }

  /** Idle sequences alone do not keep a process alive; requests that wait for their slots do. */
  #setAlarm(at: number): void {
    this.#alarm.set(at, this.#backlog.length > 0);
  }

  #onTime(): void {
    const now = this.#clock.nowNs();
    for (const entry of this.#backlog.takeExpired(now)) {
      const error = new TritonError('UNAVAILABLE', 'timeout of the corresponding sequence has been expired');
      for (const task of entry.tasks) task.reject(error, 'REJECTED');
    }
    this.#placeWaiting();
    this.#setAlarm(this.#backlog.nextDeadline);
    for (const [key, { slot, lastUseNs }] of this.#active) {
      const idleAt = lastUseNs + this.#idleNs;
      // The others were used later.
      if (idleAt > now) {
        this.#setAlarm(idleAt);
        return;
      }
      this.#active.delete(key);
      slot.queue.push(FORCED_END);
      slot.batcher.wake(slot);
    }
  }
}
