import type { Duplex } from 'node:stream';
import { ConnectionSocket, type SocketUser } from '../connection-socket.js';
import type { Input } from '../input.js';
import type { SocketWriter } from '../socket-writer.js';
import { BodyReader } from './body-reader.js';
import { CR, LF } from './characters.js';
import { HTTP1_FAULTS, type Http1Fault } from './faults.js';
import type { Http1Head } from './head.js';
import { HeadParser, NEED_MORE, NO_VERSION } from './head-parser.js';
import { HeldMemory } from './held-memory.js';
import type { Http1Connection, Http1Handler } from './http1-api.js';
import type { ResolvedHttp1Options } from './http1-options.js';
import { Progress } from './progress.js';
import { Reply, type ReplyOwner, writeReply } from './reply.js';
import { type ReplyConnection, replyHead } from './reply-head.js';
import { Request } from './request.js';

/** What comes next on the connection. */
const State = {
  /** A request line or headers. */
  HEAD: 0,
  BODY: 1,
  /** The response to the request that was read; what the peer sends meanwhile waits. */
  RESPONSE: 2,
  /** Nothing: what still comes is dropped, until the peer closes too. */
  DISCARD: 3,
  CLOSED: 4,
} as const;

const NO_BODY = new Uint8Array(0);

/** The state machine of one HTTP/1.x connection. */
export class Connection implements Http1Connection, ReplyOwner, SocketUser {
  readonly finished: Promise<void>;
  readonly writer: SocketWriter;

  readonly #socket: Duplex;
  readonly #life: ConnectionSocket;
  readonly #handler: Http1Handler;
  readonly #options: ResolvedHttp1Options;
  readonly #parser: HeadParser;
  readonly #input: Input;
  /** Of the budget of requests: reserved for a body, and for what belongs to the request in flight. */
  readonly #memory: HeldMemory;
  readonly #body: BodyReader;
  readonly #progress: Progress;
  #state: number = State.HEAD;
  #peerEnded = false;
  #closing = false;
  #head: Http1Head | undefined;
  #reply: Reply | undefined;
  #drainListeners: (() => void)[] = [];
  #linger: NodeJS.Timeout | undefined;
  /** What the socket's timeout is set to. */
  #timeoutMs = 0;
  /** Bytes of TLS records that had been sent when the socket had last been without a byte for so long. */
  #ciphertextSent = 0;
  #receivedFromNs = 0;

  constructor(socket: Duplex, handler: Http1Handler, options: ResolvedHttp1Options) {
    this.#socket = socket;
    this.#handler = handler;
    this.#options = options;
    this.#life = new ConnectionSocket(socket, this, options.responseBudget);
    this.finished = this.#life.finished;
    this.writer = this.#life.writer;
    this.#input = this.#life.input;
    this.#parser = new HeadParser(options);
    this.#memory = new HeldMemory(options.requestBudget);
    this.#body = new BodyReader(this.#input, this.#memory, options);
    this.#progress = new Progress(options.stallTimeoutMs);
    this.#timeOut(options.stallTimeoutMs);
    socket.on('timeout', () => this.#onStall());
  }

  get inFlight(): number {
    return this.#reply === undefined ? 0 : 1;
  }

  shutdown(): void {
    this.#closing = true;
    // A peer that does not read what it asked for has the time of a closed connection left.
    this.#timeOut(this.#options.lingerMs);
    // What has come in part only is not accepted work.
    if (this.#state === State.HEAD) this.#endAndDiscard();
    else if (this.#state === State.BODY) this.#refuse('stopping');
  }

  destroy(): void {
    this.#socket.destroy();
  }

  // Towards the reply

  replyConnection(): ReplyConnection {
    const head = this.#head!;
    return { version: head.version, keepAlive: head.keepAlive && !this.#closing && !this.#peerEnded };
  }

  get headOnly(): boolean {
    return this.#head!.method === 'HEAD';
  }

  admits(bytes: number): boolean {
    return this.#life.account.admits(bytes);
  }

  hold(bytes: number): boolean {
    return this.#memory.hold(bytes);
  }

  handOver(bytes: number): void {
    this.#memory.handOver(bytes);
  }

  wrote(): void {
    this.#life.count();
    this.#life.wrote();
  }

  keepsUp(): boolean {
    return this.writer.backlog < this.#options.writeHighWater;
  }

  whenDrained(listener: () => void): void {
    if (this.keepsUp()) {
      listener();
      return;
    }
    this.#drainListeners.push(listener);
    this.writer.flush();
    if (!this.writer.blocked) setImmediate(() => this.#life.contain(() => this.onDrain()));
  }

  replied(reply: Reply): void {
    if (reply !== this.#reply) return;
    const stays = this.replyConnection().keepAlive && !reply.untilClose;
    this.#reply = undefined;
    this.#memory.release();
    this.#life.count();
    this.#drainListeners = [];
    if (!stays) {
      this.#endAndDiscard();
      return;
    }
    this.#state = State.HEAD;
    if (this.#life.advancing) return;
    // At the end of the turn: the responses of many connections then leave one right behind the other, and the peer's
    // process is woken once for all of them (measured: a quarter less CPU per request at 16 connections).
    this.writer.schedule();
    if (this.#input.size > 0) this.#advance();
    this.#regulate();
  }

  // From the socket

  readTarget(): Uint8Array | undefined {
    if (this.#state !== State.BODY) return undefined;
    let target: Uint8Array | undefined;
    this.#life.contain(() => {
      const room = this.#body.target();
      if (room === 'memory') this.#refuse(room);
      else target = room;
    });
    return target;
  }

  onTarget(count: number): void {
    // Unless the connection was refused or closed while the target was out.
    if (this.#state !== State.BODY) return;
    this.#life.contain(() => {
      if (this.#body.filled(count)) {
        this.#advance();
        this.#regulate();
      } else this.#watch(this.#body.received);
    });
  }

  onData(chunk: Buffer): void {
    if (this.#state >= State.DISCARD) return;
    this.#life.contain(() => {
      this.#input.add(chunk);
      if (this.#state !== State.RESPONSE) this.#advance();
      this.#regulate();
    });
  }

  onThrown(error: unknown): void {
    this.#options.onHandlerError(error);
    this.#socket.destroy();
  }

  /**
   * The peer sends no more: it has closed the connection, or only its side of it; the socket does not say which. With
   * `halfClose` it still gets its response, unless that goes on and on. Without, it counts as gone where there is work to
   * save; a response that nobody would stop comes soon, and is sent.
   */
  onEnd(): void {
    this.#peerEnded = true;
    if (this.#state === State.RESPONSE) {
      const reply = this.#reply;
      if (reply?.streaming || (reply?.awaited && !this.#options.halfClose)) this.#socket.destroy();
    } else if (this.#state === State.DISCARD) this.#socket.end();
    else this.#endAndDiscard();
  }

  onDrain(): void {
    this.#life.count();
    if (this.#state === State.HEAD) {
      this.#advance();
      this.#regulate();
    }
    if (!this.keepsUp()) return;
    const listeners = this.#drainListeners;
    this.#drainListeners = [];
    for (const listener of listeners) listener();
  }

  onClose(): void {
    this.#state = State.CLOSED;
    clearTimeout(this.#linger);
    this.#memory.release();
    this.#body.drop();
    const reply = this.#reply;
    this.#reply = undefined;
    this.#drainListeners = [];
    reply?.gone();
  }

  // Time and memory

  /** Says how long the socket may be without a byte in either direction before `#onStall` is asked; 0 = for ever. */
  #timeOut(ms: number): void {
    this.#timeoutMs = ms;
    if ('setTimeout' in this.#socket) (this.#socket as Duplex & { setTimeout(ms: number): void }).setTimeout(ms);
  }

  /** For some time there was no progress: cuts the connection unless it is the model that takes its time, or all is done. */
  #onStall(): void {
    if (this.writer.backlog === 0) {
      if (this.#state === State.RESPONSE) return;
      if (this.#state === State.HEAD && this.#input.size === 0) return;
    }
    const { ciphertextSent } = this.writer;
    if (ciphertextSent !== this.#ciphertextSent) {
      // A peer that reads slowly over TLS: the socket's timeout does not see it.
      this.#ciphertextSent = ciphertextSent;
      if (this.writer.backlog > 0) {
        this.#timeOut(this.#timeoutMs);
        return;
      }
    }
    this.#socket.destroy();
  }

  /** A part of a head or body has come, and more is missing: cuts a peer that sends next to nothing. */
  #watch(received: number): void {
    if (this.#progress.tooSlow(received)) this.#socket.destroy();
  }

  /** Whether the peer has left so many responses unread that its next request has to wait. */
  #blocked(): boolean {
    return this.#state === State.HEAD && this.writer.backlog > this.#options.maxSendBacklog;
  }

  /** Stops reading while later requests pile up behind the present one, or behind responses that nobody reads. */
  #regulate(): void {
    const ahead = this.#state === State.RESPONSE && this.#input.size > this.#options.maxPipelinedSize;
    this.#life.pauseReading(ahead || this.#blocked());
  }

  // The machine

  /** Reads on as far as the bytes go, or until a response has to be waited for. */
  #advance(): void {
    this.#life.advancing = true;
    while (!this.#blocked() && this.#step());
    this.#life.advancing = false;
    this.#input.release();
    this.writer.flush();
  }

  /** One step; false if it cannot go on now. */
  #step(): boolean {
    if (this.#state === State.HEAD) return this.#readHead();
    return this.#state === State.BODY && this.#readBody();
  }

  #readHead(): boolean {
    const input = this.#input;
    const { bytes, end } = input;
    // RFC 9112 section 2.2: empty lines before a request are passed over.
    if (this.#parser.fresh) {
      while (input.start < end && (bytes[input.start] === CR || bytes[input.start] === LF)) input.start++;
    }
    if (input.start === end) {
      if (this.#closing) this.#endAndDiscard();
      return false;
    }
    if (this.#parser.fresh) {
      const { receiveClock } = this.#options;
      this.#receivedFromNs = receiveClock.enabled ? receiveClock.nowNs() : 0;
    }
    const next = this.#parser.parse(bytes, input.start, end);
    if (next === NEED_MORE) {
      this.#watch(0);
      return false;
    }
    if (next < 0) {
      if (next === NO_VERSION) this.#discard();
      else this.#refuse(this.#parser.fault);
      return false;
    }
    input.start = next;
    const head = this.#parser.head;
    this.#head = head;
    this.#progress.restart();
    if (head.contentLength > this.#options.maxBodySize) {
      this.#refuse('bodySize');
      return false;
    }
    if (head.expect && head.contentLength !== 0 && !this.#closing) {
      this.writer.appendLatin1(`HTTP/${head.version} 100 Continue\r\n\r\n`);
    }
    if (head.contentLength === 0) return this.#handle(NO_BODY);
    this.#body.begin(head.contentLength);
    this.#state = State.BODY;
    return true;
  }

  #readBody(): boolean {
    const body = this.#body.read();
    if (typeof body === 'object') return this.#handle(body);
    if (body === undefined) this.#watch(this.#body.received);
    else this.#refuse(body);
    return false;
  }

  #handle(body: Uint8Array): boolean {
    this.#progress.restart();
    const reply = new Reply(this);
    this.#reply = reply;
    this.#state = State.RESPONSE;
    try {
      this.#handler(new Request(this.#head!, body, this.#receivedFromNs), reply);
    } catch (error) {
      this.#options.onHandlerError(error);
      if (reply.streaming) this.#socket.destroy();
      else reply.send(500, []);
    }
    return true;
  }

  // The end

  #refuse(fault: Http1Fault): void {
    const { status } = HTTP1_FAULTS[fault];
    if (status !== 0) {
      const version = this.#head?.version ?? '1.1';
      const text =
        fault === 'chunkCount'
          ? `Chunked request body exceeds maximum of ${this.#options.maxBodyChunks} non-empty chunks. Send fewer or larger HTTP chunks.`
          : HTTP1_FAULTS[fault].text;
      const body = Buffer.from(JSON.stringify({ error: text }));
      const headers = [['Content-Type', 'application/json']] as const;
      const head = replyHead(status, headers, { length: body.length }, { version, keepAlive: false });
      writeReply(this.writer, head, [body]);
    }
    this.#endAndDiscard();
  }

  /**
   * Sends what there is to send and closes our side; the peer's bytes are read and dropped for a while. Closing at once
   * would make the system send a reset, which can overtake the response.
   */
  #endAndDiscard(): void {
    if (this.#state >= State.DISCARD) return;
    this.#discard();
    this.writer.flush();
    // The time runs from when the last byte is with the system: a large response to a slow peer takes as long as it takes.
    this.#socket.end(() => {
      if (this.#peerEnded || this.#state === State.CLOSED) return;
      this.#linger = setTimeout(() => this.#socket.destroy(), this.#options.lingerMs);
      this.#linger.unref();
    });
  }

  #discard(): void {
    this.#state = State.DISCARD;
    this.#memory.release();
    this.#body.drop();
    this.#life.discard();
  }
}
