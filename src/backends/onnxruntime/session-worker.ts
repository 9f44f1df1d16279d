import { Worker } from 'node:worker_threads';
import './ort-telemetry.js';
import { TritonError } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import { enterNative } from '../native-activity.js';
import type { OpenRequest, RunResult, SessionInfo } from './open-session.js';
import type { FromSession, ToSession } from './worker-messages.js';

interface PendingRun {
  resolve(result: RunResult): void;
  reject(error: TritonError): void;
}

/** The main thread's handle on a session in a worker thread of its own. */
export class SessionWorker {
  readonly info: SessionInfo;
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingRun>();
  readonly #exited: Promise<void>;
  #nextId = 0;
  #leaveNative: (() => void) | undefined;
  #gone = false;

  private constructor(worker: Worker, info: SessionInfo) {
    this.info = info;
    this.#worker = worker;
    worker.on('message', (message: FromSession) => this.#onMessage(message));
    worker.on('error', (reason) => this.#end(`the thread of onnxruntime failed: ${String(reason)}`));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#end('the thread of onnxruntime ended');
        resolve();
      });
    });
  }

  /** Starts a thread and opens the model in it. Rejects with the runtime's error. */
  static open(request: OpenRequest): Promise<SessionWorker> {
    const worker = new Worker(new URL('./session-thread.js', import.meta.url), { workerData: request });
    const leaveNative = enterNative();
    return new Promise<SessionWorker>((resolve, reject) => {
      const settle = (): void => {
        leaveNative();
        // By name: the worker object has listeners of its own that it does not work without.
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      };
      const onError = (reason: unknown): void => {
        settle();
        worker.on('error', () => {});
        reject(TritonError.from(reason));
      };
      const onExit = (code: number): void => {
        settle();
        reject(new TritonError('INTERNAL', `the thread of onnxruntime ended with ${code}`));
      };
      const onMessage = (message: FromSession): void => {
        settle();
        if (message.kind === 'opened') resolve(new SessionWorker(worker, message.info));
        else if (message.kind === 'refused') reject(new TritonError(message.code, message.message));
      };
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    });
  }

  /** False once the thread is gone. */
  get alive(): boolean {
    return !this.#gone;
  }

  /** Runs the model. The inputs' buffers must belong to the caller alone: they are handed over to the thread. */
  run(inputs: readonly Tensor[], outputs: readonly string[]): Promise<RunResult> {
    return new Promise((resolve, reject) => {
      if (this.#gone) {
        reject(new TritonError('INTERNAL', 'the thread of onnxruntime is gone'));
        return;
      }
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#leaveNative ??= enterNative();
      const message: ToSession = { kind: 'run', id, inputs, outputs };
      this.#worker.postMessage(
        message,
        inputs.map((input) => input.data.buffer as ArrayBuffer),
      );
    });
  }

  /** Lets the thread finish what it was sent and end by itself; resolves when it is gone. Never terminates it. */
  close(): Promise<void> {
    if (!this.#gone) this.#worker.postMessage({ kind: 'close' } satisfies ToSession);
    return this.#exited;
  }

  #onMessage(message: FromSession): void {
    if (message.kind !== 'ran' && message.kind !== 'failed') return;
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#leave();
    if (message.kind === 'ran') pending?.resolve({ outputs: message.outputs, times: message.times });
    else pending?.reject(new TritonError(message.code, message.message));
  }

  #end(text: string): void {
    this.#gone = true;
    this.#leave();
    for (const { reject } of this.#pending.values()) reject(new TritonError('INTERNAL', text));
    this.#pending.clear();
  }

  #leave(): void {
    this.#leaveNative?.();
    this.#leaveNative = undefined;
  }
}
