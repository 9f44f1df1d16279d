import type { SequenceSettings } from './load-messages.js';

/** Gives sequences their ids: the next number of the range, wherever it is not in use. */
export class SequenceIds {
  readonly #start: number;
  readonly #range: number;
  readonly #inUse = new Set<number>();
  #counter: number;

  /** `first` and `stride` let several threads share a range: they take numbers in turn. */
  constructor(settings: SequenceSettings, first: number, stride: number) {
    this.#start = settings.startId;
    this.#range = Math.max(1, settings.idRange);
    this.#counter = first;
    this.#stride = stride;
  }

  readonly #stride: number;

  /** The id of the next sequence of a slot whose last one was `old` (0 = none); keeps the old id if the new is taken. */
  next(old: number): number {
    const id = (this.#counter % this.#range) + this.#start;
    this.#counter += this.#stride;
    if (old !== 0 && id !== old && this.#inUse.has(id)) return old;
    this.#inUse.delete(old);
    this.#inUse.add(id);
    return id;
  }
}

/** A slot for one sequence at a time. */
export class SequenceSlot {
  readonly #settings: SequenceSettings;
  readonly #ids: SequenceIds;
  readonly #stepsOf: readonly number[];
  #id = 0;
  #stream = 0;
  #element = 0;
  #remaining = 0;

  /** `stepsOf`: number of steps of every stream of the input data. */
  constructor(settings: SequenceSettings, ids: SequenceIds, stepsOf: readonly number[]) {
    this.#settings = settings;
    this.#ids = ids;
    this.#stepsOf = stepsOf;
  }

  /** True while a sequence was begun and not ended. */
  get isOpen(): boolean {
    return this.#remaining > 0;
  }

  /** The next request of the slot; `close` makes it the last of its sequence. */
  next(close = false): { sequenceId: number; stream: number; step: number; start: boolean; end: boolean } {
    const start = this.#remaining === 0;
    if (start) this.#begin();
    const steps = this.#stepsOf[this.#stream] ?? 0;
    const step = steps === 0 ? 0 : this.#element % steps;
    this.#element += 1;
    this.#remaining = close ? 0 : this.#remaining - 1;
    return { sequenceId: this.#id, stream: this.#stream, step, start, end: this.#remaining === 0 };
  }

  #begin(): void {
    this.#id = this.#ids.next(this.#id);
    this.#stream = Math.floor(Math.random() * Math.max(1, this.#stepsOf.length));
    this.#element = 0;
    const { length } = this.#settings;
    this.#remaining =
      length === undefined
        ? Math.max(1, this.#stepsOf[this.#stream] ?? 1)
        : sequenceLength(length.base, length.variation, Math.random());
  }
}

/** A length spread evenly by `variation` percent around the base, cut toward the base, at least 1; `random` in 0..1. */
export function sequenceLength(base: number, variation: number, random: number): number {
  const offset = ((random * 2 - 1) * variation * base) / 100;
  return Math.max(1, base + Math.trunc(offset));
}
