import type { Log } from '../../engine/log.js';
import type { Tensor } from '../../protocol/tensor.js';
import { type OpenRequest, OpenSession, type RunResult } from './open-session.js';

/** Inputs up to this size are taken at once; larger ones only after a run elsewhere showed their size to be cheap. */
const FIRST_CEILING_BYTES = 64 * 1024;
/**
 * A run longer than this many times the limit is slow. Slow runs fill a bucket, others empty it; when it is full, runs on
 * the main thread end for good. A thread that the system puts aside now and then does not get there: wall time alone
 * does not tell a slow model from a busy machine.
 */
const SLOW_FACTOR = 4;
const BUCKET = 32;
/** A run of this length fills half of the bucket, in ns. */
const LONG_RUN_NS = 100_000_000;
/** Copying a large input to another thread costs the main thread about as much as a run that only touches it once. */
const COPY_BYTES_PER_NS = 4;

/**
 * A session in the main thread for a model whose runs are shorter than the way to another thread and back. Bounded: by
 * the trial when the model was loaded, by the size of the inputs, and by the time of every run.
 */
export class InlineSession {
  readonly #session: OpenSession;
  readonly #limitNs: number;
  readonly #model: string;
  readonly #log: Log;
  #ceilingBytes = FIRST_CEILING_BYTES;
  #active = true;
  #slowness = 0;

  constructor(model: string, open: OpenRequest, limitNs: number, log: Log) {
    this.#model = model;
    this.#limitNs = limitNs;
    this.#log = log;
    this.#session = new OpenSession(open);
  }

  /** False for good once the model has proved slow. */
  get active(): boolean {
    return this.#active;
  }

  /** Whether inputs of this size may be run here. */
  accepts(bytes: number): boolean {
    return this.#active && bytes <= this.#ceilingBytes;
  }

  /** Runs the model now. */
  run(inputs: readonly Tensor[], outputs: readonly string[], bytes: number): RunResult {
    const result = this.#session.run(inputs, outputs);
    const ns = result.times.computeEnd - result.times.computeStart;
    if (ns <= this.#limitNs * SLOW_FACTOR + bytes / COPY_BYTES_PER_NS) {
      if (this.#slowness > 0) this.#slowness--;
    } else {
      this.#slowness += ns >= LONG_RUN_NS ? BUCKET / 2 : 1;
      if (this.#slowness >= BUCKET) this.#deactivate(ns);
    }
    return result;
  }

  /** Tells how long a run took in another thread; a cheap one opens the way for inputs of its size. */
  learn(bytes: number, runNs: number): void {
    if (runNs <= Math.max(this.#limitNs, bytes / COPY_BYTES_PER_NS) && bytes > this.#ceilingBytes) {
      this.#ceilingBytes = bytes;
    }
  }

  dispose(): void {
    this.#session.dispose();
  }

  #deactivate(ns: number): void {
    if (!this.#active) return;
    this.#active = false;
    this.#log.warning(
      `model '${this.#model}' no longer runs on the main thread: many of its runs are slow, the last took ` +
        `${Math.round(ns / 1000)} us, the limit is ${this.#limitNs / 1000} us`,
    );
  }
}
