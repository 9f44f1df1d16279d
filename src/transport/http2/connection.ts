import type { Duplex } from 'node:stream';
import { Input } from '../input.js';
import { SocketWriter } from '../socket-writer.js';
import { ClosedStreams } from './closed-streams.js';
import { HeaderBlockBuffer } from './header-block.js';
import { type HeaderBlock, HpackDecoder } from './hpack/decoder.js';
import type { HeaderSource, Http2Handler } from './http2-api.js';
import type { ResolvedHttp2Options } from './http2-options.js';
import { Keepalive, type KeepaliveOwner } from './keepalive.js';
import {
  Flag,
  FRAME_HEADER_SIZE,
  FrameType,
  Http2Error,
  type Http2ErrorCode,
  INITIAL_WINDOW,
  MAX_WINDOW,
  PREFACE,
  Setting,
} from './protocol.js';
import { type RequestHead, requestHead, validTrailers } from './request-head.js';
import { Sender } from './sender.js';
import { checkSetting, encodeSettings } from './settings.js';
import { Stream, type StreamOwner } from './stream.js';
import { TokenBucket } from './token-bucket.js';

/** Where the connection stands. */
const State = {
  /** The client's preface is not complete. */
  PREFACE: 0,
  /** The first frame must be SETTINGS. */
  FIRST_SETTINGS: 1,
  OPEN: 2,
  /** What still comes is dropped, until the peer closes too. */
  DISCARD: 3,
  CLOSED: 4,
} as const;

/** Largest stream number: "all of them" in a GOAWAY. */
const MAX_STREAM_ID = 0x7fff_ffff;
/** Payloads of our pings. */
const KEEPALIVE_PING = Buffer.from('keepaliv');
const SHUTDOWN_PING = Buffer.from('shutdown');
const NOTHING = Buffer.alloc(0);

/** A connection error, on its way to the GOAWAY. */
class ConnectionFault extends Error {
  readonly code: Http2ErrorCode;

  constructor(code: Http2ErrorCode, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** The state machine of one HTTP/2 server connection (RFC 9113). */
export class Http2Connection implements StreamOwner, KeepaliveOwner {
  readonly finished: Promise<void>;

  readonly #socket: Duplex;
  readonly #handler: Http2Handler;
  readonly #options: ResolvedHttp2Options;
  readonly #writer: SocketWriter;
  readonly #sender: Sender;
  readonly #decoder: HpackDecoder;
  readonly #keepalive: Keepalive;
  readonly #input = new Input();
  readonly #streams = new Map<number, Stream>();
  readonly #closed = new ClosedStreams();
  readonly #resets: TokenBucket;
  readonly #control: TokenBucket;
  #state: number = State.PREFACE;
  #advancing = false;
  #paused = false;
  /** Highest stream that the peer has opened. */
  #lastId = 0;
  /** Streams above this are not taken any more. */
  #lastAccepted = MAX_STREAM_ID;
  #shuttingDown = false;
  /** A DATA frame of which not everything has come: its stream, and the bytes of data and of padding that follow. */
  #dataStream: Stream | undefined;
  #dataLeft = 0;
  #paddingLeft = 0;
  #dataEnds = false;
  #inData = false;
  /** A frame that is passed over. */
  #skipLeft = 0;
  #block: HeaderBlockBuffer | undefined;
  #knownBlock: HeaderBlock | undefined;
  #knownHead: RequestHead | undefined;
  /** Bytes that the peer may send on the connection, those to be given back, those with listeners that have paused. */
  #receiveWindow = INITIAL_WINDOW;
  #returnable = 0;
  #unread = 0;
  #linger: NodeJS.Timeout | undefined;

  constructor(socket: Duplex, handler: Http2Handler, options: ResolvedHttp2Options) {
    this.#socket = socket;
    this.#handler = handler;
    this.#options = options;
    this.#writer = new SocketWriter(socket);
    this.#sender = new Sender(this.#writer, options.writeHighWater, (stream) => this.#onLocalEnd(stream));
    this.#decoder = new HpackDecoder(options.headerTableSize, options.maxHeaderListSize);
    this.#resets = new TokenBucket(options.maxResets, options.resetRefillPerSecond);
    this.#control = new TokenBucket(options.maxControlFrames, options.controlRefillPerSecond);
    this.#keepalive = new Keepalive(options, this);
    this.finished = new Promise((resolve) => {
      socket.once('close', () => {
        this.#onSocketClose();
        resolve();
      });
    });
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#endAndDiscard());
    socket.on('drain', () => this.#onDrain());
    // What went wrong with a socket is of no interest: `close` follows, and the peer cannot be told.
    socket.on('error', () => {});
    this.#greet();
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Lets the peer know that it shall open no more streams, finishes those that are open, then closes. */
  shutdown(): void {
    if (this.#shuttingDown || this.#state >= State.DISCARD) return;
    this.#shuttingDown = true;
    // The first GOAWAY refuses nothing. What the peer sent before it saw that is known once it answers the ping.
    this.#goAway(MAX_STREAM_ID, Http2Error.NO_ERROR, '');
    this.#sender.frame(FrameType.PING, 0, 0, SHUTDOWN_PING);
    this.#wrote();
    if (this.#state === State.PREFACE) this.#endAndDiscard();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  sendKeepalivePing(): void {
    this.#sender.frame(FrameType.PING, 0, 0, KEEPALIVE_PING);
    this.#wrote();
  }

  // Towards the streams

  sendHeaders(stream: Stream, source: HeaderSource, end: boolean): void {
    this.#sender.headers(stream, source, end);
    this.#wrote();
  }

  sendData(stream: Stream, pieces: readonly Uint8Array[], size: number): boolean {
    const goOn = this.#sender.data(stream, pieces, size);
    this.#wrote();
    return goOn;
  }

  sendEnd(stream: Stream): void {
    this.#sender.end(stream);
    this.#wrote();
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
    this.#wrote();
  }

  reset(stream: Stream, code: Http2ErrorCode): void {
    if (stream.closed) return;
    this.#sender.numberFrame(FrameType.RST_STREAM, stream.id, code);
    this.#closed.addReset(stream.id);
    this.#remove(stream);
    this.#wrote();
  }

  // From the socket

  #onData(chunk: Buffer): void {
    if (this.#state >= State.DISCARD) return;
    this.#keepalive.onRead();
    this.#input.add(chunk);
    this.#advancing = true;
    try {
      while (this.#step());
    } catch (error) {
      if (!(error instanceof ConnectionFault)) throw error;
      this.#fail(error.code, error.message);
    } finally {
      this.#advancing = false;
    }
    this.#input.release();
    this.#writer.flush();
    this.#regulate();
  }

  #onDrain(): void {
    this.#sender.pump();
    this.#writer.flush();
    this.#regulate();
  }

  /** A peer that does not read what we answer is not read from. */
  #regulate(): void {
    const full = this.#state < State.DISCARD && this.#writer.backlog > this.#options.maxSendBacklog;
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) this.#socket.pause();
    else this.#socket.resume();
  }

  #onSocketClose(): void {
    this.#state = State.CLOSED;
    clearTimeout(this.#linger);
    this.#keepalive.stop();
    this.#input.start = this.#input.end;
    this.#input.release();
    this.#abortStreams();
  }

  #wrote(): void {
    if (!this.#advancing) this.#writer.schedule();
  }

  // The machine

  #greet(): void {
    const options = this.#options;
    const settings = encodeSettings([
      [Setting.HEADER_TABLE_SIZE, options.headerTableSize],
      [Setting.MAX_CONCURRENT_STREAMS, options.maxConcurrentStreams],
      [Setting.INITIAL_WINDOW_SIZE, options.streamWindowSize],
      [Setting.MAX_FRAME_SIZE, options.maxFrameSize],
      [Setting.MAX_HEADER_LIST_SIZE, options.maxHeaderListSize],
    ]);
    this.#sender.frame(FrameType.SETTINGS, 0, 0, settings);
    const more = options.connectionWindowSize - INITIAL_WINDOW;
    if (more > 0) {
      this.#sender.numberFrame(FrameType.WINDOW_UPDATE, 0, more);
      this.#receiveWindow += more;
    }
    this.#writer.schedule();
  }

  /** Reads one frame, or what there is of it; false if more bytes are needed. */
  #step(): boolean {
    const input = this.#input;
    if (this.#state === State.PREFACE) return this.#readPreface();
    if (this.#state >= State.DISCARD) return false;
    if (this.#inData) return this.#readData();
    if (this.#skipLeft > 0) {
      const size = Math.min(this.#skipLeft, input.size);
      input.start += size;
      this.#skipLeft -= size;
      return this.#skipLeft === 0;
    }
    if (input.size < FRAME_HEADER_SIZE) return false;
    const { bytes, start } = input;
    const length = (bytes[start]! << 16) | (bytes[start + 1]! << 8) | bytes[start + 2]!;
    const type = bytes[start + 3]!;
    const flags = bytes[start + 4]!;
    const streamId = bytes.readUInt32BE(start + 5) & 0x7fff_ffff;
    if (length > this.#options.maxFrameSize) fail(Http2Error.FRAME_SIZE_ERROR, 'frame too large');
    if (this.#block !== undefined && (type !== FrameType.CONTINUATION || streamId !== this.#block.streamId)) {
      fail(Http2Error.PROTOCOL_ERROR, 'header block interrupted');
    }
    if (this.#state === State.FIRST_SETTINGS) {
      if (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0) fail(Http2Error.PROTOCOL_ERROR, 'SETTINGS expected');
      this.#state = State.OPEN;
    }
    if (type === FrameType.DATA) return this.#startData(length, flags, streamId);
    if (type > FrameType.CONTINUATION) {
      this.#useless();
      input.start += FRAME_HEADER_SIZE;
      this.#skipLeft = length;
      return true;
    }
    this.#checkLength(type, flags, length);
    if (input.size < FRAME_HEADER_SIZE + length) return false;
    input.start += FRAME_HEADER_SIZE + length;
    this.#onFrame(type, flags, streamId, bytes, start + FRAME_HEADER_SIZE, length);
    return true;
  }

  #readPreface(): boolean {
    const input = this.#input;
    const size = Math.min(input.size, PREFACE.length);
    for (let i = 0; i < size; i++) {
      if (input.bytes[input.start + i] !== PREFACE[i]) fail(Http2Error.PROTOCOL_ERROR, 'not an HTTP/2 client');
    }
    if (size < PREFACE.length) return false;
    input.start += size;
    this.#state = State.FIRST_SETTINGS;
    return true;
  }

  /** Checks sizes before the payload is waited for. */
  #checkLength(type: number, flags: number, length: number): void {
    let right = true;
    if (type === FrameType.RST_STREAM || type === FrameType.WINDOW_UPDATE) right = length === 4;
    else if (type === FrameType.PING) right = length === 8;
    else if (type === FrameType.SETTINGS) right = (flags & Flag.ACK) !== 0 ? length === 0 : length % 6 === 0;
    else if (type === FrameType.GOAWAY) right = length >= 8;
    if (!right) fail(Http2Error.FRAME_SIZE_ERROR, 'wrong frame size');
    if (type === FrameType.HEADERS || type === FrameType.CONTINUATION) {
      // 261: what padding and priority may add.
      if (length + (this.#block?.size ?? 0) > this.#options.maxHeaderBlockSize + 261) {
        fail(Http2Error.ENHANCE_YOUR_CALM, 'header block too large');
      }
    }
  }

  #onFrame(type: number, flags: number, streamId: number, bytes: Buffer, at: number, length: number): void {
    switch (type) {
      case FrameType.HEADERS:
        this.#onHeaders(flags, streamId, bytes, at, length);
        return;
      case FrameType.CONTINUATION:
        this.#onContinuation(flags, bytes.subarray(at, at + length));
        return;
      case FrameType.PRIORITY:
        this.#onPriority(streamId, bytes, at, length);
        return;
      case FrameType.RST_STREAM:
        this.#onReset(streamId);
        return;
      case FrameType.SETTINGS:
        this.#onSettings(flags, streamId, bytes, at, length);
        return;
      case FrameType.PING:
        this.#onPing(flags, streamId, bytes.subarray(at, at + length));
        return;
      case FrameType.WINDOW_UPDATE:
        this.#onWindowUpdate(streamId, bytes.readUInt32BE(at) & 0x7fff_ffff);
        return;
      case FrameType.GOAWAY:
        this.#useless();
        if (streamId !== 0) fail(Http2Error.PROTOCOL_ERROR, 'GOAWAY on a stream');
        return;
      default:
        fail(Http2Error.PROTOCOL_ERROR, 'PUSH_PROMISE from a client');
    }
  }

  // Data

  #startData(length: number, flags: number, streamId: number): boolean {
    const input = this.#input;
    if (streamId === 0) fail(Http2Error.PROTOCOL_ERROR, 'DATA on no stream');
    const padded = (flags & Flag.PADDED) !== 0;
    if (padded && length === 0) fail(Http2Error.FRAME_SIZE_ERROR, 'padding without a length');
    if (padded && input.size < FRAME_HEADER_SIZE + 1) return false;
    const extra = padded ? input.bytes[input.start + FRAME_HEADER_SIZE]! + 1 : 0;
    if (extra > length) fail(Http2Error.PROTOCOL_ERROR, 'padding too long');
    input.start += FRAME_HEADER_SIZE + (padded ? 1 : 0);
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) fail(Http2Error.FLOW_CONTROL_ERROR, 'more data than the window allows');
    this.#returnable += length;
    this.#dataEnds = (flags & Flag.END_STREAM) !== 0;
    const useful = length > extra;
    if (useful) this.#control.give(1);
    else if (!this.#dataEnds) this.#useless();
    this.#inData = true;
    this.#dataLeft = length - extra;
    this.#paddingLeft = padded ? extra - 1 : 0;
    this.#dataStream = this.#streamOfData(streamId, length);
    if (this.#dataStream !== undefined && extra > 0) {
      this.#dataStream.unread += extra;
      this.#unread += extra;
      this.consumed(this.#dataStream, extra);
    }
    return true;
  }

  /** The stream that data is for, if it can have it. */
  #streamOfData(streamId: number, length: number): Stream | undefined {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      if (streamId > this.#lastId || this.#closed.wasSkipped(streamId)) {
        fail(Http2Error.PROTOCOL_ERROR, 'DATA on an idle stream');
      }
      if (!this.#closed.wasReset(streamId)) {
        this.#useless();
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

  #readData(): boolean {
    const input = this.#input;
    if (this.#dataLeft > 0) {
      const size = Math.min(this.#dataLeft, input.size);
      if (size === 0) return false;
      const start = input.start;
      input.start += size;
      this.#dataLeft -= size;
      this.#deliver(input.bytes, start, start + size);
    }
    if (this.#dataLeft > 0) return false;
    const padding = Math.min(this.#paddingLeft, input.size);
    input.start += padding;
    this.#paddingLeft -= padding;
    if (this.#paddingLeft > 0) return false;
    this.#inData = false;
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    this.#returnConnectionWindow();
    if (this.#dataEnds && stream !== undefined && !stream.closed) this.#onRemoteEnd(stream);
    return true;
  }

  #deliver(bytes: Buffer, start: number, end: number): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.closed) return;
    const size = end - start;
    stream.received += size;
    const declared = stream.head.contentLength;
    if (declared >= 0 && stream.received > declared) {
      this.#abort(stream, Http2Error.PROTOCOL_ERROR);
      return;
    }
    stream.unread += size;
    this.#unread += size;
    stream.listener.onData(bytes, start, end);
  }

  /** Gives the connection's window back when half of it is used, unless listeners that have paused hold too much. */
  #returnConnectionWindow(): void {
    if (this.#returnable * 2 < this.#options.connectionWindowSize || this.#unread > this.#options.maxUnreadSize) return;
    this.#receiveWindow += this.#returnable;
    this.#sender.numberFrame(FrameType.WINDOW_UPDATE, 0, this.#returnable);
    this.#returnable = 0;
    this.#wrote();
  }

  // Headers

  #onHeaders(flags: number, streamId: number, bytes: Buffer, at: number, length: number): void {
    if (streamId === 0) fail(Http2Error.PROTOCOL_ERROR, 'HEADERS on no stream');
    let start = at;
    let end = at + length;
    if ((flags & Flag.PADDED) !== 0) {
      if (length < 1) fail(Http2Error.FRAME_SIZE_ERROR, 'padding without a length');
      end -= bytes[start]!;
      start++;
    }
    let selfDependent = false;
    if ((flags & Flag.PRIORITY) !== 0) {
      if (start + 5 > at + length) fail(Http2Error.FRAME_SIZE_ERROR, 'priority cut off');
      selfDependent = (bytes.readUInt32BE(start) & 0x7fff_ffff) === streamId;
      start += 5;
    }
    if (start > end) fail(Http2Error.PROTOCOL_ERROR, 'padding too long');
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) {
      this.#onHeaderBlock(streamId, endStream, selfDependent, bytes, start, end);
      return;
    }
    this.#block = new HeaderBlockBuffer(streamId, endStream, selfDependent);
    this.#block.add(bytes.subarray(start, end));
  }

  #onContinuation(flags: number, fragment: Buffer): void {
    const block = this.#block;
    if (block === undefined) fail(Http2Error.PROTOCOL_ERROR, 'CONTINUATION without HEADERS');
    block.add(fragment);
    if (block.frames - 1 > this.#options.maxContinuationFrames) {
      fail(Http2Error.ENHANCE_YOUR_CALM, 'too many CONTINUATION frames');
    }
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    const bytes = block.take();
    this.#onHeaderBlock(block.streamId, block.endStream, block.selfDependent, bytes, 0, bytes.length);
  }

  #onHeaderBlock(
    streamId: number,
    endStream: boolean,
    selfDependent: boolean,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    const block = this.#decoder.decode(bytes, start, end);
    if (block === undefined) fail(Http2Error.COMPRESSION_ERROR, 'header block cannot be decoded');
    if (streamId > this.#lastId) this.#openStream(streamId, endStream, selfDependent, block);
    else this.#onTrailers(streamId, endStream, block);
  }

  #openStream(streamId: number, endStream: boolean, selfDependent: boolean, block: HeaderBlock): void {
    if ((streamId & 1) === 0) fail(Http2Error.PROTOCOL_ERROR, 'stream number is even');
    if (streamId > this.#lastId + 2) this.#closed.addSkipped(this.#lastId + 1, streamId - 1);
    this.#lastId = streamId;
    if (streamId > this.#lastAccepted || this.#streams.size >= this.#options.maxConcurrentStreams) {
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
    this.#control.give(2);
    const window = this.#sender.initialStreamWindow;
    const stream = new Stream(this, streamId, head ?? NO_HEAD, window, this.#options.streamWindowSize);
    this.#streams.set(streamId, stream);
    stream.remoteEnded = endStream;
    stream.listener = this.#handler(stream, stream.head, block.tooLarge);
    if (endStream && !stream.closed) this.#onRemoteEnd(stream);
  }

  #refuse(streamId: number, code: Http2ErrorCode): void {
    this.#useless();
    this.#sender.numberFrame(FrameType.RST_STREAM, streamId, code);
    this.#closed.addReset(streamId);
  }

  #onTrailers(streamId: number, endStream: boolean, block: HeaderBlock): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      this.#useless();
      if (this.#closed.wasReset(streamId)) return;
      const skipped = this.#closed.wasSkipped(streamId) || (streamId & 1) === 0;
      fail(skipped ? Http2Error.PROTOCOL_ERROR : Http2Error.STREAM_CLOSED, 'HEADERS on a closed stream');
    }
    if (stream.remoteEnded) this.#abort(stream, Http2Error.STREAM_CLOSED);
    else if (!endStream || !validTrailers(block.fields)) this.#abort(stream, Http2Error.PROTOCOL_ERROR);
    else this.#onRemoteEnd(stream);
  }

  // Other frames

  #onPriority(streamId: number, bytes: Buffer, at: number, length: number): void {
    this.#useless();
    if (streamId === 0) fail(Http2Error.PROTOCOL_ERROR, 'PRIORITY on no stream');
    const wrong =
      length !== 5
        ? Http2Error.FRAME_SIZE_ERROR
        : (bytes.readUInt32BE(at) & 0x7fff_ffff) === streamId
          ? Http2Error.PROTOCOL_ERROR
          : undefined;
    if (wrong === undefined) return;
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) this.#abort(stream, wrong);
    else if (streamId <= this.#lastId) this.#sender.numberFrame(FrameType.RST_STREAM, streamId, wrong);
    else fail(wrong, 'malformed PRIORITY');
  }

  #onReset(streamId: number): void {
    this.#useless();
    if (streamId === 0) fail(Http2Error.PROTOCOL_ERROR, 'RST_STREAM on no stream');
    if (streamId > this.#lastId) fail(Http2Error.PROTOCOL_ERROR, 'RST_STREAM on an idle stream');
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (!this.#resets.take()) fail(Http2Error.ENHANCE_YOUR_CALM, 'too many resets');
    this.#remove(stream);
    stream.listener.onAbort();
  }

  #onSettings(flags: number, streamId: number, bytes: Buffer, at: number, length: number): void {
    this.#useless();
    if (streamId !== 0) fail(Http2Error.PROTOCOL_ERROR, 'SETTINGS on a stream');
    if ((flags & Flag.ACK) !== 0) return;
    for (let i = at; i < at + length; i += 6) this.#applySetting(bytes.readUInt16BE(i), bytes.readUInt32BE(i + 2));
    this.#sender.frame(FrameType.SETTINGS, Flag.ACK, 0, NOTHING);
    this.#sender.pump();
  }

  #applySetting(id: number, value: number): void {
    const wrong = checkSetting(id, value);
    if (wrong !== undefined) fail(wrong, 'setting out of range');
    const sender = this.#sender;
    if (id === Setting.HEADER_TABLE_SIZE) sender.encoder.setTableSize(value);
    else if (id === Setting.MAX_FRAME_SIZE) sender.maxFrameSize = value;
    else if (id === Setting.INITIAL_WINDOW_SIZE) {
      const change = value - sender.initialStreamWindow;
      sender.initialStreamWindow = value;
      for (const stream of this.#streams.values()) {
        if (!sender.widenStream(stream, change)) fail(Http2Error.FLOW_CONTROL_ERROR, 'window too large');
      }
    }
  }

  #onPing(flags: number, streamId: number, payload: Buffer): void {
    this.#useless();
    if (streamId !== 0) fail(Http2Error.PROTOCOL_ERROR, 'PING on a stream');
    if ((flags & Flag.ACK) !== 0) {
      if (this.#shuttingDown && payload.equals(SHUTDOWN_PING)) this.#stopAccepting();
      return;
    }
    if (!this.#keepalive.onPing(this.#sender.answered)) fail(Http2Error.ENHANCE_YOUR_CALM, 'too_many_pings');
    this.#sender.frame(FrameType.PING, Flag.ACK, 0, payload);
  }

  #onWindowUpdate(streamId: number, by: number): void {
    this.#useless();
    const sender = this.#sender;
    if (streamId === 0) {
      if (by === 0) fail(Http2Error.PROTOCOL_ERROR, 'window widened by nothing');
      sender.window += by;
      if (sender.window > MAX_WINDOW) fail(Http2Error.FLOW_CONTROL_ERROR, 'window too large');
      sender.pump();
      return;
    }
    if (streamId > this.#lastId) fail(Http2Error.PROTOCOL_ERROR, 'WINDOW_UPDATE on an idle stream');
    const stream = this.#streams.get(streamId);
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

  /** We have sent everything. A peer that has not is told to stop. */
  #onLocalEnd(stream: Stream): void {
    this.#control.give(4);
    if (!stream.remoteEnded) this.reset(stream, Http2Error.NO_ERROR);
    else this.#remove(stream);
  }

  /** A stream error. */
  #abort(stream: Stream, code: Http2ErrorCode): void {
    this.#useless();
    this.reset(stream, code);
    stream.listener.onAbort();
  }

  #remove(stream: Stream): void {
    stream.closed = true;
    this.#streams.delete(stream.id);
    this.#sender.forget(stream);
    this.#unread -= stream.unread;
    stream.unread = 0;
    if (this.#streams.size === 0 && this.#lastAccepted < MAX_STREAM_ID) this.#endAndDiscard();
  }

  // The end of the connection

  #useless(): void {
    if (!this.#control.take()) fail(Http2Error.ENHANCE_YOUR_CALM, 'too many control frames');
  }

  #stopAccepting(): void {
    this.#lastAccepted = this.#lastId;
    this.#goAway(this.#lastId, Http2Error.NO_ERROR, '');
    if (this.#streams.size === 0) this.#endAndDiscard();
  }

  #goAway(lastId: number, code: Http2ErrorCode, reason: string): void {
    const payload = Buffer.alloc(8 + reason.length);
    payload.writeUInt32BE(lastId, 0);
    payload.writeUInt32BE(code, 4);
    payload.write(reason, 8, 'latin1');
    this.#sender.frame(FrameType.GOAWAY, 0, 0, payload);
  }

  #fail(code: Http2ErrorCode, reason: string): void {
    this.#goAway(this.#lastId, code, reason);
    this.#endAndDiscard();
  }

  /** Sends what there is to send and closes our side; see the same in HTTP/1.1. */
  #endAndDiscard(): void {
    if (this.#state >= State.DISCARD) return;
    this.#state = State.DISCARD;
    this.#block = undefined;
    this.#dataStream = undefined;
    this.#input.start = this.#input.end;
    this.#input.release();
    this.#writer.flush();
    this.#abortStreams();
    this.#socket.end();
    if (this.#paused) {
      this.#paused = false;
      this.#socket.resume();
    }
    this.#linger = setTimeout(() => this.#socket.destroy(), this.#options.lingerMs);
    this.#linger.unref();
  }

  #abortStreams(): void {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) {
      stream.closed = true;
      this.#sender.forget(stream);
      stream.listener.onAbort();
    }
  }
}

/** Stands in for a head that was too large to be complete. */
const NO_HEAD: RequestHead = { method: '', path: '', scheme: '', authority: undefined, contentLength: -1, fields: [] };

function fail(code: Http2ErrorCode, reason: string): never {
  throw new ConnectionFault(code, reason);
}
