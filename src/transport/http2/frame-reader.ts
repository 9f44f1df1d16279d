import type { Input } from '../input.js';
import { failConnection } from './connection-fault.js';
import { HeaderBlockBuffer } from './header-block.js';
import { Flag, FRAME_HEADER_SIZE, FrameType, Http2Error, PREFACE } from './protocol.js';

/** What a frame of a stream says, once its form is right. */
export interface StreamFrameHandler {
  /** Data begins: the size that counts for windows, of which `overhead` is padding. */
  onDataStart(streamId: number, size: number, overhead: number, endStream: boolean): void;
  /** Some of it: `bytes[start, end)`. */
  onDataPart(bytes: Buffer, start: number, end: number): void;
  onDataEnd(): void;
  /** A whole header block, `bytes[start, end)`. `selfDependent`: the stream was said to depend on itself. */
  onHeaderBlock(
    streamId: number,
    endStream: boolean,
    selfDependent: boolean,
    bytes: Buffer,
    start: number,
    end: number,
  ): void;
  /** `dependency` is undefined if the frame has the wrong size. */
  onPriority(streamId: number, dependency: number | undefined): void;
  onReset(streamId: number): void;
  onWindowUpdate(streamId: number, by: number): void;
}

/** What a frame of the connection says. */
export interface ConnectionFrameHandler {
  /** Identifiers and values, six bytes each. */
  onSettings(payload: Buffer): void;
  onPing(ack: boolean, payload: Buffer): void;
  onWindowUpdate(by: number): void;
  /** A frame that changes nothing: GOAWAY, an acknowledgement of settings, a type that is not known. */
  onOtherFrame(): void;
}

/** The limits that concern frames. */
export interface FrameLimits {
  readonly maxFrameSize: number;
  readonly maxHeaderBlockSize: number;
  readonly maxContinuationFrames: number;
}

/** What padding and priority may add to a header block's frame. */
const HEADERS_OVERHEAD = 261;

/** What comes next. */
const State = {
  PREFACE: 0,
  /** The first frame must be SETTINGS. */
  FIRST_FRAME: 1,
  FRAME: 2,
  /** The rest of a DATA frame. It is handed on as it comes, other frames when they are complete. */
  DATA: 3,
  /** The rest of a frame that is passed over. */
  SKIP: 4,
} as const;

/** Cuts what a client sends into frames and checks their form (RFC 9113, sections 3.4, 4 and 6). */
export class FrameReader {
  readonly #input: Input;
  readonly #streams: StreamFrameHandler;
  readonly #connection: ConnectionFrameHandler;
  readonly #limits: FrameLimits;
  #state: number = State.PREFACE;
  #dataLeft = 0;
  #paddingLeft = 0;
  #skipLeft = 0;
  #block: HeaderBlockBuffer | undefined;

  constructor(input: Input, streams: StreamFrameHandler, connection: ConnectionFrameHandler, limits: FrameLimits) {
    this.#input = input;
    this.#streams = streams;
    this.#connection = connection;
    this.#limits = limits;
  }

  /** Whether the client's preface has come. */
  get greeted(): boolean {
    return this.#state !== State.PREFACE;
  }

  /** Whether a header block has begun whose last frame has not come. */
  get inBlock(): boolean {
    return this.#block !== undefined;
  }

  /** Whether a frame other than DATA, a header block or the preface has begun and is not complete. */
  get unfinished(): boolean {
    if (this.#state === State.PREFACE || this.#state === State.FIRST_FRAME || this.#block !== undefined) return true;
    return this.#state === State.FRAME ? this.#input.size > 0 : this.#state === State.SKIP;
  }

  /** Reads one frame, or what there is of it. False: more bytes are needed. */
  step(): boolean {
    switch (this.#state) {
      case State.PREFACE:
        return this.#readPreface();
      case State.DATA:
        return this.#readData();
      case State.SKIP:
        return this.#skip();
      default:
        return this.#readFrame();
    }
  }

  #readPreface(): boolean {
    const input = this.#input;
    const size = Math.min(input.size, PREFACE.length);
    for (let i = 0; i < size; i++) {
      if (input.bytes[input.start + i] !== PREFACE[i]) {
        failConnection(Http2Error.PROTOCOL_ERROR, 'not an HTTP/2 client');
      }
    }
    if (size < PREFACE.length) return false;
    input.start += size;
    this.#state = State.FIRST_FRAME;
    return true;
  }

  #readFrame(): boolean {
    const input = this.#input;
    if (input.size < FRAME_HEADER_SIZE) return false;
    const { bytes, start } = input;
    const length = (bytes[start]! << 16) | (bytes[start + 1]! << 8) | bytes[start + 2]!;
    const type = bytes[start + 3]!;
    const flags = bytes[start + 4]!;
    const streamId = bytes.readUInt32BE(start + 5) & 0x7fff_ffff;
    if (length > this.#limits.maxFrameSize) failConnection(Http2Error.FRAME_SIZE_ERROR, 'frame too large');
    if (this.#block !== undefined && (type !== FrameType.CONTINUATION || streamId !== this.#block.streamId)) {
      failConnection(Http2Error.PROTOCOL_ERROR, 'header block interrupted');
    }
    if (this.#state === State.FIRST_FRAME) {
      if (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0) {
        failConnection(Http2Error.PROTOCOL_ERROR, 'SETTINGS expected');
      }
      this.#state = State.FRAME;
    }
    if (type === FrameType.DATA) return this.#startData(length, flags, streamId);
    if (type > FrameType.CONTINUATION) {
      this.#connection.onOtherFrame();
      input.start += FRAME_HEADER_SIZE;
      this.#skipLeft = length;
      this.#state = State.SKIP;
      return true;
    }
    this.#checkSize(type, flags, length);
    if (input.size < FRAME_HEADER_SIZE + length) return false;
    input.start += FRAME_HEADER_SIZE + length;
    const at = start + FRAME_HEADER_SIZE;
    if (type === FrameType.HEADERS) this.#readHeaders(flags, streamId, bytes, at, length);
    else if (type === FrameType.CONTINUATION) this.#readContinuation(flags, bytes.subarray(at, at + length));
    else if (type === FrameType.RST_STREAM || type === FrameType.PRIORITY) {
      this.#readStreamFrame(type, streamId, bytes, at, length);
    } else if (type === FrameType.WINDOW_UPDATE) {
      const by = bytes.readUInt32BE(at) & 0x7fff_ffff;
      if (streamId === 0) this.#connection.onWindowUpdate(by);
      else this.#streams.onWindowUpdate(streamId, by);
    } else this.#readConnectionFrame(type, flags, streamId, bytes.subarray(at, at + length));
    return true;
  }

  /** Checks sizes before the payload is waited for. */
  #checkSize(type: number, flags: number, length: number): void {
    let right = true;
    if (type === FrameType.RST_STREAM || type === FrameType.WINDOW_UPDATE) right = length === 4;
    else if (type === FrameType.PING) right = length === 8;
    else if (type === FrameType.SETTINGS) right = (flags & Flag.ACK) !== 0 ? length === 0 : length % 6 === 0;
    else if (type === FrameType.GOAWAY) right = length >= 8;
    if (!right) failConnection(Http2Error.FRAME_SIZE_ERROR, 'wrong frame size');
    if (type !== FrameType.HEADERS && type !== FrameType.CONTINUATION) return;
    if (length + (this.#block?.size ?? 0) > this.#limits.maxHeaderBlockSize + HEADERS_OVERHEAD) {
      failConnection(Http2Error.ENHANCE_YOUR_CALM, 'header block too large');
    }
  }

  #skip(): boolean {
    const input = this.#input;
    const size = Math.min(this.#skipLeft, input.size);
    input.start += size;
    this.#skipLeft -= size;
    if (this.#skipLeft > 0) return false;
    this.#state = State.FRAME;
    return true;
  }

  #startData(length: number, flags: number, streamId: number): boolean {
    const input = this.#input;
    if (streamId === 0) failConnection(Http2Error.PROTOCOL_ERROR, 'DATA on no stream');
    const padded = (flags & Flag.PADDED) !== 0;
    if (padded && length === 0) failConnection(Http2Error.FRAME_SIZE_ERROR, 'padding without a length');
    if (padded && input.size < FRAME_HEADER_SIZE + 1) return false;
    const overhead = padded ? input.bytes[input.start + FRAME_HEADER_SIZE]! + 1 : 0;
    if (overhead > length) failConnection(Http2Error.PROTOCOL_ERROR, 'padding too long');
    input.start += FRAME_HEADER_SIZE + (padded ? 1 : 0);
    this.#state = State.DATA;
    this.#dataLeft = length - overhead;
    this.#paddingLeft = padded ? overhead - 1 : 0;
    this.#streams.onDataStart(streamId, length, overhead, (flags & Flag.END_STREAM) !== 0);
    return true;
  }

  #readData(): boolean {
    const input = this.#input;
    if (this.#dataLeft > 0) {
      const size = Math.min(this.#dataLeft, input.size);
      if (size === 0) return false;
      const start = input.start;
      input.start += size;
      this.#dataLeft -= size;
      this.#streams.onDataPart(input.bytes, start, start + size);
      if (this.#dataLeft > 0) return false;
    }
    const padding = Math.min(this.#paddingLeft, input.size);
    input.start += padding;
    this.#paddingLeft -= padding;
    if (this.#paddingLeft > 0) return false;
    this.#state = State.FRAME;
    this.#streams.onDataEnd();
    return true;
  }

  // biome-ignore lint/complexity/useMaxParams: called per frame, an object for it would cost.
  #readHeaders(flags: number, streamId: number, bytes: Buffer, at: number, length: number): void {
    if (streamId === 0) failConnection(Http2Error.PROTOCOL_ERROR, 'HEADERS on no stream');
    let start = at;
    let end = at + length;
    if ((flags & Flag.PADDED) !== 0) {
      if (length < 1) failConnection(Http2Error.FRAME_SIZE_ERROR, 'padding without a length');
      end -= bytes[start]!;
      start++;
    }
    let selfDependent = false;
    if ((flags & Flag.PRIORITY) !== 0) {
      if (start + 5 > at + length) failConnection(Http2Error.FRAME_SIZE_ERROR, 'priority cut off');
      selfDependent = (bytes.readUInt32BE(start) & 0x7fff_ffff) === streamId;
      start += 5;
    }
    if (start > end) failConnection(Http2Error.PROTOCOL_ERROR, 'padding too long');
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) {
      this.#streams.onHeaderBlock(streamId, endStream, selfDependent, bytes, start, end);
      return;
    }
    this.#block = new HeaderBlockBuffer(streamId, endStream, selfDependent);
    this.#block.add(bytes.subarray(start, end));
  }

  #readContinuation(flags: number, fragment: Buffer): void {
    const block = this.#block;
    if (block === undefined) failConnection(Http2Error.PROTOCOL_ERROR, 'CONTINUATION without HEADERS');
    block.add(fragment);
    if (block.frames - 1 > this.#limits.maxContinuationFrames) {
      failConnection(Http2Error.ENHANCE_YOUR_CALM, 'too many CONTINUATION frames');
    }
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    const bytes = block.take();
    this.#streams.onHeaderBlock(block.streamId, block.endStream, block.selfDependent, bytes, 0, bytes.length);
  }

  // biome-ignore lint/complexity/useMaxParams: called per frame, an object for it would cost.
  #readStreamFrame(type: number, streamId: number, bytes: Buffer, at: number, length: number): void {
    if (streamId === 0) failConnection(Http2Error.PROTOCOL_ERROR, 'RST_STREAM or PRIORITY on no stream');
    if (type === FrameType.RST_STREAM) this.#streams.onReset(streamId);
    else this.#streams.onPriority(streamId, length === 5 ? bytes.readUInt32BE(at) & 0x7fff_ffff : undefined);
  }

  #readConnectionFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === FrameType.PUSH_PROMISE) failConnection(Http2Error.PROTOCOL_ERROR, 'PUSH_PROMISE from a client');
    if (streamId !== 0) failConnection(Http2Error.PROTOCOL_ERROR, 'SETTINGS, PING or GOAWAY on a stream');
    const ack = (flags & Flag.ACK) !== 0;
    if (type === FrameType.PING) this.#connection.onPing(ack, payload);
    else if (type === FrameType.SETTINGS && !ack) this.#connection.onSettings(payload);
    else this.#connection.onOtherFrame();
  }
}
