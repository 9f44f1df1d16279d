import type { Http2ServerStream } from '../http2/http2-api.js';
import { compressMessage, type GrpcEncoding } from './compression.js';

/** Messages that may wait to be compressed before the sender is asked to wait. */
const MAX_COMPRESSING = 4;

/** Bytes before each message: a flag, and the message's size. */
export const PREFIX_SIZE = 5;

/** What the messages of a call need of it. */
export interface OutgoingOwner {
  readonly cancelled: boolean;
  /** A message could not be compressed. */
  onLost(error: unknown): void;
  /** Runs a function of the method; what it throws ends the call. */
  guard(action: () => void): void;
}

/** Frames the messages of one call, compresses them where that is wanted, and keeps their order. */
export class OutgoingMessages {
  /** Messages are compressed by this from now on; undefined = not. */
  encoding: GrpcEncoding | undefined;

  readonly #stream: Http2ServerStream;
  readonly #owner: OutgoingOwner;
  #compressing: Promise<void> | undefined;
  #compressingCount = 0;
  #drained = true;
  #listeners: (() => void)[] | undefined;

  constructor(stream: Http2ServerStream, owner: OutgoingOwner) {
    this.#stream = stream;
    this.#owner = owner;
  }

  /** Sends a message; `size` counts its prefix too. Returns whether the sender may go on at once. */
  send(parts: readonly Uint8Array[], size: number): boolean {
    if (this.encoding !== undefined || this.#compressing !== undefined) return this.#sendCompressed(parts);
    return this.#sendFramed(parts, size, 0);
  }

  /** Calls `end` behind the last message. */
  afterAll(end: () => void): void {
    if (this.#compressing === undefined) end();
    else void this.#compressing.then(() => this.#owner.guard(end));
  }

  /** Calls `listener` once the sender may go on. */
  whenDrained(listener: () => void): void {
    if (this.#drained) listener();
    else if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  /** The sender may go on. */
  drained(): void {
    this.#drained = true;
    this.release();
  }

  /** Calls whoever waits, drained or not: the call is over, or may go on. */
  release(): void {
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) this.#owner.guard(listener);
  }

  #sendFramed(parts: readonly Uint8Array[], size: number, flag: number): boolean {
    const prefix = Buffer.allocUnsafe(PREFIX_SIZE);
    prefix[0] = flag;
    prefix.writeUInt32BE(size - PREFIX_SIZE, 1);
    this.#drained = this.#stream.sendData([prefix, ...parts], size);
    return this.#drained;
  }

  #sendCompressed(parts: readonly Uint8Array[]): boolean {
    const { encoding } = this;
    const before = this.#compressing;
    const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    const compressed = encoding === undefined ? Promise.resolve(whole) : compressMessage(encoding, whole);
    this.#compressingCount++;
    let done: Promise<void> | undefined;
    done = (async () => {
      await before;
      const message = await compressed.catch((error: unknown) => error as Error);
      this.#compressingCount--;
      if (this.#compressing === done) this.#compressing = undefined;
      if (!(message instanceof Uint8Array)) this.#owner.onLost(message);
      else if (!this.#owner.cancelled) {
        const goOn = this.#sendFramed([message], message.length + PREFIX_SIZE, encoding === undefined ? 0 : 1);
        if (goOn && this.#compressingCount === 0) this.drained();
      }
    })();
    this.#compressing = done;
    if (this.#compressingCount < MAX_COMPRESSING && this.#drained) return true;
    this.#drained = false;
    return false;
  }
}
