import type { Socket } from 'node:net';

const MAX_FRAME = 16384;
const WINDOW = 0x7fff0000;
const DEFAULT_WINDOW = 65535;

interface Waiting {
  readonly stream: number;
  readonly bytes: Buffer;
  readonly end: boolean;
  at: number;
}

/** What a client writes on an HTTP/2 connection; DATA waits for the server's windows, in order. */
export class FrameWriter {
  #nextStream = 1;
  #window = DEFAULT_WINDOW;
  #initial = DEFAULT_WINDOW;
  /** What streams got and used beyond the initial window. */
  readonly #windows = new Map<number, number>();
  #queue: Waiting[] = [];

  constructor(private readonly socket: Socket) {
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(4, 0);
    settings.writeUInt32BE(WINDOW, 2);
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, settings)]));
    this.replenish(0, WINDOW - DEFAULT_WINDOW);
  }

  /** Opens a stream for a call of the inference service. */
  open(rpc: string): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.socket.write(frame(1, 4, stream, headersOf(rpc)));
    return stream;
  }

  data(stream: number, bytes: Buffer, end: boolean): void {
    this.#queue.push({ stream, bytes, end, at: 0 });
    this.#send();
  }

  replenish(stream: number, bytes: number): void {
    const grow = Buffer.alloc(4);
    grow.writeUInt32BE(bytes, 0);
    this.socket.write(frame(8, 0, stream, grow));
  }

  pong(payload: Buffer): void {
    this.socket.write(frame(6, 1, 0, payload));
  }

  settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) === 4) this.#initial = payload.readUInt32BE(at + 2);
    }
    this.socket.write(frame(4, 1, 0, Buffer.alloc(0)));
    this.#send();
  }

  grow(stream: number, bytes: number): void {
    if (stream === 0) this.#window += bytes;
    else if (stream === 1 || this.#queue.some((waiting) => waiting.stream === stream))
      this.#windows.set(stream, (this.#windows.get(stream) ?? 0) + bytes);
    if (this.#queue.length > 0) this.#send();
  }

  #send(): void {
    const blocked: Waiting[] = [];
    for (const waiting of this.#queue) {
      if (!this.#write(waiting)) blocked.push(waiting);
    }
    this.#queue = blocked;
  }

  #write(waiting: Waiting): boolean {
    const { stream, bytes, end } = waiting;
    // Messages of one stream stay in order: they share its window, so that a later one cannot pass.
    while (waiting.at < bytes.length) {
      const window = this.#initial + (this.#windows.get(stream) ?? 0);
      const size = Math.min(MAX_FRAME, bytes.length - waiting.at, this.#window, window);
      if (size <= 0) return false;
      const last = end && waiting.at + size === bytes.length;
      this.socket.write(frame(0, last ? 1 : 0, stream, bytes.subarray(waiting.at, waiting.at + size)));
      waiting.at += size;
      this.#window -= size;
      this.#windows.set(stream, (this.#windows.get(stream) ?? 0) - size);
    }
    if (end) this.#windows.delete(stream);
    return true;
  }
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

const blocks = new Map<string, Buffer>();

/** Literals without indexing only (RFC 7541, section 6.2.2): the same bytes every time. */
function headersOf(rpc: string): Buffer {
  let block = blocks.get(rpc);
  if (block === undefined) {
    const fields = {
      ':method': 'POST',
      ':scheme': 'http',
      ':path': `/inference.GRPCInferenceService/${rpc}`,
      ':authority': 'soak',
      te: 'trailers',
      'content-type': 'application/grpc',
    };
    const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
    block = Buffer.concat(
      Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
    );
    blocks.set(rpc, block);
  }
  return block;
}
