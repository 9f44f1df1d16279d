import type { Http2ServerStream, Http2StreamListener } from '../http2/http2-api.js';
import { type CallHead, fieldOf, metadataOf } from './call-head.js';
import {
  compressMessage,
  decompressMessage,
  encodingForLevel,
  type GrpcEncoding,
  isGrpcEncoding,
} from './compression.js';
import type { GrpcCall, GrpcCompressionLevel, GrpcMethod, GrpcStreamListener } from './grpc-api.js';
import { type MessageFault, MessageReader, type MessageSink } from './message-reader.js';
import type { ResponseHeaders } from './response-headers.js';
import { Status } from './status.js';

/** Messages that may wait to be compressed before the sender is told to wait. */
const MAX_COMPRESSING = 4;
/** Longest delay that a timer takes. */
const MAX_DELAY = 2_147_483_647;

/** What a call needs of its connection. */
export interface CallContext {
  readonly headers: ResponseHeaders;
  readonly maxReceiveMessageSize: number;
  readonly onHandlerError: (error: unknown) => void;
}

/** One call: the stream below, the method above. */
export class Call implements GrpcCall, Http2StreamListener, MessageSink {
  readonly deadlineMs: number | undefined;

  readonly #stream: Http2ServerStream;
  readonly #head: CallHead;
  readonly #context: CallContext;
  readonly #method: GrpcMethod;
  readonly #reader: MessageReader;
  #listener: GrpcStreamListener | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The only message of a unary call. */
  #message: Uint8Array | undefined;
  #started = false;
  #finished = false;
  #cancelled = false;
  #cancelListeners: (() => void)[] | undefined;
  #drainListeners: (() => void)[] | undefined;
  #drained = true;
  // Messages coming in
  #paused = false;
  /** Messages that came while paused, and their end. */
  #held: Uint8Array[] = [];
  #ended = false;
  #endHandled = false;
  /** Bytes of the stream's window not given back yet. */
  #unread = 0;
  /** Decompression of what came last; later messages wait for it. */
  #decoding: Promise<void> | undefined;
  // Messages going out
  #encoding: GrpcEncoding | undefined;
  #compressing: Promise<void> | undefined;
  #compressingCount = 0;

  constructor(stream: Http2ServerStream, head: CallHead, method: GrpcMethod, context: CallContext) {
    this.#stream = stream;
    this.#head = head;
    this.#method = method;
    this.#context = context;
    this.#reader = new MessageReader(context.maxReceiveMessageSize, this);
    const { timeoutMs } = head;
    if (timeoutMs === undefined) this.deadlineMs = undefined;
    else {
      this.deadlineMs = performance.now() + timeoutMs;
      this.#armTimer(timeoutMs);
    }
  }

  /** Starts a stream method. */
  open(): void {
    const method = this.#method;
    if (method.kind !== 'stream') return;
    this.#guard(() => {
      this.#listener = method.open(this);
    });
  }

  // For the method

  get path(): string {
    return this.#head.head.path;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  metadata(name: string): string | undefined {
    return fieldOf(this.#head.head, name);
  }

  metadataBinary(name: string): Uint8Array | undefined {
    const value = this.metadata(name);
    return value === undefined || !/^[A-Za-z0-9+/]*={0,2}$/.test(value) ? undefined : Buffer.from(value, 'base64');
  }

  metadataEntries(): Iterable<readonly [name: string, value: string]> {
    return metadataOf(this.#head.head);
  }

  compress(level: GrpcCompressionLevel): void {
    const encoding = encodingForLevel(level, this.#head.acceptEncoding);
    // One encoding for the whole answer: its head names it.
    if (!this.#started || encoding === undefined) this.#encoding = encoding;
  }

  send(message: Uint8Array | readonly Uint8Array[]): boolean {
    if (this.#finished || this.#cancelled) return true;
    const parts = message instanceof Uint8Array ? [message] : message;
    const starts = !this.#started;
    this.#started = true;
    if (starts) {
      const { headers } = this.#context;
      this.#stream.sendHeaders(
        this.#encoding === undefined ? headers.initial : headers.compressed(this.#encoding),
        false,
      );
    }
    if (this.#encoding !== undefined || this.#compressing !== undefined) return this.#sendCompressed(parts);
    return this.#sendFramed(parts, 0);
  }

  onDrain(listener: () => void): void {
    if (this.#drained || this.#finished || this.#cancelled) listener();
    else if (this.#drainListeners === undefined) this.#drainListeners = [listener];
    else this.#drainListeners.push(listener);
  }

  finish(status: number, message = ''): void {
    if (this.#finished || this.#cancelled) return;
    this.#finished = true;
    this.#release();
    const end = () => this.#stream.sendHeaders(this.#context.headers.end(status, message, !this.#started), true);
    if (this.#compressing === undefined) end();
    else void this.#compressing.then(end);
  }

  onCancel(listener: () => void): void {
    if (this.#cancelled) listener();
    else if (this.#finished) return;
    else if (this.#cancelListeners === undefined) this.#cancelListeners = [listener];
    else this.#cancelListeners.push(listener);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#handOver();
  }

  // From the stream

  onData(bytes: Buffer, start: number, end: number): void {
    if (this.#finished || this.#cancelled) {
      this.#stream.consumed(end - start);
      return;
    }
    this.#unread += end - start;
    const fault = this.#reader.push(bytes, start, end);
    if (fault !== undefined) this.#refuse(fault);
    this.#giveBack();
  }

  onEnd(): void {
    if (this.#finished || this.#cancelled) return;
    if (this.#reader.unfinished) {
      this.finish(Status.INTERNAL, 'Stream ended inside a message');
      return;
    }
    this.#ended = true;
    if (this.#decoding === undefined) this.#handOver();
  }

  onAbort(): void {
    this.#cancel();
  }

  #armTimer(ms: number): void {
    this.#timer = setTimeout(
      () => {
        const left = this.deadlineMs! - performance.now();
        if (left > 0) this.#armTimer(left);
        else this.#onDeadline();
      },
      Math.min(Math.ceil(ms), MAX_DELAY),
    );
    this.#timer.unref();
  }

  #onDeadline(): void {
    if (this.#finished || this.#cancelled) return;
    const end = this.#context.headers.end(Status.DEADLINE_EXCEEDED, 'Deadline Exceeded', !this.#started);
    this.#cancel();
    this.#stream.sendHeaders(end, true);
  }

  #cancel(): void {
    if (this.#finished || this.#cancelled) return;
    this.#cancelled = true;
    this.#release();
    const listeners = this.#cancelListeners ?? [];
    this.#cancelListeners = undefined;
    for (const listener of listeners) this.#guard(listener);
  }

  /** The call takes no more messages. */
  #release(): void {
    clearTimeout(this.#timer);
    this.#held = [];
    this.#message = undefined;
    this.#stream.consumed(this.#unread);
    this.#unread = 0;
    const listeners = this.#drainListeners;
    this.#drainListeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) this.#guard(listener);
  }

  #refuse(fault: MessageFault): void {
    if (fault.kind === 'flag') {
      this.finish(Status.INTERNAL, `Bad GRPC frame type 0x${fault.flag.toString(16).padStart(2, '0')}`);
      return;
    }
    const max = this.#context.maxReceiveMessageSize;
    this.finish(Status.RESOURCE_EXHAUSTED, `Received message larger than max (${fault.size} vs. ${max})`);
  }

  /** A message, from the reader. */
  onMessage(message: Uint8Array, compressed: boolean): void {
    if (this.#finished || this.#cancelled) return;
    if (!compressed && this.#decoding === undefined) {
      this.#take(message);
      return;
    }
    const decoded = compressed ? this.#decode(message) : Promise.resolve(message);
    const before = this.#decoding;
    let done: Promise<void> | undefined;
    done = (async () => {
      await before;
      const plain = await decoded;
      if (plain !== undefined && !this.#finished && !this.#cancelled) this.#take(plain);
      if (this.#decoding !== done) return;
      this.#decoding = undefined;
      this.#giveBack();
      if (this.#ended) this.#handOver();
    })();
    this.#decoding = done;
  }

  /** Undefined: the call was ended because the message cannot be read. */
  async #decode(message: Uint8Array): Promise<Uint8Array | undefined> {
    const { encoding } = this.#head;
    if (!isGrpcEncoding(encoding)) {
      if (encoding === 'identity') this.finish(Status.INTERNAL, 'Compressed message without an encoding');
      else this.finish(Status.UNIMPLEMENTED, `Compression algorithm '${encoding}' is not supported`);
      return undefined;
    }
    const max = this.#context.maxReceiveMessageSize;
    try {
      return await decompressMessage(encoding, message, max);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
        this.finish(Status.RESOURCE_EXHAUSTED, `Received message larger than max (more than ${max})`);
      } else this.finish(Status.INTERNAL, `Decompression of the message failed: ${(error as Error).message}`);
      return undefined;
    }
  }

  /** A message is there to be handed over. */
  #take(message: Uint8Array): void {
    if (this.#method.kind === 'unary') {
      if (this.#message === undefined) this.#message = message;
      else this.finish(Status.INTERNAL, 'More than one request message');
    } else if (this.#paused || this.#held.length > 0) this.#held.push(message);
    else this.#guard(() => this.#listener?.onMessage(message));
  }

  /** Hands over what has been held back, and the end behind it. */
  #handOver(): void {
    while (this.#held.length > 0) {
      if (this.#paused) return;
      const message = this.#held.shift()!;
      this.#guard(() => this.#listener?.onMessage(message));
    }
    this.#giveBack();
    if (!this.#ended || this.#endHandled || this.#paused || this.#decoding !== undefined) return;
    if (this.#finished || this.#cancelled) return;
    this.#endHandled = true;
    if (this.#method.kind === 'stream') {
      this.#guard(() => this.#listener?.onHalfClose());
      return;
    }
    const method = this.#method;
    const message = this.#message;
    this.#message = undefined;
    if (message === undefined) this.finish(Status.INTERNAL, 'No request message');
    else this.#guard(() => method.handle(this, message));
  }

  /** Lets the peer send on, unless what it has sent is still waiting here. */
  #giveBack(): void {
    if (this.#unread === 0 || this.#held.length > 0 || this.#decoding !== undefined) return;
    if (this.#paused && !this.#reader.unfinished) return;
    const size = this.#unread;
    this.#unread = 0;
    this.#stream.consumed(size);
  }

  #sendFramed(parts: readonly Uint8Array[], flag: number): boolean {
    let size = 0;
    for (const part of parts) size += part.length;
    const prefix = Buffer.allocUnsafe(5);
    prefix[0] = flag;
    prefix.writeUInt32BE(size, 1);
    this.#drained = this.#stream.sendData([prefix, ...parts], size + 5);
    return this.#drained;
  }

  #sendCompressed(parts: readonly Uint8Array[]): boolean {
    const encoding = this.#encoding;
    const before = this.#compressing;
    const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    const compressed = encoding === undefined ? Promise.resolve(whole) : compressMessage(encoding, whole);
    this.#compressingCount++;
    let done: Promise<void> | undefined;
    done = (async () => {
      await before;
      const message = await compressed;
      this.#compressingCount--;
      if (this.#compressing === done) this.#compressing = undefined;
      if (this.#cancelled) return;
      const goOn = this.#sendFramed([message], encoding === undefined ? 0 : 1);
      if (goOn && this.#compressingCount === 0) this.onWritable();
    })();
    this.#compressing = done;
    if (this.#compressingCount < MAX_COMPRESSING && this.#drained) return true;
    this.#drained = false;
    return false;
  }

  onWritable(): void {
    this.#drained = true;
    const listeners = this.#drainListeners ?? [];
    this.#drainListeners = undefined;
    for (const listener of listeners) this.#guard(listener);
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#context.onHandlerError(error);
      this.finish(Status.UNKNOWN, 'Unexpected error in RPC handling');
    }
  }
}
