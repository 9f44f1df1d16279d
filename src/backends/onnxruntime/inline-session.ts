import type { Log } from '../../engine/log.js';
import type { Tensor } from '../../protocol/tensor.js';
import { OpenSession, type OpenRequest, type RunResult } from './open-session.js';

/** Inputs up to this size are taken at once; larger ones only after a run elsewhere showed their size to be cheap. */
const FIRST_CEILING_BYTES = 64 * 1024;
/** A run that takes this many times the limit counts against the model ... */
const SLOW_FACTOR = 5;
/** ... and one beyond this many times ends it at once. */
const FATAL_FACTOR = 100;
/** So many slow runs, with fewer than GOOD_RUNS good ones between them, end the runs on the main thread. */
const MAX_SLOW_RUNS = 3;
const GOOD_RUNS = 1000;
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
  #slowRuns = 0;
  #goodRuns = 0;

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
    const allowed = Math.max(this.#limitNs, bytes / COPY_BYTES_PER_NS) * SLOW_FACTOR;
    if (ns > allowed) this.#countSlow(ns);
    else if (this.#slowRuns > 0 && ++this.#goodRuns >= GOOD_RUNS) this.#slowRuns = 0;
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

  #countSlow(ns: number): void {
    this.#slowRuns++;
    this.#goodRuns = 0;
    if (this.#slowRuns < MAX_SLOW_RUNS && ns < this.#limitNs * FATAL_FACTOR) return;
    this.#active = false;
    this.#log.warning(
      `model '${this.#model}' no longer runs on the main thread: a run took ${Math.round(ns / 1000)} us, ` +
        `the limit is ${this.#limitNs / 1000} us`,
    );
  }
}
