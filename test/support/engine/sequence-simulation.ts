/**
 * Runs the sequence batcher on virtual time against random clients and a model that adds up its sequences, and checks
 * what must hold whatever happens: see `check...` below.
 */
import assert from 'node:assert/strict';
import { TritonError } from '../../../src/base/error.js';
import type { BackendInstance, ExecutionRequest, ExecutionTimes } from '../../../src/contract/backend.js';
import type { InferenceResponse } from '../../../src/contract/request.js';
import { InstanceRunner } from '../../../src/engine/schedule/instance-runner.js';
import { NullRequest } from '../../../src/engine/schedule/null-request.js';
import { Task, type TaskOwner } from '../../../src/engine/schedule/task.js';
import { SequenceScheduler } from '../../../src/engine/sequence/sequence-scheduler.js';
import { compileStates } from '../../../src/engine/sequence/state-plan.js';
import { ModelStatistics } from '../../../src/engine/statistics/model-statistics.js';
import { newFailureCounts } from '../../../src/engine/statistics/version-counters.js';
import { readPbtxt } from '../../../src/modelconfig/pbtxt/read-pbtxt.js';
import { compileModelPlan } from '../../../src/modelconfig/plan/model-plan.js';
import { Random } from '../values/random.js';
import { int32, makeRequest } from './engine-harness.js';
import { VirtualClock } from './virtual-clock.js';

/** What is simulated. */
export interface SequenceSimulation {
  readonly seed: number;
  /** Requests in all. */
  readonly arrivals: number;
  readonly clients: number;
  readonly instances: number;
  readonly maxBatchSize: number;
  /** Text inside `sequence_batching`. */
  readonly strategy: string;
}

/** What came of it; everything else was asserted. */
export interface SimulationOutcome {
  readonly accepted: number;
  readonly executed: number;
  readonly refused: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly conflicts: number;
  readonly batches: number;
  readonly largestBatch: number;
}

const IDLE_NS = 50e6;
const MS = 1e6;
/** Longest time that a request may take: many sequences of 40 clients stand in front of it, each for 0.3 s at most. */
const STARVED_NS = 20e9;
const CONTROLS = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END int32_false_true: [0, 1] } }
  state { input_name: "SUM" output_name: "SUM_OUT" data_type: TYPE_INT32 dims: [1] }`;

/** A sequence from its START to its end. */
interface Sequence {
  readonly sent: Sent[];
  /** Instance and row of its executions. */
  place: string | undefined;
  sum: number;
  executing: boolean;
  over: boolean;
  lastUseNs: number;
}

interface Sent {
  readonly serial: number;
  readonly sequence: Sequence;
  readonly start: boolean;
  readonly end: boolean;
  readonly sentNs: number;
  /** Executions that an iterative model needs for it. */
  readonly runs: number;
  executions: number;
  answered: boolean;
}

/** Runs a simulation to its end. Throws an AssertionError when something does not hold. */
export async function simulateSequences(options: SequenceSimulation): Promise<SimulationOutcome> {
  const simulation = new Simulation(options);
  return await simulation.run();
}

class Simulation {
  readonly #options: SequenceSimulation;
  readonly #random: Random;
  readonly #clock = new VirtualClock();
  readonly #direct: boolean;
  readonly #iterative: boolean;
  readonly #slots: number;
  readonly #statistics = new ModelStatistics(newFailureCounts());
  readonly #scheduler: SequenceScheduler;
  readonly #owner: TaskOwner;
  readonly #sequences = new Map<bigint | string, Sequence>();
  readonly #bySerial = new Map<string, Sent>();
  #left: number;
  #serial = 0;
  #nextId = 1n;
  #warned = false;
  #outstanding = 0;
  #accepted = 0;
  #executed = 0;
  #refused = 0;
  #cancelled = 0;
  #expired = 0;
  #failed = 0;
  #conflicts = 0;
  #batches = 0;
  #largestBatch = 0;
  #ended = 0;

  constructor(options: SequenceSimulation) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#left = options.arrivals;
    const { config } = readPbtxt(`name: "m" backend: "b" max_batch_size: ${options.maxBatchSize}
      input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] }
      sequence_batching { max_sequence_idle_microseconds: ${IDLE_NS / 1000} ${options.strategy} ${CONTROLS} }`);
    const sequences = config.sequence_batching!;
    this.#direct = sequences.oldest === undefined;
    this.#iterative = sequences.iterative_sequence;
    this.#slots = this.#direct ? options.maxBatchSize : sequences.oldest!.max_candidate_sequences;
    const plan = compileModelPlan(config, '1');
    const log = {
      info() {},
      warning: () => {
        this.#warned = true;
      },
      error: (message: string) => assert.fail(message),
      verbose() {},
    };
    this.#owner = { plan, statistics: this.#statistics, log, clock: this.#clock, released: () => this.#outstanding-- };
    this.#scheduler = new SequenceScheduler({
      config: sequences,
      plan,
      states: compileStates(config, new Map(), log),
      runners: Array.from(
        { length: options.instances },
        (_, index) => new InstanceRunner(this.#instance(index), this.#statistics, false, { clock: this.#clock }),
      ),
      statistics: this.#statistics,
      delay: { queued: 0, backlogged: 0 },
      log,
      clock: this.#clock,
    });
  }

  async run(): Promise<SimulationOutcome> {
    for (let client = 0; client < this.#options.clients; client++) this.#later(() => this.#beginSequence(), 0, 20 * MS);
    await this.#clock.run();
    this.#checkEnd();
    return {
      accepted: this.#accepted,
      executed: this.#executed,
      refused: this.#refused,
      cancelled: this.#cancelled,
      expired: this.#expired,
      conflicts: this.#conflicts,
      batches: this.#batches,
      largestBatch: this.#largestBatch,
    };
  }

  /** Nothing is left over, and the statistics say what happened. */
  #checkEnd(): void {
    assert.equal(this.#left, 0);
    assert.equal(this.#outstanding, 0, 'requests without a response');
    assert.equal(this.#scheduler.inFlight, 0, 'slots that are still held');
    assert.equal(this.#scheduler.backlogged, 0, 'sequences that still wait');
    const { failures, successCount } = this.#statistics;
    const { pending } = this.#statistics.series;
    assert.equal(pending, 0);
    assert.equal(failures.CANCELED, this.#cancelled + this.#ended);
    assert.equal(failures.REJECTED, this.#expired);
    assert.equal(successCount + failures.BACKEND, this.#executed);
    assert.equal(failures.BACKEND, this.#failed);
    if (!this.#iterative) assert.equal(this.#executed + this.#cancelled + this.#expired, this.#accepted);
  }

  /** A client: one sequence after the other until all requests are sent. */
  #beginSequence(): void {
    if (this.#left <= 0) return;
    const random = this.#random;
    const id = this.#iterative ? 0n : random.percent(30) ? `s${this.#nextId++}` : this.#nextId++;
    this.#step(id, 0, this.#iterative ? 1 : random.between(1, 6), random.percent(50));
  }

  #step(id: bigint | string, index: number, length: number, pipelined: boolean): void {
    if (this.#left <= 0) return;
    const random = this.#random;
    const last = index === length - 1;
    const start = index === 0 ? !random.percent(1) : random.percent(0.5);
    const end = last && !random.percent(5);
    const next = (failed: boolean): void => {
      // Sometimes the same id again; sometimes the client is away for longer than an idle sequence is kept.
      const away = random.percent(2) ? 3 * IDLE_NS : 0;
      if (failed || last) this.#later(() => this.#beginSequence(), 0, 5 * MS);
      else this.#later(() => this.#step(id, index + 1, length, pipelined), away, away + 3 * MS);
    };
    const accepted = this.#send(id, start, end, pipelined ? () => {} : next);
    if (!accepted) this.#later(() => this.#beginSequence(), 0, 5 * MS);
    else if (pipelined) next(false);
  }

  /** Sends a request; `answered` is called with its response. False when it was refused. */
  #send(id: bigint | string, start: boolean, end: boolean, answered: (failed: boolean) => void): boolean {
    const random = this.#random;
    this.#left--;
    const now = this.#clock.nowNs();
    const serial = ++this.#serial;
    const request = makeRequest([int32('IN', [1, 1], [serial % 1000])], {
      id: String(serial),
      correlationId: id,
      sequenceStart: start,
      sequenceEnd: end,
      timeoutMicroseconds: random.percent(10) ? BigInt(random.between(1, 20) * 1000) : 0n,
    });
    const validated = { batchSize: 1, inputs: request.inputs as never, requestedOutputs: ['OUT'] };
    let sent: Sent | undefined;
    const task = new Task(this.#owner, request, validated, (response, final) => {
      assert.equal(final, true);
      this.#answered(sent!, response!);
      answered(response!.error !== undefined);
    });
    this.#warned = false;
    let current = this.#sequences.get(id);
    try {
      this.#scheduler.enqueue(task);
    } catch (reason) {
      this.#checkRefusal(reason, current, start, now);
      this.#refused++;
      return false;
    }
    const begins = this.#iterative || (start && !this.#warned);
    if (start && this.#warned) this.#conflicts++;
    if (begins) {
      current = { sent: [], place: undefined, sum: 0, executing: false, over: false, lastUseNs: now };
      if (!this.#iterative) this.#sequences.set(id, current);
    }
    assert.ok(current !== undefined && !current.over, `request ${serial} was taken into a sequence that is over`);
    current.lastUseNs = now;
    const runs = this.#iterative ? random.between(1, 5) : 1;
    sent = { serial, sequence: current, start, end, sentNs: now, runs, executions: 0, answered: false };
    current.sent.push(sent);
    if (end) current.over = true;
    this.#bySerial.set(request.id, sent);
    this.#accepted++;
    this.#outstanding++;
    this.#statistics.series.pending++;
    if (random.percent(2)) this.#later(() => task.cancel(), 0, 4 * MS);
    this.#checkSlots();
    return true;
  }

  /** Only a request of a sequence that is unknown is refused. */
  #checkRefusal(reason: unknown, sequence: Sequence | undefined, start: boolean, now: number): void {
    assert.ok(reason instanceof TritonError && reason.message.includes('must specify the START flag'), String(reason));
    assert.equal(start, false);
    assert.ok(sequence === undefined || sequence.over || now - sequence.lastUseNs >= IDLE_NS, 'refused wrongly');
  }

  #answered(sent: Sent, { error, outputs }: InferenceResponse): void {
    assert.equal(sent.answered, false, `request ${sent.serial} was answered twice`);
    sent.answered = true;
    this.#bySerial.delete(String(sent.serial));
    assert.ok(this.#clock.nowNs() - sent.sentNs < STARVED_NS, `request ${sent.serial} starved`);
    if (error === undefined) {
      assert.equal(sent.executions, sent.runs);
      assert.equal(int32Of(outputs[0]!.data), sent.sequence.sum, `sum of request ${sent.serial}`);
    } else if (error.code === 'CANCELLED') {
      this.#cancelled++;
      sent.sequence.over = true;
    } else if (error.message === 'timeout of the corresponding sequence has been expired') {
      assert.equal(sent.executions, 0);
      this.#expired++;
      sent.sequence.over = true;
    } else {
      assert.equal(error.message, 'model failed');
      this.#failed++;
    }
    if (this.#iterative && error?.code !== 'CANCELLED' && sent.executions > 0) this.#ended++;
    this.#clock.at(this.#clock.nowNs() + 0.1 * MS, () => this.#checkSlots());
  }

  /** No slot is free while a sequence waits, and never more are held than there are. */
  #checkSlots(): void {
    const slots = this.#slots * this.#options.instances;
    assert.ok(this.#scheduler.inFlight <= slots);
    if (this.#scheduler.backlogged > 0) assert.equal(this.#scheduler.inFlight, slots, 'a slot is free while one waits');
  }

  #instance(index: number): BackendInstance {
    let busy = false;
    return {
      name: `m_${index}`,
      concurrency: 1,
      close: async () => {},
      execute: (batch) => {
        assert.equal(busy, false, 'two batches in one instance');
        busy = true;
        this.#checkBatch(index, batch);
        const fails = this.#random.percent(1);
        const computeStart = this.#clock.nowNs();
        return new Promise<ExecutionTimes>((resolve, reject) => {
          this.#later(
            () => {
              busy = false;
              for (const request of batch) this.#finish(request, fails);
              if (fails) {
                reject(new TritonError('INTERNAL', 'model failed'));
                return;
              }
              const computeEnd = this.#clock.nowNs();
              resolve({ computeStart, inputEnd: computeStart, outputStart: computeEnd, computeEnd });
            },
            0.05 * MS,
            2 * MS,
          );
        });
      },
    };
  }

  /** Order, places, controls and states of a batch. */
  #checkBatch(instance: number, batch: readonly ExecutionRequest[]): void {
    this.#batches++;
    this.#largestBatch = Math.max(this.#largestBatch, batch.length);
    assert.ok(batch.length <= this.#options.maxBatchSize, `${batch.length} rows`);
    for (const [row, request] of batch.entries()) {
      const control = (name: string) => int32Of(request.inputs.find((input) => input.name === name)!.data);
      if (request instanceof NullRequest) {
        assert.ok(this.#direct && row < batch.length - 1, 'a null request in the last row');
        assert.deepEqual(['START', 'READY', 'END', 'SUM', 'IN'].map(control), [0, 0, 0, 0, 0]);
        continue;
      }
      const sent = this.#bySerial.get(request.id)!;
      const { sequence } = sent;
      assert.equal(sent.answered, false);
      assert.equal(sequence.executing, false, 'two requests of a sequence at once');
      while (sequence.sent[0]?.answered) sequence.sent.shift();
      assert.equal(sequence.sent[0], sent, `request ${sent.serial} was executed out of order`);
      const place = this.#direct ? `${instance}.${row}` : `${instance}`;
      sequence.place ??= place;
      assert.equal(sequence.place, place, 'a sequence changed its slot');
      sequence.executing = true;
      const first = this.#iterative ? sent.executions === 0 : sent.start;
      if (first) sequence.sum = 0;
      assert.deepEqual(['START', 'READY', 'END', 'SUM'].map(control), [
        Number(first),
        1,
        Number(sent.end && !this.#iterative),
        sequence.sum,
      ]);
      sent.executions++;
      this.#executed++;
    }
  }

  #finish(request: ExecutionRequest, fails: boolean): void {
    if (request instanceof NullRequest) return;
    const sent = this.#bySerial.get(request.id)!;
    const { sequence } = sent;
    sequence.executing = false;
    if (fails) return;
    sequence.sum += sent.serial % 1000;
    const data = new Uint8Array(Int32Array.of(sequence.sum).buffer);
    request.state!.update({ name: 'SUM_OUT', datatype: 'INT32', shape: [1, 1], data });
    if (sent.executions < sent.runs) request.reschedule();
    else request.respond({ outputs: [{ name: 'OUT', datatype: 'INT32', shape: [1, 1], data }] }, true);
  }

  #later(run: () => void, low: number, high: number): void {
    this.#clock.at(this.#clock.nowNs() + this.#random.between(low, high), run);
  }
}

function int32Of(data: Uint8Array): number {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getInt32(0, true);
}
