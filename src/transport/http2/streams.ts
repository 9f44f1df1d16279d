import { ClosedStreams } from './closed-streams.js';
import { failConnection } from './connection-fault.js';
import type { StreamFrameHandler } from './frame-reader.js';
import { type HeaderBlock, HpackDecoder } from './hpack/decoder.js';
import type { HeaderSource, Http2Handler } from './http2-api.js';
import type { ResolvedHttp2Options } from './http2-options.js';
import { FrameType, Http2Error, type Http2ErrorCode, INITIAL_WINDOW, MAX_STREAM_ID } from './protocol.js';
import { type RequestHead, requestHead, validTrailers } from './request-head.js';
import type { Sender } from './sender.js';
import { Stream, type StreamOwner } from './stream.js';
import { TokenBucket } from './token-bucket.js';

/** Data that nobody takes counts as a frame without use if it is smaller than this; else it costs the peer enough. */
const SMALL_DATA = 1024;

/** What the streams need of their connection. */
export interface StreamsOwner {
  /** Something was written. */
  wrote(): void;
  /** The peer made us do something without use; throws if it did so too often. */
  useless(): void;
  /** The peer did something of use, worth that many of the above. */
  useful(worth: number): void;
  /** Ends the connection; unlike a ConnectionFault also from outside of the reading of frames. */
  fail(code: Http2ErrorCode, reason: string): void;
  /** The last open stream is over. */
  idle(): void;
}

/** The streams of one connection: their states (RFC 9113, section 5.1), their windows, and what comes on them. */
export class Streams implements StreamOwner, StreamFrameHandler {
  /** Highest stream that the peer has opened. */
  lastId = 0;
  /** Streams above this are not taken any more. */
  lastAccepted = MAX_STREAM_ID;

  readonly #sender: Sender;
  readonly #handler: Http2Handler;
  readonly #options: ResolvedHttp2Options;
  readonly #owner: StreamsOwner;
  readonly #decoder: HpackDecoder;
  readonly #resets: TokenBucket;
  readonly #open = new Map<number, Stream>();
  readonly #closed = new ClosedStreams();
  /** The stream of the DATA frame that is being read, if it can have it, and whether it ends there. */
  #dataStream: Stream | undefined;
  #dataEnds = false;
  /** The last header block, and what was made of it. */
  #knownBlock: HeaderBlock | undefined;
  #knownHead: RequestHead | undefined;
  /** Bytes that the peer may send on the connection, those to be given back, those with listeners that have paused. */
  #receiveWindow: number;
  #returnable = 0;
  #unread = 0;

  constructor(sender: Sender, handler: Http2Handler, options: ResolvedHttp2Options, owner: StreamsOwner) {
    this.#sender = sender;
    this.#handler = handler;
    this.#options = options;
    this.#owner = owner;
    this.#decoder = new HpackDecoder(options.headerTableSize, options.maxHeaderListSize);
    this.#resets = new TokenBucket(options.maxResets, options.resetRefillPerSecond);
    this.#receiveWindow = Math.max(options.connectionWindowSize, INITIAL_WINDOW);
  }

  get count(): number {
    return this.#open.size;
  }

  /** The peer's setting for new windows has changed, once or often: so have those of open streams. Linear in these. */
  settleAll(): void {
    for (const stream of this.#open.values()) {
      if (!this.#sender.settle(stream)) failConnection(Http2Error.FLOW_CONTROL_ERROR, 'window too large');
    }
  }

  /** Ends what has made no progress for that many ticks: requests that stay half-sent, responses that nobody takes. */
  endStalled(tick: number, readTicks: number, writeTicks: number): void {
    for (const stream of this.#open.values()) {
      if (stream.queue.size > 0) {
        if (tick - stream.sentAt >= writeTicks) this.#cut(stream, Http2Error.CANCEL);
      } else if (
        tick - stream.receivedAt >= readTicks &&
        !stream.remoteEnded &&
        stream.receiveWindow > 0 &&
        this.#receiveWindow > 0 &&
        stream.listener.incomplete
      ) {
        stream.listener.onStalled();
      }
    }
  }

  /** Refuses requests of which only a part has come: no work was accepted with them. */
  refuseIncomplete(): void {
    for (const stream of this.#open.values()) {
      if (!stream.remoteEnded && stream.listener.incomplete) this.#cut(stream, Http2Error.REFUSED_STREAM);
    }
  }

  /** The connection is over. */
  abortAll(): void {
    const streams = [...this.#open.values()];
    this.#open.clear();
    this.#dataStream = undefined;
    for (const stream of streams) {
      stream.closed = true;
      this.#sender.forget(stream);
      try {
        stream.listener.onAbort();
      } catch (error) {
        // The others have to hear it too.
        this.#options.onInternalError(error);
      }
    }
  }

  // What streams ask for

  sendHeaders(stream: Stream, source: HeaderSource, end: boolean): void {
    this.#sender.headers(stream, source, end);
    this.#owner.wrote();
  }

  sendData(stream: Stream, pieces: readonly Uint8Array[], size: number): boolean {
    const goOn = this.#sender.data(stream, pieces, size);
    this.#owner.wrote();
    return goOn;
  }

  sendEnd(stream: Stream): void {
    this.#sender.end(stream);
    this.#owner.wrote();
  }

  admits(size: number): boolean {
    return this.#sender.admits(size);
  }

  consumed(stream: Stream, size: number): void {
    if (stream.closed) return;
    stream.unread -= size;
    this.#unread -= size;
    this.#returnConnectionWindow();
    if (stream.remoteEnded) return;
    stream.returnable += size;
    if (stream.returnable * 2 < this.#options.streamWindowSize) return;
    stream.receiveWindow += stream.returnable;
    this.#sender.numberFrame(FrameType.WINDOW_UPDATE, stream.id, stream.returnable);
    stream.returnable = 0;
    this.#owner.wrote();
  }

  reset(stream: Stream, code: Http2ErrorCode): void {
    if (stream.closed) return;
    this.#sender.numberFrame(FrameType.RST_STREAM, stream.id, code);
    this.#closed.addReset(stream.id);
    this.#remove(stream);
    this.#owner.wrote();
  }

  // Data

  onDataStart(streamId: number, size: number, overhead: number, endStream: boolean): void {
    this.#receiveWindow -= size;
    if (this.#receiveWindow < 0) failConnection(Http2Error.FLOW_CONTROL_ERROR, 'more data than the window allows');
    this.#returnable += size;
    this.#dataEnds = endStream;
    const stream = this.#streamOfData(streamId, size);
    this.#dataStream = stream;
    if (stream === undefined) {
      if (size < SMALL_DATA) this.#owner.useless();
    } else if (size > overhead) this.#owner.useful(1);
    else if (!endStream) this.#owner.useless();
    if (stream === undefined || overhead === 0) return;
    stream.unread += overhead;
    this.#unread += overhead;
    this.consumed(stream, overhead);
  }

  /** The stream that data is for, if it can have it. */
  #streamOfData(streamId: number, length: number): Stream | undefined {
    const stream = this.#open.get(streamId);
    if (stream === undefined) {
      if (streamId > this.lastId || this.#closed.wasSkipped(streamId)) {
        failConnection(Http2Error.PROTOCOL_ERROR, 'DATA on an idle stream');
      }
      if (!this.#closed.wasReset(streamId)) {
        this.#sender.numberFrame(FrameType.RST_STREAM, streamId, Http2Error.STREAM_CLOSED);
        this.#closed.addReset(streamId);
      }
      return undefined;
    }
    if (stream.remoteEnded) {
      this.#abort(stream, Http2Error.STREAM_CLOSED);
      return undefined;
    }
    stream.receiveWindow -= length;
    if (stream.receiveWindow < 0) {
      this.#abort(stream, Http2Error.FLOW_CONTROL_ERROR);
      return undefined;
    }
    return stream;
  }

  onDataPart(bytes: Buffer, start: number, end: number): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.closed) return;
    const size = end - start;
    stream.received += size;
    stream.receivedAt = this.#sender.tick;
    const declared = stream.head.contentLength;
    if (declared >= 0 && stream.received > declared) {
      this.#abort(stream, Http2Error.PROTOCOL_ERROR);
      return;
    }
    stream.unread += size;
    this.#unread += size;
    stream.listener.onData(bytes, start, end);
  }

  onDataEnd(): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    this.#returnConnectionWindow();
    if (this.#dataEnds && stream !== undefined && !stream.closed) this.#onRemoteEnd(stream);
  }

  /** Gives the connection's window back when half of it is used, unless listeners that have paused hold too much. */
  #returnConnectionWindow(): void {
    if (this.#returnable * 2 < this.#options.connectionWindowSize || this.#unread > this.#options.maxUnreadSize) return;
    this.#receiveWindow += this.#returnable;
    this.#sender.numberFrame(FrameType.WINDOW_UPDATE, 0, this.#returnable);
    this.#returnable = 0;
    this.#owner.wrote();
  }

  // Headers

  // biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
  onHeaderBlock(
    streamId: number,
    endStream: boolean,
    selfDependent: boolean,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    const block = this.#decoder.decode(bytes, start, end);
    if (block === undefined) failConnection(Http2Error.COMPRESSION_ERROR, 'header block cannot be decoded');
    if (streamId > this.lastId) this.#openStream(streamId, endStream, selfDependent, block);
    else this.#onTrailers(streamId, endStream, block);
  }

  #openStream(streamId: number, endStream: boolean, selfDependent: boolean, block: HeaderBlock): void {
    if ((streamId & 1) === 0) failConnection(Http2Error.PROTOCOL_ERROR, 'stream number is even');
    if (streamId > this.lastId + 2) this.#closed.addSkipped(this.lastId + 1, streamId - 1);
    this.lastId = streamId;
    const full = this.#open.size >= this.#options.maxConcurrentStreams || this.#sender.full;
    if (streamId > this.lastAccepted || full) {
      this.#refuse(streamId, Http2Error.REFUSED_STREAM);
      return;
    }
    if (block !== this.#knownBlock) {
      this.#knownBlock = block;
      this.#knownHead = requestHead(block.fields);
    }
    const head = this.#knownHead;
    if ((head === undefined && !block.tooLarge) || selfDependent || (endStream && (head?.contentLength ?? 0) > 0)) {
      this.#refuse(streamId, Http2Error.PROTOCOL_ERROR);
      return;
    }
    this.#owner.useful(2);
    const stream = new Stream(this, streamId, head ?? NO_HEAD, this.#options.streamWindowSize, this.#sender.tick);
    this.#open.set(streamId, stream);
    stream.remoteEnded = endStream;
    stream.listener = this.#handler(stream, stream.head, block.tooLarge);
    if (endStream && !stream.closed) this.#onRemoteEnd(stream);
  }

  #refuse(streamId: number, code: Http2ErrorCode): void {
    this.#owner.useless();
    this.#sender.numberFrame(FrameType.RST_STREAM, streamId, code);
    this.#closed.addReset(streamId);
  }

  #onTrailers(streamId: number, endStream: boolean, block: HeaderBlock): void {
    const stream = this.#open.get(streamId);
    if (stream === undefined) {
      this.#owner.useless();
      if (this.#closed.wasReset(streamId)) return;
      const skipped = this.#closed.wasSkipped(streamId) || (streamId & 1) === 0;
      failConnection(skipped ? Http2Error.PROTOCOL_ERROR : Http2Error.STREAM_CLOSED, 'HEADERS on a closed stream');
    }
    if (stream.remoteEnded) this.#abort(stream, Http2Error.STREAM_CLOSED);
    else if (!endStream || !validTrailers(block.fields)) this.#abort(stream, Http2Error.PROTOCOL_ERROR);
    else this.#onRemoteEnd(stream);
  }

  // Other frames

  onPriority(streamId: number, dependency: number | undefined): void {
    this.#owner.useless();
    const wrong =
      dependency === undefined
        ? Http2Error.FRAME_SIZE_ERROR
        : dependency === streamId
          ? Http2Error.PROTOCOL_ERROR
          : undefined;
    if (wrong === undefined) return;
    const stream = this.#open.get(streamId);
    if (stream !== undefined) this.#abort(stream, wrong);
    else if (streamId <= this.lastId) this.#sender.numberFrame(FrameType.RST_STREAM, streamId, wrong);
    else failConnection(wrong, 'malformed PRIORITY');
  }

  onReset(streamId: number): void {
    this.#owner.useless();
    if (streamId > this.lastId) failConnection(Http2Error.PROTOCOL_ERROR, 'RST_STREAM on an idle stream');
    const stream = this.#open.get(streamId);
    if (stream === undefined) return;
    this.#countReset();
    this.#remove(stream);
    stream.listener.onAbort();
  }

  onWindowUpdate(streamId: number, by: number): void {
    this.#owner.useless();
    const sender = this.#sender;
    if (streamId > this.lastId) failConnection(Http2Error.PROTOCOL_ERROR, 'WINDOW_UPDATE on an idle stream');
    const stream = this.#open.get(streamId);
    if (stream === undefined) return;
    if (by === 0) this.#abort(stream, Http2Error.PROTOCOL_ERROR);
    else if (!sender.widenStream(stream, by)) this.#abort(stream, Http2Error.FLOW_CONTROL_ERROR);
    else sender.pump();
  }

  // The end of streams

  #onRemoteEnd(stream: Stream): void {
    const declared = stream.head.contentLength;
    if (declared >= 0 && stream.received !== declared) {
      this.#abort(stream, Http2Error.PROTOCOL_ERROR);
      return;
    }
    stream.remoteEnded = true;
    if (stream.localEnded) this.#remove(stream);
    else stream.listener.onEnd();
  }

  /** We have sent everything. A peer that has not is asked to stop. */
  onLocalEnd(stream: Stream): void {
    if (stream.remoteEnded) {
      this.#owner.useful(4);
      this.#remove(stream);
    } else {
      // A peer that makes us end its calls after it has begun to send them could as well reset them.
      const tooMany = stream.received > 0 && !this.#resets.take();
      this.reset(stream, Http2Error.NO_ERROR);
      if (tooMany) this.#owner.fail(Http2Error.ENHANCE_YOUR_CALM, TOO_MANY_RESETS);
    }
    stream.listener.onFinished();
  }

  /**
   * A stream error: the peer made us reset its stream. That frees it for the next one like a reset of its own, while
   * what the stream began may still run (CVE-2025-8671, "MadeYouReset"); so both count alike.
   */
  #abort(stream: Stream, code: Http2ErrorCode): void {
    this.#owner.useless();
    this.#countReset();
    this.#cut(stream, code);
  }

  #countReset(): void {
    if (!this.#resets.take()) failConnection(Http2Error.ENHANCE_YOUR_CALM, TOO_MANY_RESETS);
  }

  /** Ends a stream at once. */
  #cut(stream: Stream, code: Http2ErrorCode): void {
    this.reset(stream, code);
    stream.listener.onAbort();
  }

  #remove(stream: Stream): void {
    stream.closed = true;
    this.#open.delete(stream.id);
    this.#sender.forget(stream);
    this.#unread -= stream.unread;
    stream.unread = 0;
    this.#returnConnectionWindow();
    if (this.#open.size === 0) this.#owner.idle();
  }
}

const TOO_MANY_RESETS = 'too many resets';

/** Stands in for a head that was too large to be complete. */
const NO_HEAD: RequestHead = { method: '', path: '', scheme: '', authority: undefined, contentLength: -1, fields: [] };
