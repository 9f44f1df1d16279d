import { Worker } from 'node:worker_threads';
import '../session/ort-telemetry.js';
import { nowNs } from '../../../base/clock.js';
import { TritonError } from '../../../base/error.js';
import type { Tensor } from '../../../protocol/tensor.js';
import type { OpenRequest, RunResult, SessionInfo } from '../session/open-session.js';
import { enterNative } from './native-activity.js';
import type { FromThread, ToThread } from './worker-messages.js';

interface Pending {
  resolve(answer: never): void;
  reject(error: TritonError): void;
}

/**
 * The main thread's handle on a worker thread that holds sessions. What it is sent is done in order. It is never
 * terminated: that aborts the process while the runtime is at work (`native-activity.ts`). When the thread dies, for want
 * of memory say, everything that it was sent fails and `alive` is false from there on; nobody else is concerned.
 */
export class ModelThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  readonly #sessions = new Map<number, Promise<SessionInfo>>();
  readonly #exited: Promise<void>;
  #nextId = 0;
  #leaveNative: (() => void) | undefined;
  #ready = false;
  #alive = true;
  #closing = false;
  #busySince = 0;
  #endText = '';

  /** `onReady` is called when the thread has loaded the runtime, `onEnd` when the thread is gone. */
  constructor(onReady: () => void = () => {}, onEnd: () => void = () => {}) {
    this.#worker = new Worker(new URL('./session-thread.js', import.meta.url));
    this.#leaveNative = enterNative(); // the runtime is loaded first
    this.#worker.on('message', (message: FromThread) => {
      if (message.kind !== 'ready') this.#onAnswer(message);
      else {
        this.#ready = true;
        if (this.#pending.size === 0) this.#leave();
        onReady();
      }
    });
    this.#worker.on('error', (reason) => this.#end(`the thread of onnxruntime failed: ${String(reason)}`));
    this.#worker.on('messageerror', (reason) => {
      // Memory was too short to take a response in. Which one is not known: all fail, and the thread ends by itself.
      this.#end(`a response of onnxruntime was lost: ${String(reason)}`);
      this.#post({ kind: 'close' });
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#end('the thread of onnxruntime ended');
        resolve();
        onEnd();
      });
    });
  }

  /** True once the runtime is loaded in it. */
  get ready(): boolean {
    return this.#ready;
  }

  /** False once the thread is gone, or is about to go. */
  get alive(): boolean {
    return this.#alive && !this.#closing;
  }

  /** Why it ended; '' while it lives. */
  get endText(): string {
    return this.#endText;
  }

  /** What it was sent and has not answered. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Sessions that it was asked to open. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** How long it has been at the oldest thing that it was sent, in ns; 0 when there is none. */
  busyNs(now: number): number {
    return this.#pending.size === 0 ? 0 : now - this.#busySince;
  }

  has(session: number): boolean {
    return this.#sessions.has(session);
  }

  /** Opens a session, once; rejects with the runtime's error. */
  open(session: number, open: OpenRequest): Promise<SessionInfo> {
    let opened = this.#sessions.get(session);
    if (opened === undefined) {
      opened = this.#ask<SessionInfo>((id) => ({ kind: 'open', id, session, open }));
      opened.catch(() => {}); // a run in the session fails with the same error
      this.#sessions.set(session, opened);
    }
    return opened;
  }

  /** Runs a session that was opened. The inputs' buffers must belong to the caller alone: the thread gets them. */
  run(session: number, inputs: readonly Tensor[], outputs: readonly string[]): Promise<RunResult> {
    return this.#ask<RunResult>(
      (id) => ({ kind: 'run', id, session, inputs, outputs }),
      inputs.map((input) => input.data.buffer as ArrayBuffer),
    );
  }

  /** Frees a session after what was sent before. */
  dispose(session: number): void {
    if (this.#sessions.delete(session) && this.alive) this.#post({ kind: 'dispose', session });
  }

  /** Lets the thread finish what it was sent and end by itself; resolves when it is gone. */
  close(): Promise<void> {
    if (this.alive) this.#post({ kind: 'close' });
    this.#closing = true;
    return this.#exited;
  }

  #ask<T>(message: (id: number) => ToThread, transfer: readonly ArrayBuffer[] = []): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!this.alive) throw new TritonError('INTERNAL', 'the thread of onnxruntime is gone');
      const id = this.#nextId++;
      this.#post(message(id), transfer);
      if (this.#pending.size === 0) this.#busySince = nowNs();
      this.#pending.set(id, { resolve, reject });
      this.#leaveNative ??= enterNative();
    });
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #onAnswer(answer: Exclude<FromThread, { kind: 'ready' }>): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    this.#busySince = nowNs();
    if (this.#pending.size === 0) this.#leave();
    if (answer.kind === 'failed') pending?.reject(new TritonError(answer.code, answer.message));
    else if (answer.kind === 'opened') pending?.resolve(answer.info as never);
    else pending?.resolve({ outputs: answer.outputs, times: answer.times } as never);
  }

  #end(text: string): void {
    if (this.#alive) this.#endText = text;
    this.#alive = false;
    this.#leave();
    for (const { reject } of this.#pending.values()) reject(new TritonError('INTERNAL', text));
    this.#pending.clear();
  }

  #leave(): void {
    this.#leaveNative?.();
    this.#leaveNative = undefined;
  }
}
