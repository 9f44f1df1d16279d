/** Slots up to which a ring never gets smaller. */
const LARGE = 1024;

/**
 * A first-in-first-out queue on a circular array: no element moves when one is taken.
 *
 *        head            tail (= head + length)
 *          v               v
 *    [ . . a b c d e f g h . . . . . . ]   capacity is a power of two; indexes wrap with a mask
 */
export class Ring<T> {
  #items: (T | undefined)[] = new Array(16);
  #mask = 15;
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends. */
  push(item: T): void {
    if (this.#length > this.#mask) this.#resize(2 * this.#items.length);
    this.#items[(this.#head + this.#length) & this.#mask] = item;
    this.#length++;
  }

  /** Takes the oldest. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & this.#mask;
    this.#length--;
    // A queue that was long once gives its memory back.
    if (this.#mask >= LARGE && this.#length < this.#mask >> 2) this.#resize(this.#items.length >> 1);
    return item;
  }

  /** The element at a distance from the oldest. */
  at(index: number): T | undefined {
    return index < this.#length ? this.#items[(this.#head + index) & this.#mask] : undefined;
  }

  #resize(capacity: number): void {
    const items: (T | undefined)[] = new Array(capacity);
    for (let i = 0; i < this.#length; i++) items[i] = this.#items[(this.#head + i) & this.#mask];
    this.#items = items;
    this.#mask = capacity - 1;
    this.#head = 0;
  }
}
