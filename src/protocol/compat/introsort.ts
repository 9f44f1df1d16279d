/**
 * Sorting as C++'s `std::sort` of GNU's library does it. The result differs from any other sort only in the order of
 * equal elements, which that sort leaves to its algorithm: Triton's classification results show it, so it
 * is followed step by step (median of three, partition, insertion sort of what is short, heap sort when too deep).
 */

/** True when element `a` belongs before element `b`. Must be a strict weak order. */
export type Before = (a: number, b: number) => boolean;

/** Ranges up to this length are left to the insertion sort at the end. */
const SHORT = 16;

/** Sorts indexes in place. */
export function introsort(items: Uint32Array, before: Before): void {
  const count = items.length;
  if (count < 2) return;
  sortLong(items, 0, count, 2 * Math.floor(Math.log2(count)), before);
  const guarded = Math.min(count, SHORT);
  for (let i = 1; i < guarded; i++) {
    if (before(items[i]!, items[0]!)) {
      const item = items[i]!;
      items.copyWithin(1, 0, i);
      items[0] = item;
    } else insert(items, i, before);
  }
  for (let i = guarded; i < count; i++) insert(items, i, before);
}

// biome-ignore lint/complexity/useMaxParams: called per partition, an object for it would cost.
function sortLong(items: Uint32Array, first: number, end: number, depth: number, before: Before): void {
  let last = end;
  let left = depth;
  while (last - first > SHORT) {
    if (left-- === 0) {
      heapSort(items, first, last, before);
      return;
    }
    medianToFirst(items, first, first + ((last - first) >> 1), last - 1, before);
    const cut = partition(items, first, last, before);
    sortLong(items, cut, last, left, before);
    last = cut;
  }
}

/** Swaps the median of the second, the middle and the last element to the front, where it is the pivot. */
// biome-ignore lint/complexity/useMaxParams: called per partition, an object for it would cost.
function medianToFirst(items: Uint32Array, first: number, middle: number, last: number, before: Before): void {
  const second = first + 1;
  const [a, b, c] = [items[second]!, items[middle]!, items[last]!];
  let median: number;
  if (before(a, b)) median = before(b, c) ? middle : before(a, c) ? last : second;
  else median = before(a, c) ? second : before(b, c) ? last : middle;
  swap(items, first, median);
}

/** Divides what follows the pivot; the median of three makes both inner loops end. */
function partition(items: Uint32Array, pivotAt: number, end: number, before: Before): number {
  const pivot = items[pivotAt]!;
  let low = pivotAt + 1;
  let high = end;
  for (;;) {
    while (before(items[low]!, pivot)) low++;
    high--;
    while (before(pivot, items[high]!)) high--;
    if (low >= high) return low;
    swap(items, low, high);
    low++;
  }
}

/** Moves an element down to its position; one that does not belong before it is known to stand further down. */
function insert(items: Uint32Array, from: number, before: Before): void {
  const item = items[from]!;
  let at = from;
  while (before(item, items[at - 1]!)) {
    items[at] = items[at - 1]!;
    at--;
  }
  items[at] = item;
}

function heapSort(items: Uint32Array, first: number, end: number, before: Before): void {
  const heap = items.subarray(first, end);
  for (let parent = (heap.length - 2) >> 1; parent >= 0; parent--)
    sift(heap, parent, heap.length, heap[parent]!, before);
  for (let last = heap.length - 1; last > 0; last--) {
    const item = heap[last]!;
    heap[last] = heap[0]!;
    sift(heap, 0, last, item, before);
  }
}

/** Lets a hole sink to the bottom of the heap, then lets the item rise from there. */
// biome-ignore lint/complexity/useMaxParams: called per element, an object for it would cost.
function sift(heap: Uint32Array, top: number, length: number, item: number, before: Before): void {
  let hole = top;
  let child = top;
  while (child < (length - 1) >> 1) {
    child = 2 * (child + 1);
    if (before(heap[child]!, heap[child - 1]!)) child--;
    heap[hole] = heap[child]!;
    hole = child;
  }
  if (length % 2 === 0 && child === (length - 2) >> 1) {
    child = 2 * child + 1;
    heap[hole] = heap[child]!;
    hole = child;
  }
  for (let parent = (hole - 1) >> 1; hole > top && before(heap[parent]!, item); parent = (hole - 1) >> 1) {
    heap[hole] = heap[parent]!;
    hole = parent;
  }
  heap[hole] = item;
}

function swap(items: Uint32Array, a: number, b: number): void {
  const item = items[a]!;
  items[a] = items[b]!;
  items[b] = item;
}
