import { ENTRY_OVERHEAD } from './dynamic-table.js';
import { type HeaderField, STATIC_TABLE } from './static-table.js';

/** Largest table that is used, whatever the peer offers: responses have few fields. */
const MAX_TABLE_SIZE = 4096;

const STATIC_FIELDS = new Map(STATIC_TABLE.map(([name, value], i) => [`${name}\0${value}`, i + 1]));
const STATIC_NAMES = new Map([...STATIC_TABLE.entries()].reverse().map(([i, [name]]) => [name, i + 1]));

/**
 * Encoder of HPACK header blocks (RFC 7541), for responses: strings are never Huffman-coded, and the table is filled with
 * fields that come again and again until it is full; nothing ever falls out of it. So an encoded block stays right until
 * `generation` changes, and callers may keep it.
 */
export class HpackEncoder {
  /** Changes whenever blocks that were made before must not be sent again. */
  generation = 0;
  #capacity = MAX_TABLE_SIZE;
  #size = 0;
  /** Entries by `name NUL value`: how many had been added before it. */
  readonly #entries = new Map<string, number>();
  /** A change of size that the next block must begin with. */
  #resized = false;

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. A smaller table is given up altogether. */
  setTableSize(size: number): void {
    if (size >= this.#capacity) return;
    this.#capacity = 0;
    this.#size = 0;
    this.#entries.clear();
    this.#resized = true;
    this.generation++;
  }

  /**
   * Encodes a header block. `repeated` fields are those worth an entry in the table.
   * The block must be sent, and before any that is made later.
   */
  encode(fields: readonly HeaderField[], repeated: ReadonlySet<HeaderField>): Uint8Array {
    const out = new BlockWriter(fields);
    if (this.#resized) {
      out.byte(0x20);
      this.#resized = false;
      this.generation++;
    }
    for (const field of fields) this.#field(out, field, repeated.has(field));
    return out.take();
  }

  #field(out: BlockWriter, field: HeaderField, repeated: boolean): void {
    const key = `${field[0]}\0${field[1]}`;
    const fixed = STATIC_FIELDS.get(key);
    if (fixed !== undefined) {
      out.integer(0x80, 7, fixed);
      return;
    }
    const order = this.#entries.get(key);
    if (order !== undefined) {
      out.integer(0x80, 7, STATIC_TABLE.length + this.#entries.size - order);
      return;
    }
    const size = field[0].length + field[1].length + ENTRY_OVERHEAD;
    const add = repeated && this.#size + size <= this.#capacity;
    const name = STATIC_NAMES.get(field[0]);
    if (name !== undefined) out.integer(add ? 0x40 : 0, add ? 6 : 4, name);
    else {
      out.byte(add ? 0x40 : 0);
      out.string(field[0]);
    }
    out.string(field[1]);
    if (!add) return;
    this.#entries.set(key, this.#entries.size);
    this.#size += size;
    this.generation++;
  }
}

/** Most bytes that a field has besides its name and value: three integers of up to five bytes. */
const FIELD_OVERHEAD = 15;

/** Writes into a buffer of its own that holds all fields however they are encoded. */
class BlockWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(fields: readonly HeaderField[]) {
    let size = 1;
    for (const [name, value] of fields) size += name.length + value.length + FIELD_OVERHEAD;
    this.#bytes = Buffer.allocUnsafe(size);
  }

  byte(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  /** RFC 7541 section 5.1. */
  integer(pattern: number, prefix: number, value: number): void {
    const mask = (1 << prefix) - 1;
    if (value < mask) {
      this.byte(pattern | value);
      return;
    }
    this.byte(pattern | mask);
    let rest = value - mask;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  string(text: string): void {
    this.integer(0, 7, text.length);
    this.#at += this.#bytes.write(text, this.#at, 'latin1');
  }

  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }
}
