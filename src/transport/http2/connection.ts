import type { Duplex } from 'node:stream';
import { type DirectReader, DirectSocket } from '../direct-socket.js';
import { Input } from '../input.js';
import { SocketWriter } from '../socket-writer.js';
import { ConnectionFault, failConnection } from './connection-fault.js';
import { type ConnectionFrameHandler, FrameReader } from './frame-reader.js';
import type { Http2Handler } from './http2-api.js';
import type { ResolvedHttp2Options } from './http2-options.js';
import { Keepalive, type KeepaliveOwner } from './keepalive.js';
import {
  Flag,
  FrameType,
  Http2Error,
  type Http2ErrorCode,
  INITIAL_WINDOW,
  MAX_STREAM_ID,
  MAX_WINDOW,
  Setting,
} from './protocol.js';
import { Sender } from './sender.js';
import { checkSetting, encodeSettings } from './settings.js';
import { Streams, type StreamsOwner } from './streams.js';
import { TokenBucket } from './token-bucket.js';

/** Where the connection stands. */
const State = {
  OPEN: 0,
  /** What still comes is dropped, until the peer closes too. */
  DISCARD: 1,
  CLOSED: 2,
} as const;

/** Payloads of our pings. */
const KEEPALIVE_PING = Buffer.from('keepaliv');
const SHUTDOWN_PING = Buffer.from('shutdown');
const NOTHING = Buffer.alloc(0);

/** The state machine of one HTTP/2 server connection (RFC 9113). */
export class Http2Connection implements StreamsOwner, KeepaliveOwner, ConnectionFrameHandler, DirectReader {
  readonly finished: Promise<void>;

  readonly #socket: Duplex;
  readonly #options: ResolvedHttp2Options;
  readonly #writer: SocketWriter;
  readonly #sender: Sender;
  readonly #keepalive: Keepalive;
  readonly #input = new Input();
  readonly #reader: FrameReader;
  readonly #streams: Streams;
  readonly #control: TokenBucket;
  #state: number = State.OPEN;
  #advancing = false;
  #paused = false;
  #shuttingDown = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(socket: Duplex, handler: Http2Handler, options: ResolvedHttp2Options) {
    this.#socket = socket;
    this.#options = options;
    this.#writer = new SocketWriter(socket);
    this.#sender = new Sender(this.#writer, options.writeHighWater, (stream) => this.#streams.onLocalEnd(stream));
    this.#streams = new Streams(this.#sender, handler, options, this);
    this.#control = new TokenBucket(options.maxControlFrames, options.controlRefillPerSecond);
    this.#keepalive = new Keepalive(options, this);
    this.#reader = new FrameReader(this.#input, this.#streams, this, options);
    this.finished = new Promise((resolve) => {
      socket.once('close', () => {
        this.#onSocketClose();
        resolve();
      });
    });
    if (socket instanceof DirectSocket) socket.reader = this;
    else socket.on('data', (chunk: Buffer) => this.onData(chunk));
    socket.on('end', () => this.#endAndDiscard());
    socket.on('drain', () => this.#onDrain());
    // What went wrong with a socket is of no interest: `close` follows, and the peer cannot be told.
    socket.on('error', () => {});
    this.#greet();
  }

  get streamCount(): number {
    return this.#streams.count;
  }

  /** Lets the peer know that it shall open no more streams, finishes those that are open, then closes. */
  shutdown(): void {
    if (this.#shuttingDown || this.#state >= State.DISCARD) return;
    this.#shuttingDown = true;
    // The first GOAWAY refuses nothing. What the peer sent before it saw that is known once it answers the ping.
    this.#goAway(MAX_STREAM_ID, Http2Error.NO_ERROR, '');
    this.#sender.frame(FrameType.PING, 0, 0, SHUTDOWN_PING);
    this.wrote();
    if (!this.#reader.greeted) this.#endAndDiscard();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  get answered(): number {
    return this.#sender.answered;
  }

  sendKeepalivePing(): void {
    this.#sender.frame(FrameType.PING, 0, 0, KEEPALIVE_PING);
    this.wrote();
  }

  // From the socket

  readTarget(): undefined {
    return undefined;
  }

  onTarget(): void {}

  onData(chunk: Buffer): void {
    if (this.#state >= State.DISCARD) return;
    this.#keepalive.onRead();
    this.#input.add(chunk);
    this.#advancing = true;
    try {
      while (this.#state === State.OPEN && this.#reader.step());
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
    this.#streams.abortAll();
  }

  wrote(): void {
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
    }
    this.#writer.schedule();
  }

  // Other frames

  onSettings(payload: Buffer): void {
    this.useless();
    for (let i = 0; i < payload.length; i += 6) {
      this.#applySetting(payload.readUInt16BE(i), payload.readUInt32BE(i + 2));
    }
    this.#sender.frame(FrameType.SETTINGS, Flag.ACK, 0, NOTHING);
    this.#sender.pump();
  }

  #applySetting(id: number, value: number): void {
    const wrong = checkSetting(id, value);
    if (wrong !== undefined) failConnection(wrong, 'setting out of range');
    const sender = this.#sender;
    if (id === Setting.HEADER_TABLE_SIZE) sender.encoder.setTableSize(value);
    else if (id === Setting.MAX_FRAME_SIZE) sender.maxFrameSize = value;
    else if (id === Setting.INITIAL_WINDOW_SIZE) {
      const change = value - sender.initialStreamWindow;
      sender.initialStreamWindow = value;
      this.#streams.widenAll(change);
    }
  }

  onPing(ack: boolean, payload: Buffer): void {
    this.useless();
    if (ack) {
      if (this.#shuttingDown && payload.equals(SHUTDOWN_PING)) this.#stopAccepting();
      return;
    }
    if (!this.#keepalive.onPing()) failConnection(Http2Error.ENHANCE_YOUR_CALM, 'too_many_pings');
    this.#sender.frame(FrameType.PING, Flag.ACK, 0, payload);
  }

  onWindowUpdate(by: number): void {
    this.useless();
    if (by === 0) failConnection(Http2Error.PROTOCOL_ERROR, 'window widened by nothing');
    this.#sender.window += by;
    if (this.#sender.window > MAX_WINDOW) failConnection(Http2Error.FLOW_CONTROL_ERROR, 'window too large');
    this.#sender.pump();
  }

  onOtherFrame(): void {
    this.useless();
  }

  // The end of the connection

  useless(): void {
    if (!this.#control.take()) failConnection(Http2Error.ENHANCE_YOUR_CALM, 'too many control frames');
  }

  useful(worth: number): void {
    this.#control.give(worth);
  }

  idle(): void {
    if (this.#streams.lastAccepted < MAX_STREAM_ID) this.#endAndDiscard();
  }

  #stopAccepting(): void {
    this.#streams.lastAccepted = this.#streams.lastId;
    this.#goAway(this.#streams.lastId, Http2Error.NO_ERROR, '');
    if (this.#streams.count === 0) this.#endAndDiscard();
  }

  #goAway(lastId: number, code: Http2ErrorCode, reason: string): void {
    const payload = Buffer.alloc(8 + reason.length);
    payload.writeUInt32BE(lastId, 0);
    payload.writeUInt32BE(code, 4);
    payload.write(reason, 8, 'latin1');
    this.#sender.frame(FrameType.GOAWAY, 0, 0, payload);
  }

  #fail(code: Http2ErrorCode, reason: string): void {
    this.#goAway(this.#streams.lastId, code, reason);
    this.#endAndDiscard();
  }

  /** Sends what there is to send and closes our side; see the same in HTTP/1.1. */
  #endAndDiscard(): void {
    if (this.#state >= State.DISCARD) return;
    this.#state = State.DISCARD;
    this.#input.start = this.#input.end;
    this.#input.release();
    this.#writer.flush();
    this.#streams.abortAll();
    this.#socket.end(() => {
      if (this.#state === State.CLOSED) return;
      this.#linger = setTimeout(() => this.#socket.destroy(), this.#options.lingerMs);
      this.#linger.unref();
    });
    if (this.#paused) {
      this.#paused = false;
      this.#socket.resume();
    }
  }
}
