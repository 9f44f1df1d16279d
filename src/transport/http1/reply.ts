import type { HeaderList, Http1ChunkedBody, Http1Reply } from './http1-api.js';
import { latin1, type ReplyConnection, replyHead, replyPieces } from './reply-head.js';

/** What a reply needs of its connection. */
export interface ReplyOwner {
  /** What the answer has to say about the connection; may change until the answer starts. */
  replyConnection(): ReplyConnection;
  /** Adds pieces of an answer to what is to be sent. */
  emit(pieces: readonly Uint8Array[]): void;
  /** Whether the peer keeps up. */
  keepsUp(): boolean;
  /** Calls back once the peer has caught up. */
  whenDrained(listener: () => void): void;
  /** The answer is complete. */
  replied(reply: Reply): void;
}

/** Where the answer stands. */
const State = { OPEN: 0, CHUNKED: 1, DONE: 2, GONE: 3 } as const;

/** The answer to one request. */
export class Reply implements Http1Reply {
  readonly #owner: ReplyOwner;
  #state: number = State.OPEN;
  #listeners: (() => void)[] | undefined;

  constructor(owner: ReplyOwner) {
    this.#owner = owner;
  }

  get closed(): boolean {
    return this.#state >= State.DONE;
  }

  /** Whether a chunked answer has started and is not complete. */
  get streaming(): boolean {
    return this.#state === State.CHUNKED;
  }

  send(status: number, headers: HeaderList, body?: Uint8Array | readonly Uint8Array[]): void {
    if (this.#state !== State.OPEN) return;
    const parts = body === undefined ? [] : body instanceof Uint8Array ? [body] : body;
    let length = 0;
    for (const part of parts) length += part.length;
    const head = replyHead(status, headers, { length }, this.#owner.replyConnection());
    this.#state = State.DONE;
    this.#owner.emit(replyPieces(head, parts, length));
    this.#owner.replied(this);
  }

  startChunked(status: number, headers: HeaderList): Http1ChunkedBody {
    if (this.#state === State.OPEN) {
      const head = replyHead(status, headers, 'chunked', this.#owner.replyConnection());
      this.#state = State.CHUNKED;
      this.#owner.emit([latin1(head)]);
    }
    return {
      write: (chunk) => this.#write(chunk),
      onDrain: (listener) => {
        if (this.#state === State.CHUNKED) this.#owner.whenDrained(listener);
      },
      end: () => this.#end(),
    };
  }

  onClose(listener: () => void): void {
    if (this.#state === State.GONE) listener();
    else if (this.#state !== State.DONE) {
      if (this.#listeners === undefined) this.#listeners = [listener];
      else this.#listeners.push(listener);
    }
  }

  /** The peer has gone: tells whoever wants to know. */
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
    this.#owner.emit([latin1(`${data.length.toString(16)}\r\n`), data, latin1('\r\n')]);
    return this.#owner.keepsUp();
  }

  #end(): void {
    if (this.#state !== State.CHUNKED) return;
    this.#state = State.DONE;
    this.#owner.emit([latin1('0\r\n\r\n')]);
    this.#owner.replied(this);
  }
}
