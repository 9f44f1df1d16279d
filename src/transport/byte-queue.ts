import { PIECE_OVERHEAD } from './send-account.js';

/** What is added at once is copied up to this size, so that small pieces cost no more memory than their bytes. */
const COPY_SIZE = 4096;
/** Sizes of the blocks that copies are put into: the first one, and the largest. */
const FIRST_BLOCK = 1024;
const MAX_BLOCK = 16 * 1024;
/** Pieces that have been read are cut off the list when there are more of them than this, and than of the others. */
const MIN_CUT = 64;

const NOTHING = new Uint8Array(0);

/** Bytes that wait, in the pieces in which they came or in copies of small ones. Every operation takes constant time. */
export class ByteQueue {
  #size = 0;
  #pieces: Uint8Array[] = [];
  /** Index of the first piece that is not read, and how many bytes of it are. */
  #head = 0;
  #offset = 0;
  /** Where the last piece lies, if it is a copy; bytes used of it, and where in it that piece begins. */
  #block: Buffer | undefined;
  #used = 0;
  #start = 0;

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  /** About what they cost: with the room left in the last block, and what each piece needs for itself. */
  get memory(): number {
    const spare = this.#block === undefined ? 0 : this.#block.length - this.#used;
    return this.#size + spare + (this.#pieces.length - this.#head) * PIECE_OVERHEAD;
  }

  /** Adds pieces, `size` bytes together; they must not be changed afterwards. */
  add(pieces: readonly Uint8Array[], size: number): void {
    if (size === 0) return;
    if (size <= COPY_SIZE) this.#copy(pieces, size);
    else {
      this.#block = undefined;
      for (const piece of pieces) if (piece.length > 0) this.#pieces.push(piece);
    }
    this.#size += size;
  }

  /** The next bytes that lie together, empty if there are none. They stay. */
  peek(): Uint8Array {
    const piece = this.#pieces[this.#head];
    if (piece === undefined) return NOTHING;
    return this.#offset === 0 ? piece : piece.subarray(this.#offset);
  }

  /** So many bytes of what `peek` gave are done with. */
  drop(count: number): void {
    this.#size -= count;
    this.#offset += count;
    const piece = this.#pieces[this.#head];
    if (piece === undefined || this.#offset < piece.length) return;
    this.#pieces[this.#head] = NOTHING;
    this.#head++;
    this.#offset = 0;
    if (this.#size === 0) this.clear();
    else if (this.#head > MIN_CUT && this.#head * 2 > this.#pieces.length) {
      this.#pieces.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /** Takes the next bytes that lie together, at most `max`. */
  take(max: number): Uint8Array {
    const next = this.peek();
    const bytes = next.length <= max ? next : next.subarray(0, max);
    this.drop(bytes.length);
    return bytes;
  }

  /** Drops everything. */
  clear(): void {
    this.#size = 0;
    if (this.#pieces.length > 0) this.#pieces = [];
    this.#head = 0;
    this.#offset = 0;
    this.#block = undefined;
  }

  #copy(pieces: readonly Uint8Array[], size: number): void {
    let block = this.#block;
    if (block === undefined || block.length - this.#used < size) {
      block = Buffer.allocUnsafeSlow(Math.max(size, Math.min(MAX_BLOCK, (block?.length ?? FIRST_BLOCK / 2) * 2)));
      this.#block = block;
      this.#used = 0;
      this.#start = 0;
      this.#pieces.push(NOTHING);
    }
    for (const piece of pieces) {
      block.set(piece, this.#used);
      this.#used += piece.length;
    }
    // What was handed out of the block lies before what is added now and is not written to again.
    this.#pieces[this.#pieces.length - 1] = block.subarray(this.#start, this.#used);
  }
}
