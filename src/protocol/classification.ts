/** The classification extension: the k highest elements of an output as strings. */

import { invalidArg } from '../base/error.js';
import { encodeBytes } from './bytes.js';
import { type Before, introsort } from './compat/introsort.js';
import { toFixed6 } from './compat/to-fixed6.js';
import { elementCount } from './datatype.js';
import type { Steps } from './steps.js';
import type { Tensor } from './tensor.js';
import { type TypedArrays, typedView } from './typed-view.js';

/** Most elements per batch entry that can be classified. */
const MAX_ELEMENTS = 1_000_000;

/** Elements that are looked at, and classes that are written, in one step. */
const STEP_ELEMENTS = 32_768;
const STEP_CLASSES = 4096;

type Classifiable = Extract<keyof TypedArrays, `UINT${8 | 16 | 32 | 64}` | `INT${8 | 16 | 32 | 64}` | 'FP32' | 'FP64'>;

const CLASSIFIABLE = new Set<string>([
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP32',
  'FP64',
] satisfies Classifiable[]);

/**
 * The `count` highest elements of each batch entry as a BYTES tensor of strings `value:index` or `value:index:label`,
 * highest first. `batched`: the first dimension is the batch. Works in steps.
 */
export function* classifySteps(
  output: Tensor,
  count: number,
  batched: boolean,
  labels: readonly string[] | undefined,
): Steps<Tensor> {
  const { name, datatype, shape } = output;
  if (!CLASSIFIABLE.has(datatype)) {
    throw invalidArg(`class result not available for output due to unsupported type '${datatype}'`);
  }
  const batch = batched ? (shape[0] ?? 1) : 1;
  const perEntry = elementCount(batched ? shape.slice(1) : shape);
  if (perEntry > MAX_ELEMENTS) throw invalidArg('classification output tensor too large');
  const values = typedView(datatype as Classifiable, output.data) as ArrayLike<number | bigint>;
  const classes = Math.min(count, perEntry);
  const toText =
    datatype === 'FP32' || datatype === 'FP64' ? (value: number | bigint) => toFixed6(Number(value)) : String;
  const texts: string[] = [];
  let work = 0;
  for (let entry = 0; entry < batch; entry++) {
    const start = entry * perEntry;
    for (const index of yield* highest(values, start, perEntry, classes)) {
      const label = labels?.[index];
      const text = `${toText(values[start + index]!)}:${index}`;
      texts.push(label === undefined || label === '' ? text : `${text}:${label}`);
      if (texts.length % STEP_CLASSES === 0) yield;
    }
    work += perEntry;
    if (work < STEP_ELEMENTS) continue;
    work = 0;
    yield;
  }
  return { name, datatype: 'BYTES', shape: batched ? [batch, classes] : [classes], data: encodeBytes(texts) };
}

/** One class of a classification result. */
export interface Classification {
  /** The value as the server printed it. */
  readonly value: string;
  readonly index: number;
  /** Empty when the server has no label. */
  readonly label: string;
}

/** Takes `value:index` or `value:index:label` apart; a label may contain colons. Throws INVALID_ARG on anything else. */
export function parseClassification(text: string): Classification {
  const [, value, index, label] = /^([^:]*):(\d+)(?::(.*))?$/s.exec(text) ?? [];
  if (value === undefined || index === undefined) {
    throw invalidArg(
      `unexpected classification result '${text}', expecting <value>:<index> or <value>:<index>:<label>`,
    );
  }
  return { value, index: Number(index), label: label ?? '' };
}

/** Above this length equal values keep the order of their indexes: following Triton would block for too long. */
const MAX_SORTED = 100_000;

/**
 * Indexes (from `start`) of the highest elements, best first; NaN is lower than everything. Where equal values compete
 * for a rank, their order is that of the sort which Triton uses.
 */
function* highest(
  values: ArrayLike<number | bigint>,
  start: number,
  length: number,
  count: number,
): Steps<ArrayLike<number> & Iterable<number>> {
  const before = (a: number, b: number): boolean => {
    const x = values[start + a]!;
    const y = values[start + b]!;
    if (x > y) return true;
    if (x < y) return false;
    // biome-ignore lint/suspicious/noSelfCompare: NaN is the only value that differs from itself, and bigint has none
    return y !== y && x === x;
  };
  if (count === 0) return [];
  // One more than wanted, to see whether the last rank is contested.
  const best = yield* select(length, Math.min(count + 1, length), before);
  let tie = false;
  for (let i = 1; i < best.length && !tie; i++) tie = !before(best[i - 1]!, best[i]!);
  if (!tie || length > MAX_SORTED) return best.slice(0, count);
  const order = identity(length);
  introsort(order, before);
  return order.subarray(0, count);
}

/** The first `count` of the indexes in order, equal ones ascending. */
function* select(length: number, count: number, before: Before): Steps<readonly number[] | Uint32Array> {
  if (count > 64) return (yield* mergeSort(length, before)).subarray(0, count);
  const best: number[] = [];
  for (let from = 0; from < length; from += STEP_ELEMENTS) {
    if (from > 0) yield;
    selectFrom(from, Math.min(length, from + STEP_ELEMENTS), best, count, before);
  }
  return best;
}

// biome-ignore lint/complexity/useMaxParams: called per turn of a selection, an object for it would cost.
function selectFrom(from: number, end: number, best: number[], count: number, before: Before): void {
  for (let index = from; index < end; index++) {
    if (best.length === count && !before(index, best[count - 1]!)) continue;
    let place = Math.min(best.length, count - 1);
    for (; place > 0 && before(index, best[place - 1]!); place--) best[place] = best[place - 1]!;
    best[place] = index;
  }
}

/** All indexes in order, equal ones ascending. */
function* mergeSort(length: number, before: Before): Steps<Uint32Array> {
  let order = identity(length);
  const compare = (a: number, b: number): number => (before(a, b) ? -1 : before(b, a) ? 1 : a - b);
  for (let from = 0; from < length; from += STEP_CLASSES) {
    if (from > 0) yield;
    order.subarray(from, from + STEP_CLASSES).sort(compare);
  }
  let next: Uint32Array = new Uint32Array(length > STEP_CLASSES ? length : 0);
  for (let run = STEP_CLASSES; run < length; run *= 2) {
    for (let from = 0; from < length; from += run * 2) yield* merge(order, next, from, run, before);
    [order, next] = [next, order];
  }
  return order;
}

/** Merges two runs that lie one behind the other; those of the first go first where they are equal. */
// biome-ignore lint/complexity/useMaxParams: called per pair of runs that are merged, an object for it would cost.
function* merge(source: Uint32Array, target: Uint32Array, from: number, run: number, before: Before): Steps<void> {
  const middle = Math.min(from + run, source.length);
  const end = Math.min(from + run * 2, source.length);
  let left = from;
  let right = middle;
  for (let at = from; at < end; at++) {
    const takeRight = left === middle || (right < end && before(source[right]!, source[left]!));
    target[at] = source[takeRight ? right++ : left++]!;
    if (at % STEP_ELEMENTS === STEP_ELEMENTS - 1) yield;
  }
}

function identity(length: number): Uint32Array {
  const order = new Uint32Array(length);
  for (let i = 0; i < length; i++) order[i] = i;
  return order;
}
