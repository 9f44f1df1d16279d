import { type ByteBudget, NO_REQUEST_MEMORY } from '../byte-budget.js';
import { ByteQueue } from '../byte-queue.js';
import type { Http2ServerStream, Http2StreamListener } from '../http2/http2-api.js';
import { Http2Error } from '../http2/protocol.js';
import { type CallHead, fieldOf, metadataOf } from './call-head.js';
import { encodingForLevel, isGrpcEncoding } from './compression.js';
import type { GrpcCall, GrpcCompressionLevel, GrpcMethod, GrpcStreamListener, Release } from './grpc-api.js';
import { inflateMessage } from './inflate-message.js';
import { type MessageFault, MessageReader } from './message-reader.js';
import { inNextTurn, mayHandle, type TurnTaker } from './message-turns.js';
import { OutgoingMessages, type OutgoingOwner, PREFIX_SIZE } from './outgoing-messages.js';
import { RequestCharge } from './request-charge.js';
import type { ResponseHeaders } from './response-headers.js';
import { Status } from './status.js';

/** Longest delay that a timer takes. */
const MAX_DELAY = 2_147_483_647;

/** What a call needs of its connection. */
export interface CallContext {
  readonly headers: ResponseHeaders;
  readonly maxReceiveMessageSize: number;
  readonly maxInflatedMessageSize: number;
  readonly readTimeoutMs: number;
  readonly requestBudget: ByteBudget | undefined;
  readonly onHandlerError: (error: unknown) => void;
}

/** One call: the stream below, the method above. */
export class Call implements GrpcCall, Http2StreamListener, TurnTaker, OutgoingOwner {
  readonly deadlineMs: number | undefined;

  readonly #stream: Http2ServerStream;
  readonly #head: CallHead;
  readonly #context: CallContext;
  readonly #method: GrpcMethod;
  readonly #reader: MessageReader;
  readonly #charge: RequestCharge;
  readonly #outgoing: OutgoingMessages;
  #listener: GrpcStreamListener | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The only message of a unary call. */
  #message: Uint8Array | undefined;
  #started = false;
  #finished = false;
  #cancelled = false;
  #cancelListeners: (() => void)[] | undefined;
  // Messages coming in
  #paused = false;
  /** What came while messages could not be handed over. It is not cut into messages before: that would cost more. */
  #input: ByteQueue | undefined;
  /** Inside `#read`: what the listener does there is seen by it. */
  #reading = false;
  #ended = false;
  #endHandled = false;
  /** Bytes of the stream's window not given back yet. */
  #unread = 0;
  /** A message is being decompressed; later ones wait. */
  #inflating = false;
  /** Bytes of the message that is being handed over, unless somebody retains them. */
  #current = 0;

  constructor(stream: Http2ServerStream, head: CallHead, method: GrpcMethod, context: CallContext) {
    this.#stream = stream;
    this.#head = head;
    this.#method = method;
    this.#context = context;
    this.#reader = new MessageReader(context.maxReceiveMessageSize);
    this.#charge = new RequestCharge(context.requestBudget);
    this.#outgoing = new OutgoingMessages(stream, this);
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
    this.guard(() => {
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
    // One encoding for the whole response: its head names it.
    if (!this.#started || encoding === undefined) this.#outgoing.encoding = encoding;
  }

  send(message: Uint8Array | readonly Uint8Array[]): boolean {
    if (this.#finished || this.#cancelled) return true;
    const parts = message instanceof Uint8Array ? [message] : message;
    let size = PREFIX_SIZE;
    for (const part of parts) size += part.length;
    if (!this.#stream.admits(size)) {
      this.#abandon(Status.UNAVAILABLE, `too many bytes of responses wait to be read: ${size} more are not kept`);
      return true;
    }
    const starts = !this.#started;
    this.#started = true;
    if (starts) {
      const { headers } = this.#context;
      const { encoding } = this.#outgoing;
      this.#stream.sendHeaders(encoding === undefined ? headers.initial : headers.compressed(encoding), false);
    }
    return this.#outgoing.send(parts, size);
  }

  onDrain(listener: () => void): void {
    if (this.#over) listener();
    else this.#outgoing.whenDrained(listener);
  }

  finish(status: number, message = ''): void {
    if (this.#finished || this.#cancelled) return;
    this.#finished = true;
    this.#release();
    this.#outgoing.afterAll(() =>
      this.#stream.sendHeaders(this.#context.headers.end(status, message, !this.#started), true),
    );
  }

  retain(): Release {
    const bytes = this.#current;
    this.#current = 0;
    return this.#charge.retain(bytes);
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
    this.readOn();
  }

  // From the stream

  onData(bytes: Buffer, start: number, end: number): void {
    const size = end - start;
    if (this.#over) {
      this.#stream.consumed(size);
      return;
    }
    this.#unread += size;
    if (!this.#charge.take(size)) {
      this.#refuseForMemory();
      return;
    }
    const at = this.#input === undefined && !this.#reading ? this.#read(bytes, start, end) : start;
    if (at < end && !this.#over) {
      this.#input ??= new ByteQueue();
      this.#input.add([bytes.subarray(at, end)], end - at);
    }
    this.#afterRead();
  }

  onEnd(): void {
    if (this.#over) return;
    this.#ended = true;
    this.#afterRead();
  }

  onAbort(): void {
    // Also where the call has finished, and its last bytes still waited.
    clearTimeout(this.#timer);
    this.#cancel();
  }

  onFinished(): void {
    clearTimeout(this.#timer);
  }

  get incomplete(): boolean {
    if (this.#ended || this.#over || this.#paused || this.#inflating || this.#input !== undefined) return false;
    return this.#method.kind === 'unary' || this.#reader.unfinished;
  }

  onStalled(): void {
    const ms = this.#context.readTimeoutMs;
    this.#abandon(Status.UNAVAILABLE, `the request is incomplete and has made no progress for ${ms} ms`);
  }

  get #over(): boolean {
    return this.#finished || this.#cancelled;
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
    // What has been given and not taken in time is dropped: nobody waits for it any more.
    if (this.#finished) this.#stream.reset(Http2Error.CANCEL);
    else if (this.#stream.queued > 0) {
      this.#stream.reset(Http2Error.CANCEL);
      this.#cancel();
    } else this.#abandon(Status.DEADLINE_EXCEEDED, 'Deadline Exceeded');
  }

  /** Ends the call from this side; for the method that is a cancellation. */
  #abandon(status: number, message: string): void {
    if (this.#over) return;
    const end = this.#context.headers.end(status, message, !this.#started);
    this.#cancel();
    this.#stream.sendHeaders(end, true);
  }

  #cancel(): void {
    if (this.#finished || this.#cancelled) return;
    this.#cancelled = true;
    this.#release();
    const listeners = this.#cancelListeners ?? [];
    this.#cancelListeners = undefined;
    for (const listener of listeners) this.guard(listener);
  }

  /** The call takes no more messages. Its timer runs on until all has been sent. */
  #release(): void {
    this.#input = undefined;
    this.#message = undefined;
    this.#charge.close();
    this.#stream.consumed(this.#unread);
    this.#unread = 0;
    this.#outgoing.release();
  }

  #refuseForMemory(): void {
    this.#abandon(Status.UNAVAILABLE, NO_REQUEST_MEMORY);
  }

  #refuse(fault: MessageFault): void {
    if (fault.kind === 'flag') {
      this.finish(Status.INTERNAL, `Bad GRPC frame type 0x${fault.flag.toString(16).padStart(2, '0')}`);
      return;
    }
    const max = this.#context.maxReceiveMessageSize;
    this.finish(Status.RESOURCE_EXHAUSTED, `Received message larger than max (${fault.size} vs. ${max})`);
  }

  /** Reads messages from `bytes[start, end)` as far as they can be handed over; returns where it stopped. */
  #read(bytes: Uint8Array, start: number, end: number): number {
    const reader = this.#reader;
    const stream = this.#method.kind === 'stream';
    this.#reading = true;
    let at = start;
    while (at < end && !this.#paused && !this.#inflating && !this.#over) {
      if (stream && !mayHandle()) {
        inNextTurn(this);
        break;
      }
      at = reader.read(bytes, at, end);
      if (reader.fault !== undefined) this.#refuse(reader.fault);
      else if (reader.message !== undefined) this.#onMessage(reader.message, reader.compressed);
    }
    this.#reading = false;
    return at;
  }

  /** Goes on with what has been held back. */
  readOn(): void {
    if (this.#reading || this.#over) return;
    const input = this.#input;
    while (input !== undefined && !this.#over) {
      const piece = input.peek();
      const read = this.#read(piece, 0, piece.length);
      input.drop(read);
      if (read < piece.length) break;
      if (input.size === 0) this.#input = undefined;
      if (this.#input === undefined) break;
    }
    this.#afterRead();
  }

  #onMessage(message: Uint8Array, compressed: boolean): void {
    if (!compressed) {
      this.#take(message, message.length + PREFIX_SIZE);
      return;
    }
    this.#inflating = true;
    void this.#inflate(message).then((plain) => {
      this.#inflating = false;
      this.#charge.give(message.length + PREFIX_SIZE);
      if (plain !== undefined && !this.#over) this.#take(plain, plain.length);
      this.readOn();
    });
  }

  /** Undefined: the call was ended because the message cannot be read. */
  async #inflate(message: Uint8Array): Promise<Uint8Array | undefined> {
    const { encoding } = this.#head;
    if (!isGrpcEncoding(encoding)) {
      if (encoding === 'identity') this.finish(Status.INTERNAL, 'Compressed message without an encoding');
      else this.finish(Status.UNIMPLEMENTED, `Compression algorithm '${encoding}' is not supported`);
      return undefined;
    }
    const max = this.#context.maxInflatedMessageSize;
    const result = await inflateMessage(encoding, message, max, this.#charge);
    if (this.#over) return undefined;
    if (result instanceof Uint8Array) return result;
    if (result === 'noMemory') this.#refuseForMemory();
    else if (result === 'tooLarge') {
      this.finish(Status.RESOURCE_EXHAUSTED, `Received message larger than max (more than ${max})`);
    } else this.finish(Status.INTERNAL, `Decompression of the message failed: ${result.corrupt}`);
    return undefined;
  }

  /** A message can be handed over; it is counted with the given number of bytes. */
  #take(message: Uint8Array, counted: number): void {
    if (this.#method.kind === 'stream') this.#hand(counted, () => this.#listener?.onMessage(message));
    else if (this.#message === undefined) {
      this.#message = message;
      this.#current = counted;
    } else this.finish(Status.INTERNAL, 'More than one request message');
  }

  #hand(counted: number, action: () => void): void {
    this.#current = counted;
    this.guard(action);
    this.#charge.give(this.#current);
    this.#current = 0;
  }

  /** Lets the peer send on, and hands over the end where nothing is before it. */
  #afterRead(): void {
    if (this.#over || this.#reading || this.#paused || this.#inflating || this.#input !== undefined) return;
    if (this.#unread > 0) {
      const size = this.#unread;
      this.#unread = 0;
      this.#stream.consumed(size);
    }
    if (!this.#ended || this.#endHandled) return;
    this.#endHandled = true;
    if (this.#reader.unfinished) this.finish(Status.INTERNAL, 'Stream ended inside a message');
    else if (this.#method.kind === 'stream') this.guard(() => this.#listener?.onHalfClose());
    else {
      const method = this.#method;
      const message = this.#message;
      this.#message = undefined;
      if (message === undefined) this.finish(Status.INTERNAL, 'No request message');
      else this.guard(() => method.handle(this, message));
    }
  }

  onLost(error: unknown): void {
    this.#context.onHandlerError(error);
    if (this.#cancelled) return;
    this.#stream.reset(Http2Error.INTERNAL_ERROR);
    this.#cancel();
  }

  onWritable(): void {
    this.#outgoing.drained();
  }

  guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#context.onHandlerError(error);
      this.finish(Status.UNKNOWN, 'Unexpected error in RPC handling');
    }
  }
}
