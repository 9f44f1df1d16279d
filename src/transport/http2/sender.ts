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

/** Writes frames, and keeps data back as the peer's windows and the socket demand. Streams with data take turns. */
export class Sender {
  readonly encoder = new HpackEncoder();
  /** Bytes of data that the peer accepts on the connection. */
  window = INITIAL_WINDOW;
  /** What the peer's settings say. */
  initialStreamWindow = INITIAL_WINDOW;
  maxFrameSize = MIN_FRAME_SIZE;
  /** Counts frames of answers: a sign that the connection is of use. */
  answered = 0;

  readonly #writer: SocketWriter;
  readonly #highWater: number;
  readonly #onEnded: (stream: Stream) => void;
  /** Streams with data and an open window, in the order of their turns. */
  readonly #ready = new Set<Stream>();

  constructor(writer: SocketWriter, highWater: number, onEnded: (stream: Stream) => void) {
    this.#writer = writer;
    this.#highWater = highWater;
    this.#onEnded = onEnded;
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
    if (end && stream.queued > 0) {
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
    if (stream.queued > 0) stream.trailers = 'none';
    else this.#finish(stream, 'none');
  }

  data(stream: Stream, pieces: readonly Uint8Array[], size: number): boolean {
    if (stream.closed || stream.localEnded || stream.trailers !== undefined || size === 0) return true;
    this.answered++;
    if (
      size <= COPY_SIZE &&
      stream.queued === 0 &&
      size <= stream.sendWindow &&
      size <= this.window &&
      this.#writer.backlog < SOCKET_AHEAD
    ) {
      this.#smallData(stream, pieces, size);
      return true;
    }
    for (const piece of pieces) if (piece.length > 0) stream.pieces.push(piece);
    stream.queued += size;
    if (stream.sendWindow > 0) this.#ready.add(stream);
    this.pump();
    if (stream.queued < this.#highWater) return true;
    stream.waiting = true;
    return false;
  }

  /** Sends waiting data as far as windows and socket allow. */
  pump(): void {
    for (const stream of this.#ready) {
      if (this.window <= 0 || this.#writer.backlog >= SOCKET_AHEAD) return;
      // Taken out and put in again behind the others (a Set is iterated in the order of insertion, also while it changes).
      this.#ready.delete(stream);
      this.#dataFrame(stream);
      if (stream.queued > 0) {
        if (stream.sendWindow > 0) this.#ready.add(stream);
      } else if (stream.trailers !== undefined) {
        this.#finish(stream, stream.trailers);
        continue;
      }
      if (stream.waiting && stream.queued < this.#highWater) {
        stream.waiting = false;
        stream.listener.onWritable();
      }
    }
  }

  /** Widens a stream's window. False: beyond what the protocol allows. */
  widenStream(stream: Stream, by: number): boolean {
    stream.sendWindow += by;
    if (stream.sendWindow > MAX_WINDOW) return false;
    if (stream.sendWindow > 0 && stream.queued > 0) this.#ready.add(stream);
    else if (stream.sendWindow <= 0) this.#ready.delete(stream);
    return true;
  }

  /** Drops what waits on a stream. */
  forget(stream: Stream): void {
    this.#ready.delete(stream);
    stream.pieces = [];
    stream.queued = 0;
    stream.trailers = undefined;
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
    stream.sendWindow -= size;
    this.window -= size;
    this.#writer.appendFrame(FrameType.DATA, 0, stream.id, pieces);
  }

  /** One frame of a stream's waiting data. */
  #dataFrame(stream: Stream): void {
    const size = Math.min(stream.queued, stream.sendWindow, this.window, this.maxFrameSize);
    stream.sendWindow -= size;
    this.window -= size;
    stream.queued -= size;
    // Each frame counts: gRPC's clients ping many times while one large message comes, to measure the line.
    this.answered++;
    this.#writer.appendFrame(FrameType.DATA, 0, stream.id, NOTHING, size);
    let left = size;
    let used = 0;
    while (left > 0) {
      const piece = stream.pieces[used]!;
      const start = stream.sentOfFirst;
      const take = Math.min(left, piece.length - start);
      this.#writer.append(take === piece.length ? piece : piece.subarray(start, start + take));
      left -= take;
      if (start + take === piece.length) {
        used++;
        stream.sentOfFirst = 0;
      } else stream.sentOfFirst = start + take;
    }
    if (used > 0) stream.pieces.splice(0, used);
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
