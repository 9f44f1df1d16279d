import type { HuffmanTable, JpegScan } from './jpeg-file.js';

/** Samples of a block in each direction. */
const BLOCK = 8;

/**
 * Rows of pixels that libjpeg delivers of a scan that is cut short: those of the complete rows of coding units, without
 * the last ones that wait for rows below, where colour is enlarged vertically with a filter. Found by reading the codes.
 */
export function rowsOfCutScan(file: Uint8Array, scan: JpegScan): number {
  const { components } = scan;
  const single = components.length === 1;
  const maxAcross = Math.max(...components.map((c) => c.across));
  const maxDown = Math.max(...components.map((c) => c.down));
  const unitRows = Math.ceil(scan.height / (BLOCK * maxDown));
  // A lone component is coded block by block, whatever its sampling factors say.
  const unitsPerRow = single ? Math.ceil(scan.width / BLOCK) * maxDown : Math.ceil(scan.width / (BLOCK * maxAcross));
  const blocks = single ? [0] : components.flatMap((c, i) => new Array<number>(c.across * c.down).fill(i));
  const complete = Math.floor(countUnits(file, scan, blocks, unitRows * unitsPerRow) / unitsPerRow);
  if (complete >= unitRows) return scan.height;
  const filtered = components.some(
    (c) => c.down * 2 === maxDown && (c.across === maxAcross || c.across * 2 === maxAcross),
  );
  return Math.max(0, complete * BLOCK * maxDown - (filtered ? maxDown : 0));
}

/** Coding units that are there to their last bit. `blocks`: component of each block of a unit. */
function countUnits(file: Uint8Array, scan: JpegScan, blocks: readonly number[], limit: number): number {
  const tables = scan.tables.map(({ dc, ac }) => ({ dc: new HuffmanReader(dc), ac: new HuffmanReader(ac) }));
  const bits = new ScanBits(file, scan.dataStart);
  for (let unit = 0; unit < limit; unit++) {
    if (scan.restartInterval > 0 && unit > 0 && unit % scan.restartInterval === 0) bits.skipRestart();
    for (const component of blocks) {
      const { dc, ac } = tables[component] as { dc: HuffmanReader; ac: HuffmanReader };
      if (!skipBlock(bits, dc, ac)) return unit;
    }
  }
  return limit;
}

/** Passes over the codes of one block; false when the data end within it. */
function skipBlock(bits: ScanBits, dc: HuffmanReader, ac: HuffmanReader): boolean {
  const size = dc.read(bits);
  if (size < 0 || !bits.skip(size)) return false;
  for (let k = 1; k < BLOCK * BLOCK; k++) {
    const symbol = ac.read(bits);
    if (symbol < 0) return false;
    const length = symbol & 15;
    if (length === 0) {
      if (symbol >> 4 !== 15) return true; // end of block
      k += 15;
    } else {
      k += symbol >> 4;
      if (!bits.skip(length)) return false;
    }
  }
  return true;
}

/** The bits of a scan, without the stuffed zero bytes. */
class ScanBits {
  readonly #file: Uint8Array;
  #at: number;
  #byte = 0;
  #left = 0;

  constructor(file: Uint8Array, start: number) {
    this.#file = file;
    this.#at = start;
  }

  /** The next bit; -1 at the end of the data. */
  next(): number {
    if (this.#left === 0) {
      if (this.#at >= this.#file.length) return -1;
      this.#byte = this.#file[this.#at++] as number;
      if (this.#byte === 0xff) {
        if (this.#file[this.#at] !== 0) return -1;
        this.#at++;
      }
      this.#left = 8;
    }
    return (this.#byte >> --this.#left) & 1;
  }

  skip(count: number): boolean {
    for (let i = 0; i < count; i++) if (this.next() < 0) return false;
    return true;
  }

  /** Drops the rest of the byte and the restart marker. */
  skipRestart(): void {
    this.#left = 0;
    while (this.#file[this.#at] === 0xff && this.#file[this.#at + 1] === 0xff) this.#at++;
    this.#at += 2;
  }
}

/** Reads codes bit by bit: codes of one length are consecutive numbers. */
class HuffmanReader {
  readonly #table: HuffmanTable;

  constructor(table: HuffmanTable) {
    this.#table = table;
  }

  /** The next symbol; -1 at the end of the data or for a code that does not exist. */
  read(bits: ScanBits): number {
    const { counts, symbols } = this.#table;
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 0; length < 16; length++) {
      const bit = bits.next();
      if (bit < 0) return -1;
      code = (code << 1) | bit;
      const count = counts[length] as number;
      if (code - first < count) return symbols[index + code - first] ?? -1;
      index += count;
      first = (first + count) << 1;
    }
    return -1;
  }
}
