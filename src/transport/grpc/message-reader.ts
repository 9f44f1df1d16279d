import { BodyBuffer } from '../body-buffer.js';

/** Flag and length before each message. */
const PREFIX_SIZE = 5;
/**
 * Bytes of a message that are reserved before they have come; from there on the buffer grows with what comes. A peer that
 * only announces large messages, on thousands of streams, makes us reserve little.
 */
const MAX_RESERVED = 64 * 1024;
/** How many times what has come is reserved then: a message of 4 MB is copied once, but for its first 64 KB. */
const GROWTH = 64;

/** Why messages cannot be read on. */
export type MessageFault =
  | { readonly kind: 'flag'; readonly flag: number }
  | { readonly kind: 'size'; readonly size: number };

/**
 * Cuts the data of a stream into messages, one at a time. A message that lies in one piece is handed on as a view; one
 * that comes in several is copied once, into a buffer of its own.
 */
export class MessageReader {
  /** The message that the last `read` has completed, still compressed if it came so (`compressed`). */
  message: Uint8Array | undefined;
  compressed = false;
  /** Why nothing more may be read. */
  fault: MessageFault | undefined;
  readonly #maxSize: number;
  /** Start of a prefix that was cut: its bytes so far. */
  #prefix: number[] = [];
  #body: BodyBuffer | undefined;
  #size = 0;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** Whether a message has begun and is not complete. */
  get unfinished(): boolean {
    return this.#body !== undefined || this.#prefix.length > 0;
  }

  /** Reads from `bytes[start, end)` to the end of a message or of the bytes; returns where it stopped. */
  read(bytes: Uint8Array, start: number, end: number): number {
    this.message = undefined;
    let at = start;
    if (this.#body === undefined) {
      at = this.#readPrefix(bytes, at, end);
      if (at < 0) return end;
      if (this.#size <= end - at) {
        this.message = bytes.subarray(at, at + this.#size);
        return at + this.#size;
      }
      this.#body = new BodyBuffer(this.#size, MAX_RESERVED, GROWTH);
    }
    const until = Math.min(end, at + this.#size - this.#body.length);
    this.#body.append(bytes, at, until, this.#size);
    if (this.#body.length === this.#size) {
      this.message = this.#body.take();
      this.#body = undefined;
    }
    return until;
  }

  /** Reads what precedes a message; returns where it ends, -1 if it is not complete or wrong. */
  #readPrefix(bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    let prefix: ArrayLike<number> = bytes;
    let from = start;
    if (this.#prefix.length === 0 && end - start >= PREFIX_SIZE) at += PREFIX_SIZE;
    else {
      while (this.#prefix.length < PREFIX_SIZE && at < end) this.#prefix.push(bytes[at++]!);
      if (this.#prefix.length < PREFIX_SIZE) return -1;
      prefix = this.#prefix;
      from = 0;
      this.#prefix = [];
    }
    const flag = prefix[from]!;
    this.compressed = flag === 1;
    this.#size = uint32(prefix, from + 1);
    if (flag > 1) this.fault = { kind: 'flag', flag };
    else if (this.#size > this.#maxSize) this.fault = { kind: 'size', size: this.#size };
    return this.fault === undefined ? at : -1;
  }
}

function uint32(bytes: ArrayLike<number>, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}
