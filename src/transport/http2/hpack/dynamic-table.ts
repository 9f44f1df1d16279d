import type { HeaderField } from './static-table.js';

/** Size of an entry beyond its name and value (RFC 7541, section 4.1). */
export const ENTRY_OVERHEAD = 32;

/**
 * Dynamic table of HPACK (RFC 7541, section 2.3.2): the newest entry has index 0 here, entries fall out at the other end.
 *
 *     ring:   . . D C B A . .      A is the oldest (at `first`), D the newest; index 0 is D, 3 is A
 */
export class DynamicTable {
  /** Grows with every change, so that results that depend on the table can be kept until it changes. */
  generation = 0;
  #ring: (HeaderField | undefined)[] = new Array(16);
  #first = 0;
  #count = 0;
  #size = 0;
  #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get count(): number {
    return this.#count;
  }

  get(index: number): HeaderField | undefined {
    if (index >= this.#count) return undefined;
    return this.#ring[(this.#first + this.#count - 1 - index) & (this.#ring.length - 1)];
  }

  add(field: HeaderField): void {
    this.generation++;
    const size = sizeOf(field);
    this.#evict(this.#capacity - size);
    // RFC 7541 section 4.4: an entry larger than the table empties it and is not kept.
    if (size > this.#capacity) return;
    if (this.#count === this.#ring.length) this.#grow();
    this.#ring[(this.#first + this.#count) & (this.#ring.length - 1)] = field;
    this.#count++;
    this.#size += size;
  }

  resize(capacity: number): void {
    this.generation++;
    this.#capacity = capacity;
    this.#evict(capacity);
  }

  #evict(limit: number): void {
    while (this.#count > 0 && this.#size > limit) {
      this.#size -= sizeOf(this.#ring[this.#first]!);
      this.#ring[this.#first] = undefined;
      this.#first = (this.#first + 1) & (this.#ring.length - 1);
      this.#count--;
    }
  }

  #grow(): void {
    const larger: (HeaderField | undefined)[] = new Array(this.#ring.length * 2);
    for (let i = 0; i < this.#count; i++) larger[i] = this.#ring[(this.#first + i) & (this.#ring.length - 1)];
    this.#ring = larger;
    this.#first = 0;
  }
}

function sizeOf(field: HeaderField): number {
  return field[0].length + field[1].length + ENTRY_OVERHEAD;
}
