import type net from 'node:net';
import { frame } from '../support/wire/raw-frames.js';
import type { Target } from './attack.js';
import { write } from './attack.js';

/** Types of frames (RFC 9113, section 6). */
export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames. */
export const FLAG = { ACK: 1, END_STREAM: 1, END_HEADERS: 4 } as const;

/** Path of a call of the inference service. */
export const rpc = (name: string): string => `/inference.GRPCInferenceService/${name}`;

/** A number of 32 bits, as several frames carry. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** The payload of SETTINGS. */
export function settings(entries: readonly (readonly [id: number, value: number])[]): Buffer {
  return Buffer.concat(entries.map(([id, value]) => Buffer.concat([Buffer.from([id >> 8, id & 255]), uint32(value)])));
}

/** The first bytes of a connection. */
export function opening(entries: readonly (readonly [id: number, value: number])[] = []): Buffer {
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(FRAME.SETTINGS, 0, 0, settings(entries)),
  ]);
}

/** A header block of literals that are not indexed (RFC 7541, section 6.2.2). */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value, 'latin1');
    return Buffer.concat([length(bytes.length), bytes]);
  };
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

/** An integer with a prefix of 7 bits. */
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** The header block of a gRPC call. */
export function callHeaders(path: string, more: readonly (readonly [string, string])[] = []): Buffer {
  return headerBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ...more,
  ]);
}

/** A gRPC message with its prefix; `announced` may lie. */
export function message(bytes: Uint8Array, compressed = false, announced = bytes.length): Buffer {
  return Buffer.concat([Buffer.from([compressed ? 1 : 0]), uint32(announced), bytes]);
}

/** DATA frames of at most 16 KiB. */
export function dataFrames(stream: number, bytes: Uint8Array, end = true): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += 16384) {
    const last = at + 16384 >= bytes.length;
    frames.push(frame(FRAME.DATA, last && end ? FLAG.END_STREAM : 0, stream, bytes.subarray(at, at + 16384)));
  }
  return frames;
}

/** A whole call that fits into the windows. */
export function call(stream: number, path: string, bytes: Uint8Array): Buffer {
  return Buffer.concat([
    frame(FRAME.HEADERS, FLAG.END_HEADERS, stream, callHeaders(path)),
    ...dataFrames(stream, message(bytes)),
  ]);
}

/** A connection that answers SETTINGS and PING as it must and follows the windows for what it sends. */
export class RawHttp2 {
  /** Streams that the server has ended. */
  readonly ended = new Set<number>();
  /** Bytes of DATA that came. */
  received = 0;
  nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);
  #window = 65535;
  #initial = 65535;
  readonly #windows = new Map<number, number>();

  private constructor(
    readonly target: Target,
    readonly socket: net.Socket,
    private readonly replenish: boolean,
  ) {
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** Connects. `replenish`: give window back for what comes. */
  static async open(
    target: Target,
    entries: readonly (readonly [number, number])[] = [],
    replenish = true,
  ): Promise<RawHttp2> {
    const connection = new RawHttp2(target, await target.connect(target.grpcPort), replenish);
    await connection.write(opening(entries));
    return connection;
  }

  get closed(): boolean {
    return this.socket.destroyed || this.socket.readableEnded || !this.socket.writable;
  }

  write(bytes: Uint8Array): Promise<void> {
    return write(this.target, this.socket, bytes);
  }

  /** A stream's number that was not used. */
  stream(): number {
    const stream = this.nextStream;
    this.nextStream += 2;
    return stream;
  }

  /** Sends a call of any size within the windows; false when the connection ended or the attack was over before. */
  async call(
    path: string,
    bytes: Uint8Array,
    more: readonly (readonly [string, string])[] = [],
    end = true,
  ): Promise<number> {
    const stream = this.stream();
    await this.write(frame(FRAME.HEADERS, FLAG.END_HEADERS, stream, callHeaders(path, more)));
    await this.data(stream, bytes, end);
    return stream;
  }

  /** Sends DATA within the windows. */
  async data(stream: number, bytes: Uint8Array, end = true): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const window = Math.min(16384, this.#window, this.#initial + (this.#windows.get(stream) ?? 0));
      if (window <= 0) {
        if (this.closed || !this.target.going() || this.ended.has(stream)) return;
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      const part = bytes.subarray(at, at + window);
      at += part.length;
      this.#window -= part.length;
      this.#windows.set(stream, (this.#windows.get(stream) ?? 0) - part.length);
      await this.write(frame(FRAME.DATA, end && at === bytes.length ? FLAG.END_STREAM : 0, stream, part));
      if (this.closed) return;
    }
  }

  #read(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 9) {
      const length = bytes.readUIntBE(0, 3);
      if (bytes.length < 9 + length) break;
      this.#frame(bytes[3]!, bytes[4]!, bytes.readUInt32BE(5) & 0x7fffffff, bytes.subarray(9, 9 + length));
      bytes = bytes.subarray(9 + length);
    }
    this.#rest = bytes;
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FRAME.RST_STREAM || (type <= 1 && (flags & FLAG.END_STREAM) !== 0)) {
      this.ended.add(stream);
      this.#windows.delete(stream);
    }
    if (type === FRAME.SETTINGS && (flags & FLAG.ACK) === 0) {
      for (let at = 0; at + 6 <= payload.length; at += 6)
        if (payload.readUInt16BE(at) === 4) this.#initial = payload.readUInt32BE(at + 2);
      void this.write(frame(FRAME.SETTINGS, FLAG.ACK, 0, Buffer.alloc(0)));
    } else if (type === FRAME.PING && (flags & FLAG.ACK) === 0) {
      void this.write(frame(FRAME.PING, FLAG.ACK, 0, payload));
    } else if (type === FRAME.WINDOW_UPDATE) {
      if (stream === 0) this.#window += payload.readUInt32BE();
      else this.#windows.set(stream, (this.#windows.get(stream) ?? 0) + payload.readUInt32BE());
    } else if (type === FRAME.DATA) {
      this.received += payload.length;
      if (!this.replenish || payload.length === 0) return;
      const grow = uint32(payload.length);
      const more = [frame(FRAME.WINDOW_UPDATE, 0, 0, grow)];
      if ((flags & FLAG.END_STREAM) === 0) more.push(frame(FRAME.WINDOW_UPDATE, 0, stream, grow));
      void this.write(Buffer.concat(more));
    }
  }
}
