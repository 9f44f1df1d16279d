import type { SocketWriter } from '../socket-writer.js';
import type { HeaderList, Http1ChunkedBody, Http1Reply } from './http1-api.js';
import { isBodyless, type ReplyConnection, replyHead } from './reply-head.js';

/** What a reply needs of its connection. */
export interface ReplyOwner {
  /** What the response has to say about the connection; may change until the response starts. */
  replyConnection(): ReplyConnection;
  readonly writer: SocketWriter;
  /** Whether the request asked for the head of a response only. */
  readonly headOnly: boolean;
  /** Whether that many more bytes may wait for the peer. */
  admits(bytes: number): boolean;
  /** Counts bytes that are kept for the request. */
  hold(bytes: number): boolean;
  /** Counts bytes no longer that are kept for the request. */
  handOver(bytes: number): void;
  /** Something was added to the writer. */
  wrote(): void;
  /** Whether the peer keeps up. */
  keepsUp(): boolean;
  /** Calls back once the peer has caught up. */
  whenDrained(listener: () => void): void;
  /** The response is complete. */
  replied(reply: Reply): void;
}

/** Answers up to this size are sent without asking whether they may wait. */
const COUNTED = 16 * 1024;
const TOO_MUCH_TYPE: HeaderList = [['Content-Type', 'application/json']];
const TOO_MUCH = Buffer.from(
  '{"error":"as many bytes of responses wait for clients as may (--response-memory-limit); try again later"}',
);

/** Where the response stands. */
const State = { OPEN: 0, CHUNKED: 1, DONE: 2, GONE: 3 } as const;

/** The response to one request. */
export class Reply implements Http1Reply {
  readonly #owner: ReplyOwner;
  #state: number = State.OPEN;
  #listeners: (() => void)[] | undefined;
  /** A body of unknown length for HTTP/1.0, which ends with the connection. */
  #untilClose = false;

  constructor(owner: ReplyOwner) {
    this.#owner = owner;
  }

  get closed(): boolean {
    return this.#state >= State.DONE;
  }

  /** Whether the end of the connection is the end of the body. */
  get untilClose(): boolean {
    return this.#untilClose;
  }

  /** Whether a chunked response has started and is not complete. */
  get streaming(): boolean {
    return this.#state === State.CHUNKED;
  }

  /** Whether somebody works on the response who would stop if the peer went away. */
  get awaited(): boolean {
    return this.#listeners !== undefined;
  }

  send(status: number, headers: HeaderList, body?: Uint8Array | readonly Uint8Array[]): void {
    if (this.#state !== State.OPEN) return;
    const parts = body === undefined ? [] : body instanceof Uint8Array ? [body] : body;
    let length = 0;
    for (const part of parts) length += part.length;
    const owner = this.#owner;
    if (length > COUNTED && !owner.admits(length)) {
      this.send(503, TOO_MUCH_TYPE, TOO_MUCH);
      return;
    }
    const head = replyHead(status, headers, { length }, owner.replyConnection());
    this.#state = State.DONE;
    writeReply(owner.writer, head, owner.headOnly || isBodyless(status) ? [] : parts);
    owner.replied(this);
  }

  startChunked(status: number, headers: HeaderList): Http1ChunkedBody {
    if (this.#state === State.OPEN) {
      const connection = this.#owner.replyConnection();
      // RFC 9112 section 7.1: HTTP/1.0 knows no chunks.
      this.#untilClose = connection.version === '1.0';
      const head = this.#untilClose
        ? replyHead(status, headers, 'close', { version: '1.0', keepAlive: false })
        : replyHead(status, headers, 'chunked', connection);
      this.#state = State.CHUNKED;
      this.#owner.writer.appendLatin1(head);
      this.#owner.wrote();
    }
    return {
      write: (chunk) => this.#write(chunk),
      onDrain: (listener) => {
        if (this.#state === State.CHUNKED) this.#owner.whenDrained(listener);
      },
      end: () => this.#end(),
    };
  }

  hold(bytes: number): boolean {
    return this.closed || this.#owner.hold(bytes);
  }

  handOver(bytes: number): void {
    if (!this.closed) this.#owner.handOver(bytes);
  }

  onClose(listener: () => void): void {
    if (this.#state === State.GONE) listener();
    else if (this.#state !== State.DONE) {
      if (this.#listeners === undefined) this.#listeners = [listener];
      else this.#listeners.push(listener);
    }
  }

  /** The peer has gone: informs whoever wants to know. */
  gone(): void {
    if (this.#state >= State.DONE) return;
    this.#state = State.GONE;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
  }

  #write(chunk: Uint8Array | string): boolean {
    if (this.#state !== State.CHUNKED || chunk.length === 0) return true;
    const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const { writer, headOnly } = this.#owner;
    if (headOnly) return true;
    if (this.#untilClose) {
      writer.append(data);
      this.#owner.wrote();
      return this.#owner.keepsUp();
    }
    writer.appendLatin1(`${data.length.toString(16)}\r\n`);
    writer.append(data);
    writer.appendLatin1('\r\n');
    this.#owner.wrote();
    return this.#owner.keepsUp();
  }

  #end(): void {
    if (this.#state !== State.CHUNKED) return;
    this.#state = State.DONE;
    if (!this.#untilClose && !this.#owner.headOnly) this.#owner.writer.appendLatin1('0\r\n\r\n');
    this.#owner.replied(this);
  }
}

/** Adds head and body to what is to be sent; a small body is copied behind the head: one buffer is cheaper than two. */
export function writeReply(writer: SocketWriter, head: string, body: readonly Uint8Array[]): void {
  writer.appendLatin1(head);
  writer.appendAll(body);
}
