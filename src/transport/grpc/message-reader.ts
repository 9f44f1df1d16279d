import { BodyBuffer } from '../body-buffer.js';

/** Flag and length before each message. */
const PREFIX_SIZE = 5;
/** Bytes of a message that are reserved before they have come: address space only, until they are written. */
const MAX_RESERVED = 8 * 1024 * 1024;

/** Why messages cannot be read on. */
export type MessageFault =
  | { readonly kind: 'flag'; readonly flag: number }
  | { readonly kind: 'size'; readonly size: number };

/** Takes the messages. */
export interface MessageSink {
  /** One message, still compressed if it came so. */
  onMessage(message: Uint8Array, compressed: boolean): void;
}

/**
 * Cuts the data of a stream into messages. A message that lies in one piece is handed on as a view; one that comes in
 * several is copied once, into a buffer of its size.
 */
export class MessageReader {
  readonly #maxSize: number;
  readonly #sink: MessageSink;
  /** Start of a prefix that was cut: its bytes so far. */
  #prefix: number[] = [];
  #body: BodyBuffer | undefined;
  #size = 0;
  #compressed = false;

  constructor(maxSize: number, sink: MessageSink) {
    this.#maxSize = maxSize;
    this.#sink = sink;
  }

  /** Whether a message has begun and is not complete. */
  get unfinished(): boolean {
    return this.#body !== undefined || this.#prefix.length > 0;
  }

  /** Reads `bytes[start, end)`. After a fault nothing more may be read. */
  push(bytes: Uint8Array, start: number, end: number): MessageFault | undefined {
    let at = start;
    while (at < end) {
      if (this.#body !== undefined) {
        const until = Math.min(end, at + this.#size - this.#body.length);
        this.#body.append(bytes, at, until, this.#size);
        at = until;
        if (this.#body.length === this.#size) {
          const message = this.#body.take();
          this.#body = undefined;
          this.#sink.onMessage(message, this.#compressed);
        }
        continue;
      }
      let flag: number;
      if (this.#prefix.length === 0 && end - at >= PREFIX_SIZE) {
        flag = bytes[at]!;
        this.#size = uint32(bytes, at + 1);
        at += PREFIX_SIZE;
      } else {
        this.#prefix.push(bytes[at++]!);
        if (this.#prefix.length < PREFIX_SIZE) continue;
        flag = this.#prefix[0]!;
        this.#size = uint32(this.#prefix, 1);
        this.#prefix = [];
      }
      if (flag > 1) return { kind: 'flag', flag };
      if (this.#size > this.#maxSize) return { kind: 'size', size: this.#size };
      this.#compressed = flag === 1;
      if (this.#size <= end - at) {
        const message = bytes.subarray(at, at + this.#size);
        at += this.#size;
        this.#sink.onMessage(message, this.#compressed);
      } else this.#body = new BodyBuffer(this.#size, MAX_RESERVED);
    }
    return undefined;
  }
}

function uint32(bytes: ArrayLike<number>, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}
