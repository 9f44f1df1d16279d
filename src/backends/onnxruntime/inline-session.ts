import type { Log } from '../../engine/log.js';
import type { Tensor } from '../../protocol/tensor.js';
import { type OpenRequest, OpenSession, type RunResult } from './open-session.js';

/** Inputs up to this size are taken at once; larger ones only after a run elsewhere showed their size to be cheap. */
const FIRST_CEILING_BYTES = 64 * 1024;
/** When the mean time of the latest runs is beyond this many times the limit, runs on the main thread end for good. */
const SLOW_FACTOR = 4;
/** Weight of one run in that mean: some 32 runs count, so that a thread put aside by the system now and then does not. */
const WEIGHT = 1 / 32;
/** A single run counts no more than this, in ns: two of such length are enough. */
const LONGEST_NS = 20_000_000;
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
  #meanNs = 0;

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
    this.#meanNs += (Math.min(LONGEST_NS, ns - bytes / COPY_BYTES_PER_NS) - this.#meanNs) * WEIGHT;
    if (this.#meanNs > this.#limitNs * SLOW_FACTOR) this.#deactivate();
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

  #deactivate(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#log.warning(
      `model '${this.#model}' no longer runs on the main thread: its runs take ${Math.round(this.#meanNs / 1000)} us ` +
        `on average, the limit is ${this.#limitNs / 1000} us`,
    );
  }
}
