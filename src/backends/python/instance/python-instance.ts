import { nowNs } from '../../../base/clock.js';
import { TritonError } from '../../../base/error.js';
import type { BackendInstance, BackendOptions, ExecutionRequest, ExecutionTimes } from '../../../contract/backend.js';
import { requestPrefix } from '../../../protocol/infer/request-prefix.js';
import { HostCalls } from '../calls/host-calls.js';
import { logRecord } from '../calls/log-record.js';
import { ModelCalls } from '../calls/model-calls.js';
import type { Interpreter } from '../process/interpreter.js';
import { notHealthy, type ProcessSettings, PythonProcess } from '../process/python-process.js';
import { FrameFault, type FrameReader } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { readResponse } from '../wire/tensor-codec.js';
import { FromModel, ToModel } from '../wire/wire.js';
import { answerRequests } from './answer-requests.js';
import { acknowledgeRegions, IdleMemory, releaseRegions } from './memory-return.js';
import { OpenRequests } from './open-requests.js';
import { ReadyChecks } from './ready-checks.js';
import { RepeatedErrors } from './repeated-errors.js';
import { RestartSchedule } from './restart-schedule.js';
import { sendBatch } from './send-batch.js';

/** A batch waits so long for a process that is being started again, in ms; then it fails. */
const RESTART_WAIT_MS = 1000;

/** A batch is sent ahead of the end of the one before when N executions in a row were shorter than this, in ns. */
const QUICK_NS = 2_000_000;
const QUICK_RUNS = 32;

/** What an instance is made of. */
export interface InstanceStart {
  readonly interpreter: Interpreter;
  readonly settings: ProcessSettings;
  /** The model takes batches: every request must then have an input, whose first dimension is the batch. */
  readonly batching: boolean;
  /** No scheduler waits for the instance to be free to make batches larger: they may be sent ahead. */
  readonly ahead: boolean;
  /** Starts in a row without an executed batch after which the instance stays down. */
  readonly restartLimit: number;
}

interface Batch {
  readonly requests: readonly ExecutionRequest[];
  readonly keys: readonly number[];
  readonly computeStart: number;
  readonly inputEnd: number;
  readonly resolve: (times: ExecutionTimes) => void;
  readonly reject: (error: TritonError) => void;
}

/** One instance of a Python model: a process, the batch that it executes, and the requests that it has not answered. */
export class PythonInstance implements BackendInstance {
  readonly name: string;
  readonly #interpreter: Interpreter;
  readonly #settings: ProcessSettings;
  readonly #options: BackendOptions;
  readonly #batching: boolean;
  readonly #ahead: boolean;
  readonly #calls: ModelCalls;
  readonly #hostCalls: HostCalls;
  readonly #ready: ReadyChecks;
  readonly #batches = new Map<number, Batch>();
  readonly #open = new OpenRequests((key) => this.#calls.untraced(key));
  readonly #restarts: RestartSchedule;
  readonly #idleMemory = new IdleMemory((process) => {
    if (this.#process !== process) return 'gone';
    return this.#batches.size > 0 ? 'busy' : 'idle';
  });
  /** Exceptions of `execute`. */
  readonly #errors: RepeatedErrors;
  /** Ends a start that is being made. */
  readonly #cancelStart = new AbortController();
  #process: PythonProcess | undefined;
  /** The process before, until all that it started is gone. */
  #ending: Promise<void> | undefined;
  #closing = false;
  /** When the process was last heard of, or last got something to do after it had nothing; in ns. */
  #signNs = nowNs();
  #nextBatch = 0;
  /** When a batch was last sent to the process without work and the last one was done, in ns; quick executions in a row. */
  #sentNs = 0;
  #doneNs = 0;
  #quickRuns = 0;

  private constructor(start: InstanceStart, options: BackendOptions) {
    const { interpreter, settings } = start;
    this.name = settings.instance;
    this.#batching = start.batching;
    this.#ahead = start.ahead;
    this.#interpreter = interpreter;
    this.#settings = settings;
    this.#options = options;
    this.#calls = new ModelCalls(options.host);
    this.#hostCalls = new HostCalls(options.host, settings.instance);
    this.#ready = new ReadyChecks(settings.instance, options.log);
    this.#errors = new RepeatedErrors(options.log);
    this.#restarts = new RestartSchedule(this.name, start.restartLimit, () => this.#start(), options.log);
  }

  /**
   * Starts the process and initialises the model in it. Rejects with why it could not be, or was `cancelled`; nothing is
   * left of it then.
   */
  static async create(start: InstanceStart, options: BackendOptions, cancelled?: AbortSignal): Promise<PythonInstance> {
    const instance = new PythonInstance(start, options);
    await instance.#start(cancelled);
    return instance;
  }

  get healthy(): boolean {
    return this.#process !== undefined;
  }

  /**
   * A quick model gets its next batch while it executes one: its process then finds work when it comes back, and neither
   * side waits to be woken by the other. A slow one gains nothing by that, and what waits for it should wait in the queue,
   * where it is counted and can be cancelled.
   */
  get concurrency(): number {
    return this.#quickRuns >= QUICK_RUNS && nowNs() - Math.max(this.#sentNs, this.#doneNs) < QUICK_NS ? 2 : 1;
  }

  checkReady(): Promise<boolean> | undefined {
    const process = this.#process;
    return process?.hasReadyCheck ? this.#ready.ask(process) : undefined;
  }

  async execute(requests: readonly ExecutionRequest[]): Promise<ExecutionTimes> {
    if (this.#process === undefined) await this.#restarts.settled(RESTART_WAIT_MS);
    const process = this.#process;
    if (process === undefined) throw notHealthy(this.name);
    if (this.#batching) checkInputs(requests);
    const computeStart = nowNs();
    const number = this.#nextBatch;
    this.#nextBatch = (this.#nextBatch + 1) >>> 0;
    const keys = requests.map((request) => this.#open.add(request));
    for (const [i, request] of requests.entries()) this.#watch(process, keys[i]!, request);
    try {
      sendBatch(process, { number, requests, keys });
    } catch (reason) {
      for (const key of keys) this.#open.take(key);
      throw reason;
    }
    const inputEnd = nowNs();
    if (this.#batches.size === 0) this.#sentNs = this.#signNs = inputEnd;
    return await new Promise((resolve, reject) => {
      this.#batches.set(number, { requests, keys, computeStart, inputEnd, resolve, reject });
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#signNs = nowNs();
    this.#idleMemory.stop();
    this.#restarts.stop();
    this.#cancelStart.abort(notHealthy(this.name));
    await this.#restarts.starting;
    await this.#process?.finalize();
    await this.#ending;
    this.#errors.flush();
  }

  /** Nothing was heard of the process for so long, in ms, although it has something to do or should have ended. */
  get silentMs(): number {
    if (this.#process === undefined || (!this.#closing && this.#open.size === 0)) return 0;
    return (nowNs() - this.#signNs) / 1e6;
  }

  /** The process has requests, and the clients of all of them are gone. */
  get abandoned(): boolean {
    return this.#open.abandoned;
  }

  /** Ends the process for good and at once: its requests fail. */
  async kill(): Promise<void> {
    this.#closing = true;
    this.#restarts.stop();
    this.#cancelStart.abort(notHealthy(this.name));
    await this.#process?.kill();
  }

  /** Lets a request be traced, and its process hear of its cancellation. */
  #watch(process: PythonProcess, key: number, request: ExecutionRequest): void {
    if (request.trace !== undefined) this.#calls.traced(key, request.trace);
    request.onCancelled = () => {
      const frame = new FrameWriter(ToModel.CANCELLED, 8);
      frame.u32(key);
      process.control(frame.finish());
      // The model may wait for a call that waits for the model: nobody waits for either any more.
      if (this.abandoned) this.#calls.cancelAll();
    };
  }

  async #start(cancelled?: AbortSignal): Promise<void> {
    await this.#ending;
    const process = await PythonProcess.start(
      this.#interpreter,
      this.#settings,
      {
        onFrame: (kind, frame, sender) => {
          this.#signNs = nowNs();
          this.#receive(kind, frame, sender);
        },
        onExit: () => this.#exited(process),
      },
      cancelled ?? this.#cancelStart.signal,
    );
    this.#process = process;
    this.#signNs = nowNs();
  }

  #exited(process: PythonProcess): void {
    const planned = this.#closing;
    this.#process = undefined;
    this.#ending = process.gone();
    this.#calls.abandon();
    this.#hostCalls.abandon();
    this.#ready.abandon();
    const error = notHealthy(this.name, process.fault);
    const batches = [...this.#batches.values()];
    this.#batches.clear();
    for (const { keys } of batches) for (const key of keys) this.#open.take(key);
    const left = this.#open.keys();
    if (!planned) {
      const when = batches.length > 0 ? ' while it executed a batch' : '';
      this.#options.log.error(`${error.message} It ended${when} and is started again.`);
    }
    for (const { reject } of batches) reject(error);
    for (const key of left) this.#open.take(key)?.respond({ outputs: [], error }, true);
    if (!planned) this.#restarts.died();
  }

  #receive(kind: number, frame: FrameReader, process: PythonProcess): void {
    switch (kind) {
      case FromModel.DONE:
        this.#done(frame, process);
        break;
      case FromModel.SEND:
        this.#sent(frame, process);
        break;
      case FromModel.BLS:
        this.#calls.begin(frame, process, this.abandoned);
        acknowledgeRegions(process);
        break;
      case FromModel.BLS_CANCEL:
        this.#calls.cancel(frame.u32());
        break;
      case FromModel.LOG:
        logRecord(this.#options.log, frame);
        break;
      case FromModel.CALL:
        this.#hostCalls.call(frame, (answer) => process.control(answer));
        break;
      case FromModel.NOTIFY:
        this.#hostCalls.notify(frame);
        break;
      case FromModel.CHECKED:
        this.#ready.answered(frame);
        break;
      case FromModel.RELEASED:
        releaseRegions(frame, process);
        break;
    }
    frame.end();
  }

  #done(frame: FrameReader, process: PythonProcess): void {
    const outputStart = nowNs();
    const number = frame.u32();
    const batch = this.#batches.get(number);
    if (batch === undefined) throw new FrameFault(`it ends the batch ${number}, which it does not have`);
    const { keys } = batch;
    // A batch that was sent ahead waited for the one before it.
    const computeStart = Math.max(batch.computeStart, this.#doneNs);
    const inputEnd = Math.max(batch.inputEnd, computeStart);
    if (!this.#ahead || outputStart - inputEnd >= QUICK_NS) this.#quickRuns = 0;
    else this.#quickRuns++;
    const failed = frame.u8() === 1;
    let answersLater = false;
    if (failed) {
      const text = `Failed to process the request(s) for model '${this.name}', message: ${frame.text()}`;
      const error = new TritonError('INTERNAL', text);
      this.#errors.report(text);
      for (const key of keys) this.#open.take(key)?.respond({ outputs: [], error }, true);
    } else {
      answersLater = answerRequests(frame, keys, this.#open, process.memories);
    }
    releaseRegions(frame, process);
    frame.end();
    // Only now: a batch whose frame cannot be read fails with the end of the process.
    this.#batches.delete(number);
    this.#restarts.worked();
    const computeEnd = nowNs();
    this.#doneNs = computeEnd;
    this.#idleMemory.worked(process, computeEnd);
    batch.resolve({ computeStart, inputEnd, outputStart, computeEnd, failed, answersLater });
  }

  #sent(frame: FrameReader, process: PythonProcess): void {
    const key = frame.u32();
    const final = frame.u8() === 1;
    releaseRegions(frame, process);
    const response = frame.u8() === 1 ? readResponse(frame, process.memories) : undefined;
    acknowledgeRegions(process);
    const request = final ? this.#open.take(key) : this.#open.get(key);
    request?.respond(response, final);
    if (final || (request !== undefined && request.pace === undefined)) return;
    // The model's `send` waits until the receiver takes the next response.
    const goOn = (): void => {
      const answer = new FrameWriter(ToModel.GO_ON, 8);
      answer.u32(key);
      process.control(answer.finish());
    };
    const ready = request?.pace?.ready();
    if (ready === undefined) goOn();
    else void ready.then(goOn);
  }
}

function checkInputs(requests: readonly ExecutionRequest[]): void {
  for (const { id, inputs } of requests) {
    if (inputs.length > 0) continue;
    throw new TritonError('INVALID_ARG', `${requestPrefix(id)}out of bounds index 0: request has 0 inputs`);
  }
}
