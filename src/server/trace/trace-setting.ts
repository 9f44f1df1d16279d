import type { TraceFile } from './trace-file.js';

/** Names of trace levels. */
export type TraceLevel = 'TIMESTAMPS' | 'TENSORS';

/** What can be set while the server runs. */
export interface TraceValues {
  /** Empty = OFF. */
  readonly level: readonly TraceLevel[];
  /** Every N-th request is traced; 0 = only those that come with a context. */
  readonly rate: number;
  /** How many are still to be traced; -1 = no limit. */
  readonly count: number;
  /** Traces in one numbered file; 0 = all in one file at the end. */
  readonly logFrequency: number;
}

/** Characters that are kept before it goes to the file, where nothing but the size decides when. */
const KEPT_CHARACTERS = 1 << 20;

/**
 * One set of values that holds for some requests, with its own counters. An update makes a new one; the old one writes
 * what it has when its last trace is complete.
 */
export class TraceSetting {
  readonly level: readonly TraceLevel[];
  readonly rate: number;
  readonly logFrequency: number;
  /** True when a value was set for this scope itself; the others follow the scope above. */
  readonly specified: Readonly<Record<keyof TraceValues, boolean>>;
  readonly timestamps: boolean;
  readonly tensors: boolean;
  readonly #file: TraceFile | undefined;
  #count: number;
  /** Requests that the rate was counted over. */
  #seen = 0;
  #collected = 0;
  #pending: string[] = [];
  #pendingCharacters = 0;
  #open = 0;
  #retired = false;

  /** `file`: where traces go; undefined where they go elsewhere (OpenTelemetry). */
  constructor(
    values: TraceValues,
    specified: Readonly<Record<keyof TraceValues, boolean>>,
    file: TraceFile | undefined,
  ) {
    this.level = values.level;
    this.rate = values.rate;
    this.logFrequency = values.logFrequency;
    this.#count = values.count;
    this.specified = specified;
    this.timestamps = values.level.includes('TIMESTAMPS');
    this.tensors = values.level.includes('TENSORS');
    this.#file = file;
  }

  /** Traces still to be taken; -1 = no limit. */
  get count(): number {
    return this.#count;
  }

  get values(): TraceValues {
    return { level: this.level, rate: this.rate, count: this.#count, logFrequency: this.logFrequency };
  }

  /** Why nothing can be traced; undefined when something can. */
  get invalid(): string | undefined {
    if (this.level.length === 0) return 'tracing is disabled';
    if (this.rate === 0) return 'sample rate must be non-zero';
    if (this.#file?.path === '') return 'trace file name is not given';
    return undefined;
  }

  /** Whether a request is to be traced. `forced`: it came with the context of a trace. */
  sample(forced: boolean): boolean {
    if (this.level.length === 0 || this.#file?.path === '') return false;
    let hit = false;
    if (this.rate !== 0 && (this.#count !== 0 || forced)) {
      hit = ++this.#seen % this.rate === 0 && this.#count !== 0;
      if (hit && this.#count > 0) this.#count--;
    }
    if (!hit && !forced) return false;
    this.#open++;
    return true;
  }

  /** Takes a complete trace as JSON; '' where it went elsewhere. */
  collect(text: string): void {
    this.#open--;
    if (text !== '') this.#keep(text);
    if (this.#retired && this.#open === 0) this.#flush();
  }

  /** Takes no more requests: writes what it has once the traces on their way are complete, or now with `force`. */
  retire(force = false): void {
    this.#retired = true;
    if (force || this.#open === 0) this.#flush();
  }

  #keep(text: string): void {
    this.#pending.push(text);
    this.#pendingCharacters += text.length;
    this.#collected++;
    // As in Triton, the count is complete when every request was traced that it was counted over.
    const complete = this.#count === 0 && this.#collected === this.#seen;
    if (complete || (this.logFrequency !== 0 && this.#pending.length >= this.logFrequency)) {
      this.#file?.saveNumbered(this.#take());
    } else if (this.logFrequency === 0 && this.#count < 0 && this.#pendingCharacters > KEPT_CHARACTERS) {
      this.#file?.append(this.#take());
    }
  }

  #flush(): void {
    if (this.#pending.length === 0) return;
    if (this.logFrequency !== 0) this.#file?.saveNumbered(this.#take());
    else this.#file?.append(this.#take());
  }

  #take(): string {
    const text = this.#pending.join();
    this.#pending = [];
    this.#pendingCharacters = 0;
    return text;
  }
}
