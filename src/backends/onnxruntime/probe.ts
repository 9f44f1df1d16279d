import { Worker } from 'node:worker_threads';
import './ort-telemetry.js';
import { TritonError } from '../../protocol/error.js';
import { enterNative } from '../native-activity.js';
import type { OpenRequest, SessionInfo } from './open-session.js';
import type { FromProbe, ToProbe } from './worker-messages.js';

/** What a probe found out. */
export interface ProbeResult {
  readonly info: SessionInfo;
  /** Time of the slowest of the measured batches in ns; undefined when the model did not run on zeros. */
  readonly runNs: number | undefined;
}

interface PendingProbe {
  resolve(result: ProbeResult): void;
  reject(error: TritonError): void;
}

/** Opens models one after the other in one thread, which lives as long as somebody waits for it. */
class Probe {
  readonly #pending = new Map<number, PendingProbe>();
  #worker: Worker | undefined;
  #nextId = 0;
  #leaveNative: (() => void) | undefined;

  probe(open: OpenRequest, rows: readonly number[]): Promise<ProbeResult> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      worker.postMessage({ kind: 'probe', id, open, rows } satisfies ToProbe);
    });
  }

  #start(): Worker {
    this.#leaveNative = enterNative();
    const worker = new Worker(new URL('./probe-thread.js', import.meta.url));
    worker.on('message', (message: FromProbe) => {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if (this.#pending.size === 0) this.#end(worker);
      if (message.kind === 'probed') pending?.resolve({ info: message.info, runNs: message.runNs });
      else pending?.reject(new TritonError(message.code, message.message));
    });
    worker.on('error', (reason) => {
      this.#end(worker);
      for (const { reject } of this.#pending.values()) reject(TritonError.from(reason));
      this.#pending.clear();
    });
    return worker;
  }

  #end(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#leaveNative?.();
    worker.postMessage({ kind: 'close' } satisfies ToProbe);
  }
}

const shared = new Probe();

/**
 * Opens a model for a moment in a thread of its own: what the runtime says about it and, with `rows` (batch sizes; 0 =
 * a model that does not batch), how long a run on zeros takes.
 */
export function probeModel(open: OpenRequest, rows: readonly number[]): Promise<ProbeResult> {
  return shared.probe(open, rows);
}
