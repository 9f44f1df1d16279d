import { nowNs } from '../../../base/clock.js';
import type { BackendInstance, BackendOptions, ExecutionRequest, ExecutionTimes } from '../../../contract/backend.js';
import { TritonError } from '../../../protocol/error.js';
import { requestPrefix } from '../../../protocol/infer/request-prefix.js';
import { HostCalls } from '../calls/host-calls.js';
import { logRecord } from '../calls/log-record.js';
import { ModelCalls } from '../calls/model-calls.js';
import type { Interpreter } from '../process/interpreter.js';
import { notHealthy, type ProcessSettings, PythonProcess } from '../process/python-process.js';
import { FrameFault, type FrameReader } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { parametersToJson, readResponse, writeTensor } from '../wire/tensor-codec.js';
import { FromModel, Outcome, SHARED_FROM, ToModel } from '../wire/wire.js';
import { ReadyChecks } from './ready-checks.js';
import { RepeatedErrors } from './repeated-errors.js';
import { RestartSchedule } from './restart-schedule.js';

/** A batch waits so long for a process that is being started again, in ms; then it fails. */
const RESTART_WAIT_MS = 1000;

/** Shared memory beyond this is given back when the instance has had nothing to do for a while. */
const KEPT_BYTES = 16 << 20;
const IDLE_MS = 5000;

/** A batch is sent ahead of the end of the one before when so many executions in a row were shorter than this, in ns. */
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
  /** Requests without a final response, by key. */
  readonly #open = new Map<number, ExecutionRequest>();
  readonly #restarts: RestartSchedule;
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
  #nextKey = 0;
  #nextBatch = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  /** When the process last had something to do. */
  #activeNs = 0;
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
    if (this.#process === undefined) await this.#restarted();
    const process = this.#process;
    if (process === undefined) throw notHealthy(this.name);
    if (this.#batching) checkInputs(requests);
    const computeStart = nowNs();
    const number = this.#nextBatch;
    this.#nextBatch = (this.#nextBatch + 1) >>> 0;
    const keys = requests.map((request) => this.#register(request));
    const { toModel, fromModel } = process.memories;
    const read = fromModel.takeRead();
    const writer = new FrameWriter(ToModel.EXECUTE, expectedSize(requests));
    try {
      writer.u32(number);
      writer.u16(requests.length);
      writer.u64s(read);
      requests.forEach((request, i) => void this.#writeRequest(writer, process, keys[i]!, request));
      const frame = writer.finish();
      process.checkLength(frame);
      process.send(frame);
    } catch (reason) {
      // No frame can be as large as this batch.
      for (const key of keys) this.#take(key);
      fromModel.untake(read);
      for (const region of writer.regions) toModel.release(region);
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
    clearTimeout(this.#idleTimer);
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
    if (this.#open.size === 0) return false;
    for (const { cancelled } of this.#open.values()) if (!cancelled) return false;
    return true;
  }

  /** Ends the process for good and at once: its requests fail. */
  async kill(): Promise<void> {
    this.#closing = true;
    this.#restarts.stop();
    this.#cancelStart.abort(notHealthy(this.name));
    await this.#process?.kill();
  }

  /** Waits a little for a process that is being started again. */
  async #restarted(): Promise<void> {
    const { starting } = this.#restarts;
    if (starting === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, RESTART_WAIT_MS);
    });
    await Promise.race([starting, late]);
    clearTimeout(timer);
  }

  #register(request: ExecutionRequest): number {
    // Keys come round after 2^32 requests; one whose request is still open is passed over.
    while (this.#open.has(this.#nextKey)) this.#nextKey = (this.#nextKey + 1) >>> 0;
    const key = this.#nextKey;
    this.#nextKey = (key + 1) >>> 0;
    this.#open.set(key, request);
    return key;
  }

  #writeRequest(writer: FrameWriter, process: PythonProcess, key: number, request: ExecutionRequest): void {
    writer.u32(key);
    writer.u32((request.sequenceStart ? 1 : 0) | (request.sequenceEnd ? 2 : 0));
    writer.bigU64(request.timeoutMicroseconds);
    if (typeof request.correlationId === 'string') {
      writer.u8(1);
      writer.text(request.correlationId);
    } else {
      writer.u8(0);
      writer.bigU64(request.correlationId);
    }
    writer.text(request.id);
    writer.text(parametersToJson(request.parameters));
    writer.u16(request.requestedOutputs.length);
    for (const name of request.requestedOutputs) writer.text(name);
    const { trace } = request;
    writer.u8((request.cancelled ? 1 : 0) | (trace === undefined ? 0 : 2) | (request.pace === undefined ? 0 : 4));
    if (trace !== undefined) {
      writer.text(trace.context ?? '');
      this.#calls.traced(key, trace);
    }
    request.onCancelled = () => {
      const frame = new FrameWriter(ToModel.CANCELLED, 8);
      frame.u32(key);
      process.control(frame.finish());
      // The model may wait for a call that waits for the model: nobody waits for either any more.
      if (this.abandoned) this.#calls.cancelAll();
    };
    writer.u16(request.inputs.length);
    for (const input of request.inputs) writeTensor(writer, input, process.memories);
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
    for (const { keys } of batches) for (const key of keys) this.#take(key);
    const left = [...this.#open.keys()];
    if (!planned) {
      const when = batches.length > 0 ? ' while it executed a batch' : '';
      this.#options.log.error(`${error.message} It ended${when} and is started again.`);
    }
    for (const { reject } of batches) reject(error);
    for (const key of left) this.#take(key)?.respond({ outputs: [], error }, true);
    if (!planned) this.#restarts.died();
  }

  /** The request of a key, which then counts as answered. */
  #take(key: number): ExecutionRequest | undefined {
    const request = this.#open.get(key);
    if (request === undefined) return undefined;
    this.#open.delete(key);
    this.#calls.untraced(key);
    request.onCancelled = undefined;
    return request;
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
        this.#acknowledge(process);
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
        this.#released(frame, process);
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
      for (const key of keys) this.#take(key)?.respond({ outputs: [], error }, true);
    } else {
      for (const key of keys) {
        const outcome = frame.u8();
        if (outcome === Outcome.RESPONSE) {
          const response = readResponse(frame, process.memories);
          this.#take(key)?.respond(response, true);
        } else if (outcome === Outcome.OPEN) {
          answersLater = true;
        } else if (outcome === Outcome.RESCHEDULED) {
          this.#take(key)?.reschedule();
        } else if (outcome === Outcome.CLOSED) {
          // A thread of the model counts its response before it sends it: the frame may still be on its way.
          if (this.#open.has(key)) answersLater = true;
        } else {
          throw new FrameFault(`a request has the unknown outcome ${outcome}`);
        }
      }
    }
    this.#released(frame, process);
    frame.end();
    // Only now: a batch whose frame cannot be read fails with the end of the process.
    this.#batches.delete(number);
    this.#restarts.worked();
    const computeEnd = nowNs();
    this.#doneNs = computeEnd;
    this.#idle(process);
    batch.resolve({ computeStart, inputEnd, outputStart, computeEnd, failed, answersLater });
  }

  #sent(frame: FrameReader, process: PythonProcess): void {
    const key = frame.u32();
    const final = frame.u8() === 1;
    this.#released(frame, process);
    const response = frame.u8() === 1 ? readResponse(frame, process.memories) : undefined;
    this.#acknowledge(process);
    const request = final ? this.#take(key) : this.#open.get(key);
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

  /** The process needs these regions no more. */
  #released(frame: FrameReader, process: PythonProcess): void {
    for (const region of frame.u64s()) process.memories.toModel.release(region);
  }

  /** Names the regions that were read, if there are any: it is sent at once, as no batch may follow soon. */
  #acknowledge(process: PythonProcess, trim = false): void {
    const { fromModel } = process.memories;
    if (!trim && !fromModel.hasRead) return;
    const frame = new FrameWriter(ToModel.ACKNOWLEDGE, 32);
    frame.u64s(fromModel.takeRead());
    frame.u8(trim ? 1 : 0);
    process.control(frame.finish());
  }

  /** Gives shared memory back when nothing has happened for a while. */
  #idle(process: PythonProcess): void {
    this.#activeNs = this.#doneNs;
    if (this.#idleTimer !== undefined) return;
    const { toModel, fromModel } = process.memories;
    if (!fromModel.used && toModel.size <= KEPT_BYTES) return;
    const look = (): void => {
      this.#idleTimer = undefined;
      if (this.#process !== process) return;
      const leftMs = IDLE_MS - (nowNs() - this.#activeNs) / 1e6;
      if (leftMs > 0 || this.#batches.size > 0) {
        this.#idleTimer = setTimeout(look, Math.max(leftMs, 1000)).unref();
        return;
      }
      toModel.trim();
      this.#acknowledge(process, true);
    };
    this.#idleTimer = setTimeout(look, IDLE_MS).unref();
  }
}

function checkInputs(requests: readonly ExecutionRequest[]): void {
  for (const { id, inputs } of requests) {
    if (inputs.length > 0) continue;
    throw new TritonError('INVALID_ARG', `${requestPrefix(id)}out of bounds index 0: request has 0 inputs`);
  }
}

/** Bytes that a frame with these requests will need, roughly. */
function expectedSize(requests: readonly ExecutionRequest[]): number {
  let size = 64;
  for (const { inputs } of requests) {
    size += 256;
    for (const { data } of inputs) size += 128 + (data.byteLength < SHARED_FROM ? data.byteLength : 0);
  }
  return size;
}
