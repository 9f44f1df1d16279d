import type { TritonError } from '../../../base/error.js';
import type { GrpcCall } from '../../../transport/grpc/grpc-api.js';
import { PIECE_OVERHEAD } from '../../../transport/send-account.js';
import { StreamBacklog } from '../../infer/stream-backlog.js';

/** The turn of one request's messages in the order of the stream. */
export interface Slot {
  /** Messages that wait for earlier slots. */
  waiting: (readonly Uint8Array[])[];
  done: boolean;
  /** The slot behind it. */
  next: Slot | undefined;
}

/** Bytes that wait for earlier responses of their stream, from which on no more requests are read. */
const MAX_OUT_OF_ORDER = 16 * 1024 * 1024;

/**
 * The messages of one stream in the order of its requests: each request has a slot, the first slot writes at once, the others
 * collect. Messages without a slot leave as they come. While much waits, no requests are read.
 */
export class OrderedMessages {
  readonly #call: GrpcCall;
  readonly #backlog: StreamBacklog;
  readonly #onTooSlow: (error: TritonError) => void;
  /** The slots in the order of the requests: a list, because there may be any number of them. */
  #first: Slot | undefined;
  #last: Slot | undefined;
  /** Bytes of messages that wait in slots, and whether requests are not read because of them, or of a slow client. */
  #outOfOrder = 0;
  #waitsForOrder = false;
  #waitsForClient = false;
  #ended = false;

  /** `maxBacklog`: bytes that may wait for the client, 0 = any number; beyond them `onTooSlow` has to end the stream. */
  constructor(call: GrpcCall, maxBacklog: number, onTooSlow: (error: TritonError) => void) {
    this.#call = call;
    this.#backlog = new StreamBacklog(maxBacklog);
    this.#onTooSlow = onTooSlow;
  }

  /** A slot behind all others. */
  addSlot(): Slot {
    const slot: Slot = { waiting: [], done: false, next: undefined };
    if (this.#last === undefined) this.#first = slot;
    else this.#last.next = slot;
    this.#last = slot;
    return slot;
  }

  /** Sends a message when it is its slot's turn; at once without a slot. */
  write(slot: Slot | undefined, chunks: readonly Uint8Array[]): void {
    if (slot === undefined || slot === this.#first) {
      this.#send(chunks);
      return;
    }
    slot.waiting.push(chunks);
    this.#outOfOrder += memoryOf(chunks);
    if (this.#outOfOrder > MAX_OUT_OF_ORDER) this.#waitsForOrder = true;
    this.#regulate();
  }

  /** Nothing more will be written to the slot. */
  finish(slot: Slot): void {
    slot.done = true;
    while (this.#first?.done === true) {
      const next: Slot | undefined = this.#first.next;
      this.#first = next;
      if (next === undefined) this.#last = undefined;
      else {
        for (const chunks of next.waiting) {
          this.#outOfOrder -= memoryOf(chunks);
          this.#send(chunks);
        }
        next.waiting = [];
      }
    }
    if (this.#outOfOrder <= MAX_OUT_OF_ORDER / 2) this.#waitsForOrder = false;
    this.#regulate();
  }

  /** The stream has ended: nothing is sent any more. */
  end(): void {
    this.#ended = true;
    this.#first = undefined;
    this.#last = undefined;
  }

  /** A peer that reads slowly is no longer read from until it has caught up. */
  #send(chunks: readonly Uint8Array[]): void {
    if (this.#ended || this.#call.send(chunks)) return;
    if (this.#backlog.empty) {
      this.#waitsForClient = true;
      this.#regulate();
      this.#call.onDrain(() => {
        this.#backlog.clear();
        this.#waitsForClient = false;
        this.#regulate();
      });
    }
    const tooSlow = this.#backlog.add(memoryOf(chunks));
    if (tooSlow !== undefined) this.#onTooSlow(tooSlow);
  }

  /** Reads requests only while nothing piles up. */
  #regulate(): void {
    if (this.#waitsForClient || this.#waitsForOrder) this.#call.pause();
    else this.#call.resume();
  }
}

/** What a message costs while it waits: its bytes, and the objects around them. */
function memoryOf(chunks: readonly Uint8Array[]): number {
  let size = PIECE_OVERHEAD;
  for (const { length } of chunks) size += length;
  return size;
}
