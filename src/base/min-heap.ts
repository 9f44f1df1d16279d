/**
 * A binary heap: the smallest element is always at hand. `push` and `shift` take logarithmic time.
 *
 *   element i is not larger than its children 2i + 1 and 2i + 2
 */
export class MinHeap<T> {
  readonly #rank: (item: T) => number;
  #items: T[] = [];

  /** `rank`: by which elements are compared; it must not change while an element is in the heap. */
  constructor(rank: (item: T) => number) {
    this.#rank = rank;
  }

  get length(): number {
    return this.#items.length;
  }

  /** The smallest; undefined when there is none. */
  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    items.push(item);
    this.#rise(items.length - 1);
  }

  /** Takes the smallest. */
  shift(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0) {
      items[0] = last as T;
      this.#sink(0);
    }
    return first;
  }

  /** Drops all that are not wanted any more. Linear. */
  keep(wanted: (item: T) => boolean): void {
    this.#items = this.#items.filter(wanted);
    for (let i = (this.#items.length >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  #rise(from: number): void {
    const items = this.#items;
    for (let i = from; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (this.#rank(items[parent] as T) <= this.#rank(items[i] as T)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  #sink(from: number): void {
    const items = this.#items;
    for (let i = from; ; ) {
      const left = 2 * i + 1;
      const right = left + 1;
      let least = i;
      if (left < items.length && this.#rank(items[left] as T) < this.#rank(items[least] as T)) least = left;
      if (right < items.length && this.#rank(items[right] as T) < this.#rank(items[least] as T)) least = right;
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #swap(i: number, k: number): void {
    const items = this.#items;
    const item = items[i] as T;
    items[i] = items[k] as T;
    items[k] = item;
  }
}
