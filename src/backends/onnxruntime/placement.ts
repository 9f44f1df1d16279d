import type { Log } from '../../base/log.js';
import type { FamilyHandle, MetricFamilies, MetricHandle } from '../../contract/metrics.js';

/** Where a model runs: on the main thread, in threads that small models share, in threads of its own. */
export type Place = 'main' | 'shared' | 'own';

const WORDS: Readonly<Record<Place, string>> = {
  main: 'to the main thread',
  shared: 'to the threads that small models share',
  own: 'to threads of its own',
};

/** Average run from which a model gets threads of its own, in ns, and runs that are looked at first. */
const LONG_RUN_NS = 10_000_000;
const FIRST_RUNS = 8;
/** Average run below which it goes back to shared ones, in ns, after this many runs the first time, doubled each time. */
const SHORT_RUN_NS = 2_000_000;
const RETURN_RUNS = 1000;

/** What a placement reports to. */
export interface PlacementContext {
  readonly model: string;
  readonly version: string;
  readonly log: Log;
  /** Absent where there is no server around the model. */
  readonly metrics: MetricFamilies | undefined;
}

/** Where one version of a model runs, and why it moves; every move is logged and counted. */
export class Placement {
  readonly #context: PlacementContext;
  readonly #mayShare: boolean;
  #shared: boolean;
  #averageNs = 0;
  #runs = 0;
  #returnRuns = RETURN_RUNS;
  #family: FamilyHandle | undefined;
  readonly #counters = new Map<Place, MetricHandle>();

  /** `mayShare`: the model is small enough for the shared threads, where it then begins. */
  constructor(context: PlacementContext, mayShare: boolean) {
    this.#context = context;
    this.#mayShare = mayShare;
    this.#shared = mayShare;
  }

  /** True: in shared threads. What is run on the main thread is not this object's. */
  get shared(): boolean {
    return this.#shared;
  }

  /** Takes notice of a run in a thread: long ones on average call for threads of its own, short ones for shared ones. */
  ran(ns: number): void {
    if (!this.#mayShare) return;
    this.#runs++;
    const weight = Math.max(1 / this.#runs, 1 / 16);
    this.#averageNs += (ns - this.#averageNs) * weight;
    const average = `its runs take ${(this.#averageNs / 1e6).toFixed(1)} ms on average`;
    if (this.#shared && this.#runs >= FIRST_RUNS && this.#averageNs > LONG_RUN_NS) this.leaveShared(average);
    else if (!this.#shared && this.#runs >= this.#returnRuns && this.#averageNs < SHORT_RUN_NS) {
      this.#shared = true;
      this.#runs = 0;
      this.#returnRuns *= 2;
      this.moved('shared', average);
    }
  }

  /** Gives the model threads of its own from the next run on. */
  leaveShared(reason: string): void {
    if (!this.#shared) return;
    this.#shared = false;
    this.#runs = 0;
    this.moved('own', reason);
  }

  /** Logs and counts a move. */
  moved(to: Place, reason: string): void {
    const { model, version, log, metrics } = this.#context;
    log.info(`model '${model}' version ${version} moves ${WORDS[to]}: ${reason}`);
    if (metrics === undefined) return;
    let counter = this.#counters.get(to);
    if (counter === undefined) {
      this.#family ??= metrics.family(
        'triton_onnxruntime_moves',
        'Number of times that a model moved to the main thread, to shared threads or to threads of its own',
        'COUNTER',
      );
      counter = this.#family.metric({ model, version, to }, []);
      this.#counters.set(to, counter);
    }
    counter.increment(1);
  }

  /** Takes the counters away. */
  dispose(): void {
    for (const counter of this.#counters.values()) counter.release();
    this.#family?.release();
  }
}
