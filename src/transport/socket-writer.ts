import type { Duplex } from 'node:stream';
import { slab } from './slab.js';

/** Pieces that are together no larger than this are copied into one buffer: cheaper than handing several to the system. */
const JOIN_SIZE = 32 * 1024;

/** Writers that have something to send at the end of this turn of the event loop. */
let waiting: SocketWriter[] = [];

function flushWaiting(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) writer.flush();
}

/**
 * Collects what is to be sent on a socket and hands it over in one write: at the end of the turn of the event loop, or
 * when `flush` is called. One system call then carries the answers of all requests that one read brought.
 */
export class SocketWriter {
  readonly #socket: Duplex;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #scheduled = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Bytes not yet taken by the system. */
  get backlog(): number {
    return this.#size + this.#socket.writableLength;
  }

  /** True while the socket asks to wait for its `drain` event. */
  get blocked(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Adds a piece; it must not be changed afterwards. The caller sees to it that `flush` or `schedule` follows. */
  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
  }

  /** Flushes at the end of this turn. */
  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (waiting.push(this) === 1) setImmediate(flushWaiting);
  }

  flush(): void {
    this.#scheduled = false;
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    const size = this.#size;
    this.#pieces = [];
    this.#size = 0;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (pieces.length === 1) {
      socket.write(pieces[0]!);
      return;
    }
    if (size <= JOIN_SIZE) {
      const joined = slab.take(size);
      let at = 0;
      for (const piece of pieces) {
        joined.set(piece, at);
        at += piece.length;
      }
      socket.write(joined);
      return;
    }
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
  }
}
