import type { Duplex } from 'node:stream';

/** Size of the buffers that small pieces are written into. */
const STAGE_SIZE = 64 * 1024;
/** Pieces up to this size are copied behind what was appended before; larger ones are kept as they are. */
const MAX_COPY = 16 * 1024;
/** Pieces that are together no larger than this are copied into one buffer: cheaper than handing several to the system. */
const JOIN_SIZE = 16 * 1024;
/** Bytes before the payload of an HTTP/2 frame (RFC 9113, section 4.1). */
const FRAME_HEADER_SIZE = 9;

/**
 * Where small pieces of all connections of this thread are written, one behind the other. What has been handed to a
 * socket is never written to again: when a stage is full, the next one is a new buffer.
 *
 * Nothing outside this file can reach a stage, because whoever can index it can write into what waits for another
 * connection. Every append takes its room, fills all of it and returns; so no byte is sent that nobody has written.
 */
let stage = Buffer.allocUnsafeSlow(STAGE_SIZE);
let staged = 0;

/** Writers that have something to send at the end of this turn of the event loop. */
let waiting: SocketWriter[] = [];

function flushWaiting(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) writer.flushContained();
}

/** What is between a socket and the system; Node keeps it to itself. */
interface Handle {
  readonly writeQueueSize?: number;
  readonly bytesWritten?: number;
  /** With TLS: the handle of the connection below. */
  readonly _parent?: Handle;
}

function handleOf(socket: Duplex): Handle | null | undefined {
  return (socket as Duplex & { readonly _handle?: Handle | null })._handle;
}

/**
 * Collects what is to be sent on a socket and hands it over in one write: at the end of the turn of the event loop, or
 * when `flush` is called. One system call then carries the responses of all requests that one read brought. After an
 * append the caller sees to it that `flush` or `schedule` follows.
 */
export class SocketWriter {
  readonly #socket: Duplex;
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** Open piece at the end, in the stage of its time: not yet in `#pieces`, because the next append may continue it. */
  #openStage = stage;
  #openStart = 0;
  #openEnd = 0;
  #scheduled = false;
  /** Bytes that the socket was given so far. */
  #handedOver = 0;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Bytes not yet taken by the system. */
  get backlog(): number {
    return this.#size + this.#socket.writableLength;
  }

  /** Changes whenever the system has taken something. */
  get progress(): number {
    const queued = handleOf(this.#socket)?.writeQueueSize ?? 0;
    return this.#handedOver - this.#socket.writableLength - queued + this.ciphertextSent;
  }

  /**
   * Bytes of TLS records that the system has taken; 0 without TLS. Node encrypts a large write at once and gives it to the
   * system piece by piece; neither the stream nor its timeout knows of these pieces.
   */
  get ciphertextSent(): number {
    const below = handleOf(this.#socket)?._parent;
    return (below?.bytesWritten ?? 0) - (below?.writeQueueSize ?? 0);
  }

  /** True while the socket asks to wait for its `drain` event. */
  get blocked(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Adds a piece as it is, without a copy; it must not be changed afterwards. */
  append(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#closePiece();
    this.#pieces.push(piece);
    this.#size += piece.length;
  }

  /** Adds pieces, as copies if they are small together; they must not be changed afterwards. */
  appendAll(pieces: readonly Uint8Array[]): void {
    const size = sizeOf(pieces);
    if (size > MAX_COPY) for (const piece of pieces) this.append(piece);
    else if (size > 0) {
      const at = this.#room(size);
      copyTo(stage, at, pieces);
    }
  }

  /** Adds text, one byte for each character. */
  appendLatin1(text: string): void {
    if (text.length > MAX_COPY) this.append(Buffer.from(text, 'latin1'));
    else if (text.length > 0) {
      const at = this.#room(text.length);
      stage.write(text, at, 'latin1');
    }
  }

  /**
   * Adds an HTTP/2 frame (RFC 9113, section 4.1): its header, and pieces of its payload as with `appendAll`. `more`:
   * bytes of the payload that the caller appends next. Cheaper than two appends: one room for header and payload.
   */
  // biome-ignore lint/complexity/useMaxParams: called per frame, an object for it would cost.
  appendFrame(type: number, flags: number, streamId: number, payload: readonly Uint8Array[], more = 0): void {
    const size = sizeOf(payload);
    const copied = size > MAX_COPY ? 0 : size;
    const at = this.#room(FRAME_HEADER_SIZE + copied);
    const length = size + more;
    stage[at] = length >>> 16;
    stage[at + 1] = length >>> 8;
    stage[at + 2] = length;
    stage[at + 3] = type;
    stage[at + 4] = flags;
    stage[at + 5] = streamId >>> 24;
    stage[at + 6] = streamId >>> 16;
    stage[at + 7] = streamId >>> 8;
    stage[at + 8] = streamId;
    if (copied > 0) copyTo(stage, at + FRAME_HEADER_SIZE, payload);
    else if (size > 0) for (const piece of payload) this.append(piece);
  }

  /** Adds a number as four bytes, the highest first. */
  appendUint32(value: number): void {
    const at = this.#room(4);
    stage.writeUInt32BE(value, at);
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
    this.#handedOver += size;
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

  /** Flushes; whatever goes wrong ends this connection, and the others are flushed too. */
  flushContained(): void {
    try {
      this.flush();
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  /**
   * Takes room for `size` bytes (at least 1, at most a frame header and MAX_COPY) behind what has been collected; returns
   * its offset in `stage`, which is another buffer now if the old one was full. The caller fills all of it at once.
   */
  #room(size: number): number {
    if (staged + size > STAGE_SIZE) {
      stage = Buffer.allocUnsafeSlow(STAGE_SIZE);
      staged = 0;
    }
    const at = staged;
    staged = at + size;
    this.#size += size;
    if (this.#openStage === stage && this.#openEnd === at && this.#openStart < at) {
      this.#openEnd = staged;
      return at;
    }
    this.#closePiece();
    this.#openStage = stage;
    this.#openStart = at;
    this.#openEnd = staged;
    return at;
  }

  #closePiece(): void {
    if (this.#openStart === this.#openEnd) return;
    this.#pieces.push(this.#openStage.subarray(this.#openStart, this.#openEnd));
    this.#openStart = this.#openEnd;
  }
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  let size = 0;
  for (const piece of pieces) size += piece.length;
  return size;
}

function copyTo(target: Uint8Array, offset: number, pieces: readonly Uint8Array[]): void {
  let at = offset;
  for (const piece of pieces) {
    target.set(piece, at);
    at += piece.length;
  }
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = Buffer.allocUnsafe(size);
  copyTo(whole, 0, pieces);
  return whole;
}
