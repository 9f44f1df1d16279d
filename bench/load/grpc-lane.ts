import { connect, type Socket } from 'node:net';
import type { OnAnswer } from './http-lane.js';

const FRAME = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8 } as const;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const MAX_FRAME = 16384;
/** Windows that no response of a run fills: the generator never has to replenish a stream's window. */
const WINDOW = 0x7fff0000;

interface BlockedCall {
  readonly stream: number;
  sent: number;
  window: number;
}

/**
 * One HTTP/2 connection that carries prepared unary gRPC calls, several at once. Its HPACK blocks use literals without
 * indexing only, so they are the same bytes every time; of the responses it looks at frame types and END_STREAM, and at
 * the size of DATA. Just enough of HTTP/2 to load a server, with as little work as possible.
 */
export class GrpcLane {
  readonly #headers: Buffer;
  readonly #message: Buffer;
  readonly #onAnswer: OnAnswer;
  #socket: Socket | undefined;
  #rest: Buffer | undefined;
  #nextStream = 1;
  #connectionWindow = 65535;
  #initialWindow = 65535;
  #received = 0;
  readonly #dataBytes = new Map<number, number>();
  /** Calls whose DATA waits for window: stream, bytes sent so far, window of the stream. */
  readonly #blocked: BlockedCall[] = [];

  constructor(path: string, message: Uint8Array, onAnswer: OnAnswer) {
    this.#headers = headerBlock([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', path],
      [':authority', 'localhost'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
    ]);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    this.#message = Buffer.concat([prefix, message]);
    this.#onAnswer = onAnswer;
  }

  /** Connects to 127.0.0.1:port and waits for the server's settings. */
  async open(port: number): Promise<void> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(4, 0);
    settings.writeUInt32BE(WINDOW, 2);
    const grow = Buffer.alloc(4);
    grow.writeUInt32BE(WINDOW - 65535, 0);
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
        frame(FRAME.SETTINGS, 0, 0, settings),
        frame(FRAME.WINDOW_UPDATE, 0, 0, grow),
      ]),
    );
    await new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        this.#read(chunk);
        resolve();
      });
    });
  }

  /** Starts one more call. */
  send(): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const head = frame(FRAME.HEADERS, END_HEADERS, stream, this.#headers);
    const size = this.#message.length;
    if (size <= MAX_FRAME && size <= this.#connectionWindow && size <= this.#initialWindow) {
      this.#connectionWindow -= size;
      this.#socket?.write(Buffer.concat([head, frame(FRAME.DATA, END_STREAM, stream, this.#message)]));
      return;
    }
    this.#socket?.write(head);
    this.#blocked.push({ stream, sent: 0, window: this.#initialWindow });
    this.#sendBlocked();
  }

  /** Ends the connection. */
  close(): void {
    this.#socket?.destroy();
  }

  #sendBlocked(): void {
    for (let i = 0; i < this.#blocked.length; ) {
      const call = this.#blocked[i] as BlockedCall;
      while (call.sent < this.#message.length) {
        const size = Math.min(MAX_FRAME, this.#message.length - call.sent, this.#connectionWindow, call.window);
        if (size <= 0) break;
        const last = call.sent + size === this.#message.length;
        this.#socket?.write(frameHead(size, FRAME.DATA, last ? END_STREAM : 0, call.stream));
        this.#socket?.write(this.#message.subarray(call.sent, call.sent + size));
        call.sent += size;
        call.window -= size;
        this.#connectionWindow -= size;
      }
      if (call.sent === this.#message.length) this.#blocked.splice(i, 1);
      else i++;
    }
  }

  #read(chunk: Buffer): void {
    let data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#socket?.cork();
    while (data.length >= 9) {
      const length = data.readUIntBE(0, 3);
      if (data.length < 9 + length) break;
      this.#frame(
        data[3] as number,
        data[4] as number,
        data.readUInt32BE(5) & 0x7fffffff,
        data.subarray(9, 9 + length),
      );
      data = data.subarray(9 + length);
    }
    this.#rest = data.length > 0 ? data : undefined;
    this.#socket?.uncork();
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FRAME.SETTINGS:
        if ((flags & ACK) === 0) this.#settings(payload);
        break;
      case FRAME.PING:
        if ((flags & ACK) === 0) this.#socket?.write(frame(FRAME.PING, ACK, 0, payload));
        break;
      case FRAME.WINDOW_UPDATE:
        this.#grow(stream, payload.readUInt32BE(0));
        break;
      case FRAME.RST_STREAM:
      case FRAME.GOAWAY:
        throw new Error(
          `the server ended ${type === FRAME.GOAWAY ? 'the connection' : 'a call'} (${payload.toString('hex')})`,
        );
      case FRAME.DATA:
        this.#dataBytes.set(stream, (this.#dataBytes.get(stream) ?? 0) + payload.length);
        this.#replenish(payload.length);
        if ((flags & END_STREAM) !== 0) this.#end(stream);
        break;
      case FRAME.HEADERS:
        if ((flags & END_STREAM) !== 0) this.#end(stream);
        break;
      default:
    }
  }

  /** A response without any DATA is an error of the server (trailers only): no valid call of a run ends so. */
  #end(stream: number): void {
    if (!this.#dataBytes.delete(stream)) throw new Error('the server refused a call (trailers without a message)');
    this.#onAnswer();
  }

  #replenish(bytes: number): void {
    this.#received += bytes;
    if (this.#received < WINDOW / 2) return;
    const grow = Buffer.alloc(4);
    grow.writeUInt32BE(this.#received, 0);
    this.#received = 0;
    this.#socket?.write(frame(FRAME.WINDOW_UPDATE, 0, 0, grow));
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) === 4) {
        const window = payload.readUInt32BE(at + 2);
        for (const call of this.#blocked) call.window += window - this.#initialWindow;
        this.#initialWindow = window;
      }
    }
    this.#socket?.write(frame(FRAME.SETTINGS, ACK, 0, Buffer.alloc(0)));
    this.#sendBlocked();
  }

  #grow(stream: number, bytes: number): void {
    if (stream === 0) this.#connectionWindow += bytes;
    else {
      const call = this.#blocked.find((c) => c.stream === stream);
      if (call !== undefined) call.window += bytes;
    }
    if (this.#blocked.length > 0) this.#sendBlocked();
  }
}

function frameHead(length: number, type: number, flags: number, stream: number): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return head;
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  return Buffer.concat([frameHead(payload.length, type, flags, stream), payload]);
}

/** HPACK: every field as a literal without indexing and with a new name (RFC 7541, section 6.2.2). */
function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  const parts = fields.flatMap(([name, value]) => [Buffer.from([0]), hpackString(name), hpackString(value)]);
  return Buffer.concat(parts);
}

function hpackString(text: string): Buffer {
  if (text.length >= 127) throw new Error('header too long for the bench client');
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
}
