import { DynamicTable, ENTRY_OVERHEAD } from './dynamic-table.js';
import { decodeHuffman } from './huffman.js';
import { type HeaderField, STATIC_TABLE } from './static-table.js';

/** Largest number that is of any use here; a longer encoding is an error. */
const MAX_INTEGER = 0x0fff_ffff;

/** Result of a header block. */
export interface HeaderBlock {
  readonly fields: readonly HeaderField[];
  /** The list is larger than allowed; the fields beyond the limit are missing. */
  readonly tooLarge: boolean;
}

/**
 * Decoder of HPACK header blocks (RFC 7541). Both sides must process every block in order, also those of streams that
 * are refused.
 *
 * A client's calls differ little: after the first, a block mostly is the same few references into the table. The last
 * block is kept with its result, which holds as long as the table has not changed.
 */
export class HpackDecoder {
  readonly #maxTableSize: number;
  readonly #maxListSize: number;
  readonly #table: DynamicTable;
  #bytes!: Uint8Array;
  #at = 0;
  #end = 0;
  #lastBytes: Uint8Array = new Uint8Array(0);
  #lastBlock: HeaderBlock | undefined;
  #lastGeneration = -1;

  /** @param maxTableSize what our SETTINGS_HEADER_TABLE_SIZE says. @param maxListSize see `Http2Options.maxHeaderListSize`. */
  constructor(maxTableSize: number, maxListSize: number) {
    this.#maxTableSize = maxTableSize;
    this.#maxListSize = maxListSize;
    this.#table = new DynamicTable(maxTableSize);
  }

  /** Decodes `bytes[start, end)`. Undefined: a compression error, after which the connection cannot go on. */
  decode(bytes: Uint8Array, start: number, end: number): HeaderBlock | undefined {
    if (this.#lastGeneration === this.#table.generation && sameBytes(this.#lastBytes, bytes, start, end)) {
      return this.#lastBlock;
    }
    const generation = this.#table.generation;
    const block = this.#decode(bytes, start, end);
    if (block !== undefined && generation === this.#table.generation && end - start <= 1024) {
      this.#lastBytes = bytes.slice(start, end);
      this.#lastBlock = block;
      this.#lastGeneration = generation;
    }
    return block;
  }

  #decode(bytes: Uint8Array, start: number, end: number): HeaderBlock | undefined {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const fields: HeaderField[] = [];
    let size = 0;
    let updatesAllowed = true;
    while (this.#at < end) {
      const first = bytes[this.#at]!;
      let field: HeaderField | undefined;
      if ((first & 0x80) !== 0) field = this.#lookUp(this.#integer(7));
      else if ((first & 0x40) !== 0) {
        field = this.#literal(6);
        if (field !== undefined) this.#table.add(field);
      } else if ((first & 0x20) !== 0) {
        const capacity = this.#integer(5);
        if (!updatesAllowed || capacity < 0 || capacity > this.#maxTableSize) return undefined;
        this.#table.resize(capacity);
        continue;
      } else field = this.#literal(4);
      if (field === undefined) return undefined;
      updatesAllowed = false;
      size += field[0].length + field[1].length + ENTRY_OVERHEAD;
      if (size <= this.#maxListSize) fields.push(field);
    }
    return { fields, tooLarge: size > this.#maxListSize };
  }

  #lookUp(index: number): HeaderField | undefined {
    if (index <= 0) return undefined;
    return index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.#table.get(index - STATIC_TABLE.length - 1);
  }

  #literal(prefix: number): HeaderField | undefined {
    const index = this.#integer(prefix);
    if (index < 0) return undefined;
    const name = index === 0 ? this.#string() : this.#lookUp(index)?.[0];
    if (name === undefined) return undefined;
    const value = this.#string();
    return value === undefined ? undefined : [name, value];
  }

  #string(): string | undefined {
    if (this.#at >= this.#end) return undefined;
    const huffman = (this.#bytes[this.#at]! & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    if (length < 0 || start + length > this.#end) return undefined;
    this.#at = start + length;
    if (huffman) return decodeHuffman(this.#bytes, start, this.#at);
    return latin1Text(this.#bytes, start, this.#at);
  }

  /** RFC 7541 section 5.1; -1 if it does not end here or is too large. */
  #integer(prefix: number): number {
    if (this.#at >= this.#end) return -1;
    const mask = (1 << prefix) - 1;
    let value = this.#bytes[this.#at++]! & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 28; shift += 7) {
      if (this.#at >= this.#end) return -1;
      const byte = this.#bytes[this.#at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (value > MAX_INTEGER) return -1;
      if ((byte & 0x80) === 0) return value;
    }
    return -1;
  }
}

function latin1Text(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

function sameBytes(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const length = known.length;
  if (end - start !== length) return false;
  for (let i = 0; i < length; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}
