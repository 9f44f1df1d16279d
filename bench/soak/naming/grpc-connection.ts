import { connect, type Socket } from 'node:net';
import {
  decodeGrpcInferResponse,
  decodeGrpcStreamResponse,
  encodeGrpcInferRequest,
} from '../../../src/client/infer/grpc-codec.js';
import { HpackDecoder } from '../../../src/transport/http2/hpack/decoder.js';
import type { Ask, Connection, Counts, Events } from './ask.js';
import { FrameWriter } from './frame-writer.js';

const FRAME = {
  DATA: 0,
  HEADERS: 1,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;
const END_STREAM = 1;
const END_HEADERS = 4;

/** One call on the connection: its bytes so far. */
interface Call {
  readonly ask: Ask | undefined;
  readonly parts: Buffer[];
  size: number;
}

/** gRPC over one HTTP/2 connection: unary calls side by side, or everything on one stream. */
export class GrpcConnection implements Connection {
  readonly #calls = new Map<number, Call>();
  /** Requests of the stream by id. */
  readonly #streamed = new Map<string, Ask>();
  readonly #decoder = new HpackDecoder(4096, 1 << 20);
  readonly #writer: FrameWriter;
  #rest: Buffer[] = [];
  #have = 0;
  #need = 9;
  #received = 0;

  private constructor(
    readonly socket: Socket,
    private readonly counts: Counts,
    private readonly events: Events,
    private readonly streaming: boolean,
  ) {
    this.#writer = new FrameWriter(socket);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => events.broken(error.message));
    socket.on('close', () => events.broken('the server closed the connection'));
    if (streaming) this.#calls.set(this.#writer.open('ModelStreamInfer'), { ask: undefined, parts: [], size: 0 });
  }

  /** @param streaming whether all requests go over one ModelStreamInfer. */
  static open(port: number, counts: Counts, events: Events, streaming: boolean): Promise<GrpcConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new GrpcConnection(socket, counts, events, streaming));
      });
    });
  }

  get waiting(): Iterable<Ask> {
    return this.streaming ? this.#streamed.values() : [...this.#calls.values()].flatMap(({ ask }) => ask ?? []);
  }

  send(ask: Ask): void {
    const chunks = encodeGrpcInferRequest(ask.call);
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(size, 1);
    const message = Buffer.concat([prefix, ...chunks]);
    if (this.streaming) {
      this.#streamed.set(String(ask.token), ask);
      this.#writer.data(1, message, false);
    } else {
      const stream = this.#writer.open('ModelInfer');
      this.#calls.set(stream, { ask, parts: [], size: 0 });
      this.#writer.data(stream, message, true);
    }
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#rest.push(chunk);
    this.#have += chunk.length;
    if (this.#have < this.#need) return;
    let bytes = this.#rest.length === 1 ? chunk : Buffer.concat(this.#rest);
    this.socket.cork();
    this.#need = 9;
    while (bytes.length >= 9) {
      const end = 9 + bytes.readUIntBE(0, 3);
      if (bytes.length < end) {
        this.#need = end;
        break;
      }
      this.#frame(bytes[3]!, bytes[4]!, bytes.readUInt32BE(5) & 0x7fffffff, bytes.subarray(9, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes.length > 0 ? [bytes] : [];
    this.#have = bytes.length;
    this.socket.uncork();
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FRAME.DATA:
        this.#received += payload.length;
        if (this.#received > 1 << 20) {
          this.#writer.replenish(0, this.#received);
          this.#received = 0;
        }
        this.#data(stream, payload, (flags & END_STREAM) !== 0);
        break;
      case FRAME.HEADERS:
        if ((flags & END_HEADERS) === 0) this.events.broken('a header block in several frames');
        else this.#headers(stream, payload, (flags & END_STREAM) !== 0);
        break;
      case FRAME.SETTINGS:
        if ((flags & 1) === 0) this.#writer.settings(payload);
        break;
      case FRAME.PING:
        if ((flags & 1) === 0) this.#writer.pong(payload);
        break;
      case FRAME.WINDOW_UPDATE:
        this.#writer.grow(stream, payload.readUInt32BE(0));
        break;
      case FRAME.RST_STREAM:
        this.#end(stream, `the server reset the call (${payload.toString('hex')})`);
        break;
      case FRAME.GOAWAY:
        this.events.broken(`GOAWAY ${payload.toString('latin1')}`);
        break;
      default:
    }
  }

  #data(stream: number, payload: Buffer, last: boolean): void {
    const call = this.#calls.get(stream);
    if (call === undefined) {
      this.counts.twice('grpc', `DATA on the closed stream ${stream}`);
      return;
    }
    // The buffer of the socket is not used again: views on it are safe.
    call.parts.push(payload);
    call.size += payload.length;
    this.#messages(call);
    if (last) this.#end(stream, 'no trailers');
  }

  #messages(call: Call): void {
    while (call.size >= 5) {
      const bytes = call.parts.length === 1 ? call.parts[0]! : Buffer.concat(call.parts);
      call.parts.splice(0, call.parts.length, bytes);
      const end = 5 + bytes.readUInt32BE(1);
      if (bytes.length < end) return;
      call.parts[0] = bytes.subarray(end);
      call.size -= end;
      this.#message(call, bytes.subarray(5, end));
    }
  }

  #message(call: Call, bytes: Buffer): void {
    if (call.ask !== undefined) {
      if (call.ask.got === call.ask.responses)
        this.counts.twice(call.ask.kind, `a second message of ${call.ask.token}`);
      else this.counts.response(call.ask, decodeGrpcInferResponse(bytes));
      return;
    }
    const event = decodeGrpcStreamResponse(bytes);
    const { error, result } = event;
    const id = 'id' in event ? String(event.id) : (result?.id ?? '');
    const ask = this.#streamed.get(id);
    if (ask === undefined) this.counts.twice('stream', `id '${id}' ${error ?? ''}`);
    else if (result === undefined) {
      this.counts.failed(ask, error ?? '');
      this.#streamed.delete(id);
      this.events.done(ask);
    } else if (this.counts.response(ask, result)) {
      this.#streamed.delete(id);
      this.events.done(ask);
    }
  }

  #headers(stream: number, payload: Buffer, last: boolean): void {
    const block = this.#decoder.decode(payload, 0, payload.length);
    if (block === undefined) {
      this.events.broken('a header block that cannot be decoded');
      return;
    }
    if (!last) return;
    const of = (name: string): string => block.fields.find(([field]) => field === name)?.[1] ?? '';
    this.#end(stream, `grpc-status ${of('grpc-status')} ${of('grpc-message')}`);
  }

  #end(stream: number, why: string): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    this.#calls.delete(stream);
    const { ask } = call;
    if (ask === undefined) {
      this.events.broken(`the stream ended: ${why}`);
      return;
    }
    if (ask.got < ask.responses) this.counts.failed(ask, why);
    else if (!why.startsWith('grpc-status 0'))
      this.counts.failed({ ...ask, responses: ask.got + 1 }, `a response, and then ${why}`);
    this.events.done(ask);
  }
}
