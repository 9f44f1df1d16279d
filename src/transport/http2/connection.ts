import type { Duplex } from 'node:stream';
import { ConnectionSocket, type SocketUser } from '../connection-socket.js';
import type { SocketWriter } from '../socket-writer.js';
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
import { StallWatch, type WatchedConnection } from './stall-watch.js';
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
/** Responses of which the peer takes nothing for so long, twice, are dropped in a shutdown. */
const SHUTDOWN_STALL_MS = 2000;
/** Longest `lingerMs` in a shutdown. */
const SHUTDOWN_LINGER_MS = 500;

/** The state machine of one HTTP/2 server connection (RFC 9113). */
export class Http2Connection
  implements StreamsOwner, KeepaliveOwner, ConnectionFrameHandler, SocketUser, WatchedConnection
{
  readonly finished: Promise<void>;

  readonly #socket: Duplex;
  readonly #options: ResolvedHttp2Options;
  readonly #life: ConnectionSocket;
  readonly #writer: SocketWriter;
  readonly #sender: Sender;
  readonly #keepalive: Keepalive;
  readonly #reader: FrameReader;
  readonly #streams: Streams;
  readonly #control: TokenBucket;
  readonly #watch: StallWatch;
  #state: number = State.OPEN;
  /** The peer was asked to open no more streams; the whole server stops. */
  #retired = false;
  #stopping = false;
  /** The setting for windows of streams has changed, and no stream has been looked at since. */
  #windowsChanged = false;
  #grace: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;

  constructor(socket: Duplex, handler: Http2Handler, options: ResolvedHttp2Options) {
    this.#socket = socket;
    this.#options = options;
    this.#life = new ConnectionSocket(socket, this, options.sendBudget);
    this.finished = this.#life.finished;
    this.#writer = this.#life.writer;
    this.#sender = new Sender(this.#writer, options, this.#life.account, (stream) => this.#streams.onLocalEnd(stream));
    this.#streams = new Streams(this.#sender, handler, options, this);
    this.#control = new TokenBucket(options.maxControlFrames, options.controlRefillPerSecond);
    this.#keepalive = new Keepalive(options, this);
    this.#reader = new FrameReader(this.#life.input, this.#streams, this, options);
    this.#watch = new StallWatch(this, options.readTimeoutMs, options.writeTimeoutMs);
    this.#greet();
  }

  get streamCount(): number {
    return this.#streams.count;
  }

  /**
   * Lets the peer know that it shall open no more streams, finishes those that are open, then closes. Whatever the peer
   * does: after `shutdownGraceMs` no stream is taken any more, and requests of which only a part has come are refused.
   */
  shutdown(): void {
    if (this.#stopping || this.#state >= State.DISCARD) return;
    this.#stopping = true;
    this.retire();
    if (this.#reader.greeted) this.#afterGrace(() => this.#onGraceOver());
    else this.#endAndDiscard();
  }

  /** Takes no more streams; those that are open have all the time they need. */
  retire(): void {
    if (this.#retired || this.#state >= State.DISCARD) return;
    this.#retired = true;
    // The first GOAWAY refuses nothing. What the peer sent before it saw that is known once it answers the ping.
    this.#goAway(MAX_STREAM_ID, Http2Error.NO_ERROR, '');
    this.#sender.frame(FrameType.PING, 0, 0, SHUTDOWN_PING);
    this.wrote();
    this.#afterGrace(() => this.#stopAccepting());
  }

  #afterGrace(action: () => void): void {
    clearInterval(this.#grace);
    this.#grace = setTimeout(() => {
      if (this.#state < State.DISCARD) this.#life.contain(action);
      this.#writer.flush();
    }, this.#options.shutdownGraceMs);
    this.#grace.unref();
  }

  #onGraceOver(): void {
    this.#streams.refuseIncomplete();
    this.#stopAccepting();
    if (this.#state >= State.DISCARD) return;
    // What is in flight is finished, but a peer that takes nothing of it is not waited for.
    let progress = Number.NaN;
    this.#grace = setInterval(() => {
      if (this.#writer.backlog > 0 && progress === this.#writer.progress) this.#socket.destroy();
      progress = this.#writer.progress;
      this.endStalled(Number.POSITIVE_INFINITY, 2);
    }, SHUTDOWN_STALL_MS);
    this.#grace.unref();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  // For the watch

  get unfinished(): boolean {
    return this.#state === State.OPEN && this.#reader.unfinished;
  }

  get backlog(): number {
    return this.#writer.backlog;
  }

  get progress(): number {
    return this.#writer.progress;
  }

  endStalled(readTicks: number, writeTicks: number): void {
    this.#life.contain(() => {
      this.#streams.endStalled(++this.#sender.tick, readTicks, writeTicks);
      this.#writer.flush();
    });
  }

  // For the keep-alive timers

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
    const life = this.#life;
    this.#keepalive.onRead();
    life.input.add(chunk);
    life.advancing = true;
    life.contain(() => {
      while (this.#state === State.OPEN && this.#reader.step()) if (!this.#reader.inBlock) this.#watch.onComplete();
      if (this.#windowsChanged) this.#settleWindows();
    });
    life.advancing = false;
    life.input.release();
    this.#writer.flush();
    this.#regulate();
  }

  /** A fault of the peer ends the connection as the protocol says, anything else at once. */
  onThrown(error: unknown): void {
    if (error instanceof ConnectionFault) this.fail(error.code, error.message);
    else {
      this.#options.onInternalError(error);
      this.#socket.destroy();
    }
  }

  onEnd(): void {
    this.#endAndDiscard();
  }

  #settleWindows(): void {
    this.#windowsChanged = false;
    if (this.#state !== State.OPEN) return;
    this.#streams.settleAll();
    this.#sender.pump();
  }

  onDrain(): void {
    this.#sender.pump();
    this.#writer.flush();
    this.#regulate();
  }

  /** A peer that does not read the responses is not read from. */
  #regulate(): void {
    this.#sender.count();
    this.#life.pauseReading(this.#state < State.DISCARD && this.#writer.backlog > this.#options.maxSendBacklog);
  }

  onClose(): void {
    this.#state = State.CLOSED;
    clearInterval(this.#grace);
    clearInterval(this.#linger);
    this.#watch.stop();
    this.#keepalive.stop();
    this.#streams.abortAll();
  }

  wrote(): void {
    this.#life.wrote();
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
  }

  #applySetting(id: number, value: number): void {
    const wrong = checkSetting(id, value);
    if (wrong !== undefined) failConnection(wrong, 'setting out of range');
    const sender = this.#sender;
    if (id === Setting.HEADER_TABLE_SIZE) sender.encoder.setTableSize(value);
    else if (id === Setting.MAX_FRAME_SIZE) sender.maxFrameSize = value;
    else if (id === Setting.INITIAL_WINDOW_SIZE) {
      // The streams are looked at once, after all that this read has brought.
      sender.initialStreamWindow = value;
      this.#windowsChanged = true;
    }
  }

  onPing(ack: boolean, payload: Buffer): void {
    this.useless();
    if (ack) {
      if (this.#retired && payload.equals(SHUTDOWN_PING)) this.#stopAccepting();
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
    if (this.#streams.lastAccepted < MAX_STREAM_ID) return;
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

  fail(code: Http2ErrorCode, reason: string): void {
    if (this.#state >= State.DISCARD) return;
    this.#goAway(this.#streams.lastId, code, reason);
    this.#endAndDiscard();
  }

  /** Sends what there is to send and closes our side; see the same in HTTP/1.1. */
  #endAndDiscard(): void {
    if (this.#state >= State.DISCARD) return;
    this.#state = State.DISCARD;
    this.#writer.flush();
    this.#streams.abortAll();
    this.#socket.end();
    this.#lingerOn();
    this.#life.discard();
  }

  /** Cuts the connection when a time passes in which the peer neither closes its side nor takes what waits for it. */
  #lingerOn(): void {
    const ms = this.#stopping ? Math.min(this.#options.lingerMs, SHUTDOWN_LINGER_MS) : this.#options.lingerMs;
    let progress = Number.NaN;
    this.#linger = setInterval(() => {
      const now = this.#writer.progress;
      if (this.#writer.backlog === 0 || now === progress) this.#socket.destroy();
      progress = now;
    }, ms);
    this.#linger.unref();
  }
}
