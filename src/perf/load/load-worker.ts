import { nowNs } from '../../base/clock.js';
import type { InferResult } from '../../client/index.js';
import { FLAG_DELAYED, FLAG_SEQUENCE_END } from '../measure/records.js';
import type { LoadLog } from './load-log.js';
import type { LoadSetup, WorkerAssignment } from './load-messages.js';
import type { RequestMaker, RequestPlan } from './request-maker.js';
import type { Outcome, Sender } from './sender.js';
import type { SequenceSlot } from './sequence-slot.js';

/** What every worker of a thread shares. */
export interface WorkerEnvironment {
  readonly setup: LoadSetup;
  readonly maker: RequestMaker;
  readonly log: LoadLog;
  /** A connection context of its own for the worker. */
  newSender(worker: number): Sender;
  newSequenceSlot(): SequenceSlot;
  /** A worker that sends by a schedule may go on. */
  wake(): void;
}

/** Factor between the index of a worker and the ids of its requests. */
const ID_BASE = 2n ** 48n;
/** A request that leaves later than this is marked as delayed, nanoseconds. */
export const DELAY_TOLERANCE_NS = 1e6;

/**
 * One unit of load: keeps its share of requests outstanding, or sends at given times. perf_analyzer gives each of them a
 * thread; here many share the event loop of a load thread.
 */
export class LoadWorker {
  readonly index: number;
  readonly #environment: WorkerEnvironment;
  readonly #senders: Sender[] = [];
  readonly #slots: { readonly sequence: SequenceSlot; readonly sender: Sender; busy: boolean }[] = [];
  #assignment: WorkerAssignment;
  #activeWorkers: number;
  #data: number;
  #counter = 0n;
  #sent = 0;
  #outstanding = 0;
  /** Set while nothing new may be sent. */
  #ending = false;
  #failed = false;
  #scheduled = 0;
  /** When the last request ended, while the next one has not begun yet. */
  #gapFrom = 0;
  #drained: (() => void) | undefined;

  constructor(assignment: WorkerAssignment, activeWorkers: number, environment: WorkerEnvironment) {
    this.index = assignment.index;
    this.#environment = environment;
    this.#assignment = assignment;
    this.#activeWorkers = activeWorkers;
    this.#data = assignment.index;
  }

  /** Takes over another share; `fill` then starts what is missing. */
  assign(assignment: WorkerAssignment, activeWorkers: number): void {
    this.#assignment = assignment;
    this.#activeWorkers = activeWorkers;
    this.#ending = false;
    this.#sent = 0;
    this.#scheduled = 0;
    this.#gapFrom = 0;
  }

  /** True when it has a share and works on it. */
  get isActive(): boolean {
    return !this.#ending && !this.#failed && this.#assignment.slots > 0;
  }

  /** Sends as many requests as are missing. Only for workers without a schedule. */
  fill(): void {
    if (this.#assignment.schedule !== undefined) return;
    const { sequences } = this.#environment.setup;
    while (this.isActive && this.#outstanding < this.#assignment.slots && this.#mayStart()) {
      if (sequences === undefined) this.#sendPlain(0);
      else if (!this.#sendSequence(0)) return;
    }
  }

  /** When the next request of the schedule is due; undefined when there is none or it has to wait for a response. */
  nextDueNs(): number | undefined {
    const { schedule } = this.#assignment;
    if (schedule === undefined || !this.isActive || !this.#mayStart()) return undefined;
    // A synchronous worker sends one request at a time, serial sequences have one outstanding each.
    const { async: asynchronous, sequences } = this.#environment.setup;
    if (!asynchronous && this.#outstanding > 0) return undefined;
    if (sequences?.serial && this.#outstanding >= this.#assignment.slots) return undefined;
    const { length } = schedule.offsetsNs;
    const round = Math.floor(this.#scheduled / length);
    return schedule.startNs + round * schedule.roundNs + (schedule.offsetsNs[this.#scheduled % length] as number);
  }

  /** Sends the request that is due. */
  sendScheduled(dueNs: number): void {
    const flags = nowNs() - dueNs > DELAY_TOLERANCE_NS ? FLAG_DELAYED : 0;
    const { schedule } = this.#assignment;
    const step = schedule?.steps?.[this.#scheduled];
    if (this.#environment.setup.sequences === undefined) this.#sendPlain(flags, step);
    else this.#sendSequence(flags);
    this.#scheduled += 1;
    this.#gapFrom = 0;
  }

  /** Stops sending, closes open sequences; resolves when every request has its response. */
  drain(): Promise<void> {
    this.#ending = true;
    this.#drained = undefined;
    for (const slot of this.#slots) if (!slot.busy) this.#closeSequence(slot);
    if (this.#outstanding === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** Ends its connection contexts. */
  async close(): Promise<void> {
    await Promise.all([...this.#senders, ...this.#slots.map((slot) => slot.sender)].map((sender) => sender.close()));
  }

  #mayStart(): boolean {
    const { limit } = this.#assignment;
    return limit === undefined || this.#sent < limit;
  }

  #sendPlain(flags: number, step = this.#nextStep()): void {
    let [sender] = this.#senders;
    if (sender === undefined) {
      sender = this.#environment.newSender(this.index);
      this.#senders.push(sender);
    }
    const id = this.#environment.setup.async ? this.#nextId() : '';
    this.#send(
      sender,
      { stream: 0, step, id, sequenceId: 0, sequenceStart: false, sequenceEnd: false },
      flags,
      undefined,
    );
  }

  /** Sends for a sequence that is free; false when all have a request outstanding. */
  #sendSequence(flags: number): boolean {
    const { sequences, async: asynchronous } = this.#environment.setup;
    const { schedule, slots } = this.#assignment;
    while (this.#slots.length < slots) {
      const sequence = this.#environment.newSequenceSlot();
      this.#slots.push({ sequence, sender: this.#environment.newSender(this.index), busy: false });
    }
    const usable = this.#slots.slice(0, slots);
    // By rate, any sequence may be next and may have several requests outstanding, unless they are serial.
    const free = schedule !== undefined && !sequences?.serial ? usable : usable.filter((slot) => !slot.busy);
    const slot = schedule === undefined ? free[0] : free[Math.floor(Math.random() * free.length)];
    if (slot === undefined) return false;
    this.#sendFor(slot, slot.sequence.next(), asynchronous ? this.#nextId() : '', flags);
    return true;
  }

  #closeSequence(slot: { readonly sequence: SequenceSlot; readonly sender: Sender; busy: boolean }): void {
    if (this.#failed || !slot.sequence.isOpen) return;
    this.#sendFor(slot, slot.sequence.next(true), this.#environment.setup.async ? this.#nextId() : '', 0);
  }

  #sendFor(
    slot: { readonly sequence: SequenceSlot; readonly sender: Sender; busy: boolean },
    request: ReturnType<SequenceSlot['next']>,
    id: string,
    flags: number,
  ): void {
    slot.busy = true;
    const { sequenceId, stream, step, start, end } = request;
    const plan = { stream, step, id, sequenceId, sequenceStart: start, sequenceEnd: end };
    this.#send(slot.sender, plan, end ? flags | FLAG_SEQUENCE_END : flags, () => {
      slot.busy = false;
      if (this.#ending) this.#closeSequence(slot);
    });
  }

  #send(sender: Sender, plan: RequestPlan, flags: number, after: (() => void) | undefined): void {
    const startNs = nowNs();
    const { log } = this.#environment;
    if (this.#gapFrom !== 0) {
      log.busyNs += startNs - this.#gapFrom;
      this.#gapFrom = 0;
    }
    this.#sent += 1;
    this.#outstanding += 1;
    log.counters.sent += 1;
    try {
      sender.send(plan, startNs, (outcome) => {
        this.#outstanding -= 1;
        this.#finish(plan, outcome, flags);
        after?.();
        if (this.#outstanding === 0) this.#drained?.();
        if (this.#ending) return;
        if (this.#assignment.schedule === undefined) this.fill();
        else if (!this.#environment.setup.async || this.#environment.setup.sequences?.serial) this.#environment.wake();
      });
    } catch (reason) {
      this.#outstanding -= 1;
      this.#fail('submit', reason instanceof Error ? reason.message : String(reason));
    }
  }

  #finish(plan: RequestPlan, outcome: Outcome, flags: number): void {
    const { log, setup, maker } = this.#environment;
    if (outcome.error !== undefined) {
      this.#fail(outcome.error.kind, outcome.error.message);
      return;
    }
    const expected = outcome.results === undefined ? undefined : maker.expected(plan.stream, plan.step);
    if (expected !== undefined) {
      const fault = faultOfResponse(outcome.results?.at(-1), expected);
      if (fault !== undefined) {
        this.#fail(setup.async ? 'result' : 'submit', fault);
        return;
      }
    }
    log.add(outcome, flags);
    if (setup.keepDetails) log.addDetail(plan, outcome);
    this.#gapFrom = outcome.doneNs;
  }

  #fail(kind: 'submit' | 'result', message: string): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#environment.log.fail({ worker: this.index, kind, message });
  }

  #nextStep(): number {
    const steps = this.#environment.maker.stepsOf(0);
    const counter = this.#data;
    this.#data += this.#activeWorkers;
    return steps === 0 ? 0 : (counter * this.#environment.setup.batchSize) % steps;
  }

  #nextId(): string {
    const id = BigInt(this.index) * ID_BASE + this.#counter;
    this.#counter += 1n;
    return id.toString();
  }
}

/** Compares a response byte by byte with what is expected; the message about the first difference. */
function faultOfResponse(
  result: InferResult | undefined,
  expected: ReadonlyMap<string, Uint8Array>,
): string | undefined {
  for (const [name, bytes] of expected) {
    const output = result?.output(name);
    if (output === undefined || output.data.length !== bytes.length) return "Output size doesn't match expected size";
    if (Buffer.compare(output.data, bytes) !== 0) return "Output doesn't match expected output";
  }
  return undefined;
}
