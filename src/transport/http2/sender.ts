import type { SendAccount } from '../send-account.js';
import type { SocketWriter } from '../socket-writer.js';
import { HpackEncoder } from './hpack/encoder.js';
import type { HeaderSource } from './http2-api.js';
import { Flag, FrameType, INITIAL_WINDOW, MAX_WINDOW, MIN_FRAME_SIZE } from './protocol.js';
import type { Stream } from './stream.js';

/** Data is handed to the socket as long as less than this waits there; the rest stays with its stream, where it can be dropped. */
const SOCKET_AHEAD = 512 * 1024;
/** Data up to this size is copied behind its frame header. */
const COPY_SIZE = 4096;

const NOTHING: readonly Uint8Array[] = [];

/** What a sender needs of its connection. */
export interface SenderOptions {
  /** Bytes of one stream waiting to be sent from which on it asks its writer to wait. */
  readonly writeHighWater: number;
  /** Bytes of memory that data may take while it waits for the peer's windows, on all streams together. */
  readonly maxSendQueue: number;
}

/**
 * Writes frames, and keeps data back as the peer's windows and the socket demand. Streams with data take turns.
 *
 * A stream's window is the peer's setting for new streams plus what has happened on the stream. So a change of that
 * setting, of which one frame may hold thousands, costs no look at the streams; `settle` looks once for all of them.
 */
export class Sender {
  readonly encoder = new HpackEncoder();
  /** Bytes of data that the peer accepts on the connection. */
  window = INITIAL_WINDOW;
  /** What the peer's settings say. */
  initialStreamWindow = INITIAL_WINDOW;
  maxFrameSize = MIN_FRAME_SIZE;
  /** Counts frames of responses: a sign that the connection is of use. */
  answered = 0;
  /** Memory of the data that waits for windows, on all streams. */
  queued = 0;
  /** Counted up by the connection's timer, to see what makes progress. */
  tick = 0;

  readonly #writer: SocketWriter;
  readonly #options: SenderOptions;
  readonly #account: SendAccount;
  readonly #onEnded: (stream: Stream) => void;
  /** Streams with data and an open window, in the order of their turns. */
  readonly #ready = new Set<Stream>();

  constructor(writer: SocketWriter, options: SenderOptions, account: SendAccount, onEnded: (stream: Stream) => void) {
    this.#writer = writer;
    this.#options = options;
    this.#account = account;
    this.#onEnded = onEnded;
  }

  /** Whether that many more bytes may wait for the peer. One response alone may always, as far as the process has room. */
  admits(size: number): boolean {
    if (this.queued === 0 && size <= COPY_SIZE) return true;
    if (this.full || (this.queued > 0 && this.queued + size > this.#options.maxSendQueue)) return false;
    return this.#account.admits(size);
  }

  /** So much waits that nothing more should be begun. */
  get full(): boolean {
    return this.queued >= this.#options.maxSendQueue;
  }

  /** Writes a whole frame with a small payload. */
  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.#writer.appendFrame(type, flags, streamId, [payload]);
  }

  /** Writes a frame whose payload is one 32-bit number: RST_STREAM, WINDOW_UPDATE. */
  numberFrame(type: number, streamId: number, value: number): void {
    // A window that is given back shows that data came: as in gRPC's own servers, that makes a ping welcome.
    if (type === FrameType.WINDOW_UPDATE) this.answered++;
    this.#writer.appendFrame(type, 0, streamId, NOTHING, 4);
    this.#writer.appendUint32(value);
  }

  headers(stream: Stream, source: HeaderSource, end: boolean): void {
    if (stream.closed || stream.localEnded || stream.trailers !== undefined) return;
    if (end && stream.queue.size > 0) {
      stream.trailers = source;
      return;
    }
    this.answered++;
    if (end) this.#finish(stream, source);
    else this.#headerBlock(stream.id, source(this.encoder), false);
  }

  end(stream: Stream): void {
    if (stream.closed || stream.localEnded || stream.trailers !== undefined) return;
    this.answered++;
    if (stream.queue.size > 0) stream.trailers = 'none';
    else this.#finish(stream, 'none');
  }

  data(stream: Stream, pieces: readonly Uint8Array[], size: number): boolean {
    if (stream.closed || stream.localEnded || stream.trailers !== undefined || size === 0) return true;
    this.answered++;
    if (
      size <= COPY_SIZE &&
      stream.queue.size === 0 &&
      size <= this.#windowOf(stream) &&
      size <= this.window &&
      this.#writer.backlog < SOCKET_AHEAD
    ) {
      this.#smallData(stream, pieces, size);
      return true;
    }
    const { queue } = stream;
    if (queue.size === 0) stream.sentAt = this.tick;
    const before = queue.memory;
    queue.add(pieces, size);
    this.queued += queue.memory - before;
    if (this.#windowOf(stream) > 0) this.#ready.add(stream);
    this.pump();
    this.count();
    if (queue.size < this.#options.writeHighWater) return true;
    stream.waiting = true;
    return false;
  }

  /** Sends waiting data as far as windows and socket allow. */
  pump(): void {
    for (const stream of this.#ready) {
      if (this.window <= 0 || this.#writer.backlog >= SOCKET_AHEAD) return;
      // Taken out and put in again behind the others (a Set is iterated in the order of insertion, also while it changes).
      this.#ready.delete(stream);
      const window = this.#windowOf(stream);
      if (window <= 0) continue;
      this.#dataFrame(stream, window);
      if (stream.queue.size > 0) {
        if (this.#windowOf(stream) > 0) this.#ready.add(stream);
      } else if (stream.trailers !== undefined) {
        this.#finish(stream, stream.trailers);
        continue;
      }
      if (stream.waiting && stream.queue.size < this.#options.writeHighWater) {
        stream.waiting = false;
        stream.listener.onWritable();
      }
    }
  }

  /** Reports to the memory budget how much waits for this peer. */
  count(): void {
    this.#account.set(this.queued + this.#writer.backlog);
  }

  /** Widens a stream's window. False: beyond what the protocol allows. */
  widenStream(stream: Stream, by: number): boolean {
    stream.sendDelta += by;
    return this.settle(stream);
  }

  /** A stream's window may have changed. False: it is beyond what the protocol allows. */
  settle(stream: Stream): boolean {
    const window = this.#windowOf(stream);
    if (window > MAX_WINDOW) return false;
    if (window > 0 && stream.queue.size > 0) this.#ready.add(stream);
    return true;
  }

  /** Drops what waits on a stream. */
  forget(stream: Stream): void {
    this.#ready.delete(stream);
    this.queued -= stream.queue.memory;
    stream.queue.clear();
    stream.trailers = undefined;
  }

  #windowOf(stream: Stream): number {
    return this.initialStreamWindow + stream.sendDelta;
  }

  /** Writes the last frame of a stream. */
  #finish(stream: Stream, end: HeaderSource | 'none'): void {
    if (end === 'none') this.#writer.appendFrame(FrameType.DATA, Flag.END_STREAM, stream.id, NOTHING);
    else this.#headerBlock(stream.id, end(this.encoder), true);
    stream.trailers = undefined;
    stream.localEnded = true;
    this.#onEnded(stream);
  }

  #smallData(stream: Stream, pieces: readonly Uint8Array[], size: number): void {
    stream.sendDelta -= size;
    this.window -= size;
    this.#writer.appendFrame(FrameType.DATA, 0, stream.id, pieces);
  }

  /** One frame of a stream's waiting data. */
  #dataFrame(stream: Stream, window: number): void {
    const { queue } = stream;
    const size = Math.min(queue.size, window, this.window, this.maxFrameSize);
    stream.sendDelta -= size;
    stream.sentAt = this.tick;
    this.window -= size;
    // Each frame counts: gRPC's clients ping many times while one large message comes, to measure the line.
    this.answered++;
    this.#writer.appendFrame(FrameType.DATA, 0, stream.id, NOTHING, size);
    const before = queue.memory;
    for (let left = size; left > 0; ) {
      const piece = queue.take(left);
      this.#writer.append(piece);
      left -= piece.length;
    }
    this.queued += queue.memory - before;
  }

  #headerBlock(streamId: number, block: Uint8Array, end: boolean): void {
    let type: number = FrameType.HEADERS;
    let flags: number = end ? Flag.END_STREAM : 0;
    let at = 0;
    do {
      const size = Math.min(block.length - at, this.maxFrameSize);
      if (at + size === block.length) flags |= Flag.END_HEADERS;
      this.#writer.appendFrame(type, flags, streamId, [size === block.length ? block : block.subarray(at, at + size)]);
      at += size;
      type = FrameType.CONTINUATION;
      flags = 0;
    } while (at < block.length);
  }
}
