import type { Duplex } from 'node:stream';

/** Size of the buffers that small pieces are written into. */
const STAGE_SIZE = 64 * 1024;
/** Largest piece that `reserve` takes. */
export const MAX_RESERVE = 16 * 1024;
/** Pieces that are together no larger than this are copied into one buffer: cheaper than handing several to the system. */
const JOIN_SIZE = 16 * 1024;

/**
 * Where small pieces of all connections of this thread are written, one behind the other. What has been handed to a
 * socket is never written to again: when a stage is full, the next one is a new buffer.
 */
let stage = Buffer.allocUnsafeSlow(STAGE_SIZE);
let staged = 0;

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
  /** The buffer that the last `reserve` has made room in. */
  stage: Buffer = stage;
  readonly #socket: Duplex;
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** Open piece at the end, in `stage`: not yet in `#pieces`, because the next `reserve` may continue it. */
  #openStart = 0;
  #openEnd = 0;
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

  /**
   * Makes room for `size` bytes (up to MAX_RESERVE) behind what has been collected, and returns their offset in `stage`.
   * The caller fills all of them before anything else happens.
   */
  reserve(size: number): number {
    if (staged + size > STAGE_SIZE) {
      stage = Buffer.allocUnsafeSlow(STAGE_SIZE);
      staged = 0;
    }
    const at = staged;
    staged = at + size;
    this.#size += size;
    if (this.stage === stage && this.#openEnd === at && this.#openStart < at) {
      this.#openEnd = staged;
      return at;
    }
    this.#closePiece();
    this.stage = stage;
    this.#openStart = at;
    this.#openEnd = staged;
    return at;
  }

  /** Adds a piece; it must not be changed afterwards. The caller sees to it that `flush` or `schedule` follows. */
  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#closePiece();
    this.#pieces.push(piece);
    this.#size += piece.length;
  }

  /** Adds text, one byte for each character. */
  pushLatin1(text: string): void {
    if (text.length > MAX_RESERVE) this.push(Buffer.from(text, 'latin1'));
    else {
      const at = this.reserve(text.length);
      this.stage.write(text, at, 'latin1');
    }
  }

  /** Flushes at the end of this turn. */
  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (waiting.push(this) === 1) setImmediate(flushWaiting);
  }

  flush(): void {
    this.#scheduled = false;
    const size = this.#size;
    if (size === 0) return;
    this.#closePiece();
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (pieces.length === 1) {
      socket.write(pieces[0]!);
      return;
    }
    if (size <= JOIN_SIZE) {
      socket.write(joined(pieces, size));
      return;
    }
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
  }

  #closePiece(): void {
    if (this.#openStart === this.#openEnd) return;
    this.#pieces.push(this.stage.subarray(this.#openStart, this.#openEnd));
    this.#openStart = this.#openEnd;
  }
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
