import { nowNs } from '../../../base/clock.js';
import type { ExecutionRequest } from '../../../contract/backend.js';
import type { ShapeBound } from '../../../onnx/operator-bounds.js';
import type { RunBounds } from '../../../onnx/run-bounds.js';
import type { Tensor } from '../../../protocol/tensor.js';
import { type OpenRequest, OpenSession, type RunResult } from '../session/open-session.js';

/** Inputs of more bytes are run in a thread: of strings the number of elements does not show the size. */
const MAX_BYTES = 64 * 1024;
/** Quick runs in a thread that open the main thread to a model for the first time. */
const FIRST_RUNS = 64;
/** After each way back the number needed is multiplied by the first constant, up to the second. */
const MORE_RUNS = 2;
const MOST_RUNS = 4096;
/** Number of quick runs that a slow run in a thread takes away. */
const SLOW_COSTS = 4;
/** So many runs on the main thread make up for earlier ways back. */
const FORGIVEN_RUNS = 10_000;
/** A run of this length on the main thread is the last one there, in ns: whoever else waits would notice. */
const LONG_RUN_NS = 10_000_000;
/**
 * A run longer than this many times the limit is slow. Slow runs fill a bucket, quick ones empty it; full, it ends the
 * runs on the main thread.
 */
const SLOW_FACTOR = 4;
const BUCKET = 32;

/** Gets the moves of a model, with the reason in words. */
export interface MainThreadMoves {
  toMain(reason: string): void;
  back(reason: string): void;
}

/**
 * Runs on the main thread, for a model whose runs are shorter than the way to a thread and back. They must be bounded (the
 * graph's operators and the shapes of a request's inputs say how much it can do at most) and earned (by quick runs in a
 * thread). The first long run ends them, until they are earned again.
 */
export class MainThreadRuns {
  readonly #open: OpenRequest;
  readonly #bounds: RunBounds;
  readonly #limitNs: number;
  readonly #moves: MainThreadMoves;
  /** By input: shapes up to this one are allowed. */
  #allowed: ReadonlyMap<string, ShapeBound> = new Map();
  /** By input: shapes from this one on are not. */
  #refused: ReadonlyMap<string, ShapeBound> | undefined;
  #session: OpenSession | undefined;
  #needed = FIRST_RUNS;
  #quick = 0;
  #slowness = 0;
  #runs = 0;
  #disposed = false;

  /** `limitNs`: longest run that counts as quick. */
  constructor(open: OpenRequest, bounds: RunBounds, limitNs: number, moves: MainThreadMoves) {
    this.#open = open;
    this.#bounds = bounds;
    this.#limitNs = limitNs;
    this.#moves = moves;
  }

  /** True while the model has the main thread. */
  get active(): boolean {
    return this.#session !== undefined;
  }

  /** Whether this batch may be run here, now. */
  accepts(batch: readonly ExecutionRequest[]): boolean {
    return this.#session !== undefined && this.#isBounded(batch);
  }

  /** Runs the model now. */
  run(inputs: readonly Tensor[], outputs: readonly string[]): RunResult {
    takeCpuBaseline();
    const result = this.#session!.run(inputs, outputs);
    let ns = result.times.computeEnd - result.times.computeStart;
    // A run cannot have worked for longer than the process used the processor: the rest is the system's, on a busy machine.
    if (ns > this.#limitNs * SLOW_FACTOR) ns = Math.min(ns, cpuNsSince(cpuBaseline));
    if (++this.#runs === FORGIVEN_RUNS) this.#needed = FIRST_RUNS;
    if (ns <= this.#limitNs * SLOW_FACTOR) {
      if (this.#slowness > 0) this.#slowness--;
    } else if (ns >= LONG_RUN_NS || ++this.#slowness >= BUCKET) {
      this.#leave(`${ns >= LONG_RUN_NS ? 'a run' : 'many runs are slow, the last'} took ${us(ns)} there`);
    }
    return result;
  }

  /** Takes notice of a run in a thread. The last of enough quick ones opens the model here. */
  learn(batch: readonly ExecutionRequest[], ns: number): void {
    if (this.#session !== undefined || this.#disposed) return;
    if (!this.#isBounded(batch)) return;
    if (ns > this.#limitNs * SLOW_FACTOR) this.#quick = Math.max(0, this.#quick - SLOW_COSTS);
    // One between the limit and what counts as slow neither helps nor harms.
    if (ns > this.#limitNs) return;
    if (++this.#quick < this.#needed) return;
    this.#session = new OpenSession(this.#open);
    this.#runs = 0;
    this.#slowness = 0;
    this.#moves.toMain(`${this.#quick} runs stayed under the limit of ${us(this.#limitNs)}`);
  }

  dispose(): void {
    this.#disposed = true;
    this.#session?.dispose();
    this.#session = undefined;
  }

  #leave(reason: string): void {
    this.#session?.dispose();
    this.#session = undefined;
    this.#quick = 0;
    this.#needed = Math.min(this.#needed * MORE_RUNS, MOST_RUNS);
    this.#moves.back(reason);
  }

  /** Compares with shapes that were judged before; a new one costs a walk over the graph. */
  #isBounded(batch: readonly ExecutionRequest[]): boolean {
    const { inputs } = batch[0]!;
    let bytes = 0;
    for (const request of batch) for (const input of request.inputs) bytes += input.data.byteLength;
    if (bytes > MAX_BYTES) return false;
    const rows = batch.length === 1 ? undefined : rowsOf(batch);
    if (inputs.every((input) => isAtMost(input.shape, rows, this.#allowed.get(input.name)))) return true;
    const refused = this.#refused;
    if (refused !== undefined && inputs.every((input) => isAtLeast(input.shape, rows, refused.get(input.name)))) {
      return false;
    }
    const asked = new Map(inputs.map(({ name, shape }) => [name, withRows(shape, rows)]));
    if (!this.#bounds.allows(asked)) {
      this.#refused = asked;
      return false;
    }
    const both = new Map([...asked].map(([name, shape]) => [name, larger(shape, this.#allowed.get(name))]));
    this.#allowed = this.#bounds.allows(both) ? both : asked;
    return true;
  }
}

/** Longest time between two looks at the processor time, in ns: one look costs as much as a tenth of a small request. */
const BASELINE_NS = 4_000_000;
let cpuBaseline = process.cpuUsage();
let cpuBaselineNs = nowNs();

/** Sees to it that the processor time of a moment shortly before is known. */
function takeCpuBaseline(): void {
  const now = nowNs();
  if (now - cpuBaselineNs < BASELINE_NS) return;
  cpuBaseline = process.cpuUsage();
  cpuBaselineNs = now;
}

function cpuNsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1000;
}

function rowsOf(batch: readonly ExecutionRequest[]): number {
  let rows = 0;
  for (const request of batch) rows += request.inputs[0]?.shape[0] ?? 1;
  return rows;
}

function isAtMost(shape: readonly number[], rows: number | undefined, bound: ShapeBound | undefined): boolean {
  if (bound === undefined || bound.length !== shape.length) return false;
  for (let i = 0; i < shape.length; i++) {
    if ((i === 0 && rows !== undefined ? rows : shape[i]!) > bound[i]!) return false;
  }
  return true;
}

function isAtLeast(shape: readonly number[], rows: number | undefined, bound: ShapeBound | undefined): boolean {
  if (bound === undefined || bound.length !== shape.length) return false;
  for (let i = 0; i < shape.length; i++) {
    if ((i === 0 && rows !== undefined ? rows : shape[i]!) < bound[i]!) return false;
  }
  return true;
}

function withRows(shape: readonly number[], rows: number | undefined): ShapeBound {
  return rows === undefined || shape.length === 0 ? shape : [rows, ...shape.slice(1)];
}

function larger(shape: ShapeBound, bound: ShapeBound | undefined): ShapeBound {
  return bound?.length === shape.length ? shape.map((dim, i) => Math.max(dim, bound[i]!)) : shape;
}

function us(ns: number): string {
  return `${Math.ceil(ns / 1000)} us`;
}
