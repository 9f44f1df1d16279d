import { ResponseHeaders } from '../../../src/transport/grpc/response-headers.js';
import {
  type GrpcCall,
  type GrpcConnection,
  type GrpcMethod,
  serveGrpc,
} from '../../../src/transport/grpc/serve-grpc.js';
import { HpackEncoder } from '../../../src/transport/http2/hpack/encoder.js';
import { HTTP2_DEFAULTS } from '../../../src/transport/http2/http2-options.js';
import { type Operation, Peer } from './peer.js';

const STREAM_WINDOW = 60_000;
const CONNECTION_WINDOW = 100_000;
const FRAME_SIZE = 16_384;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const INTERNAL = 13;

/** A gRPC connection whose server sends back what it gets, and what its frames must be. */
export class Http2Peer extends Peer {
  readonly #connection: GrpcConnection;
  readonly #requests = new HpackEncoder();
  /** Encodes as the server does: header blocks depend on all that went before on the connection. */
  readonly #responses = new HpackEncoder();
  readonly #headers = new ResponseHeaders();
  #lastStream = -1;
  #returnable = 0;

  constructor(id: number) {
    super(id);
    const echo = (call: GrpcCall, message: Uint8Array): void => {
      call.send(message);
      call.finish(0);
    };
    const methods = new Map<string, GrpcMethod>([
      ['/Echo', { kind: 'unary', handle: echo }],
      ['/Later', { kind: 'unary', handle: (call, message) => this.hold(() => echo(call, message)) }],
      ['/Error', { kind: 'unary', handle: (call, message) => call.finish(INTERNAL, Buffer.from(message).toString()) }],
    ]);
    const options = { streamWindowSize: STREAM_WINDOW, connectionWindowSize: CONNECTION_WINDOW, maxPingStrikes: 0 };
    this.#connection = serveGrpc(this.socket, methods, options);
    const settings = [
      [1, HTTP2_DEFAULTS.headerTableSize],
      [3, HTTP2_DEFAULTS.maxConcurrentStreams],
      [4, STREAM_WINDOW],
      [5, HTTP2_DEFAULTS.maxFrameSize],
      [6, HTTP2_DEFAULTS.maxHeaderListSize],
    ] as const;
    const payload = Buffer.concat(settings.map(([key, value]) => Buffer.concat([Buffer.of(0, key), uint32(value)])));
    this.expect(frame(4, 0, 0, payload));
    this.expect(frame(8, 0, 0, uint32(CONNECTION_WINDOW - 65_535)));
    // Windows that never close: flow control has tests of its own.
    const setting = Buffer.concat([Buffer.of(0, 4), uint32(0x7fff_ffff)]);
    this.socket.push(Buffer.concat([PREFACE, frame(4, 0, 0, setting), frame(8, 0, 0, uint32(0x7fff_0000))]));
    this.expect(frame(4, 1, 0, EMPTY));
  }

  do(operation: Operation): void {
    switch (operation) {
      case 'ping': {
        const payload = Buffer.from(this.own(8));
        this.socket.push(frame(6, 0, 0, payload));
        this.expect(frame(6, 1, 0, payload));
        return;
      }
      case 'settings':
        this.socket.push(frame(4, 0, 0, EMPTY));
        this.expect(frame(4, 1, 0, EMPTY));
        return;
      case 'small':
        this.#echo('/Echo', this.own(100 + (this.id % 50)));
        return;
      case 'large':
        this.#echo('/Echo', this.own(20_000));
        return;
      case 'error':
        this.#fail();
        return;
      case 'later':
        this.#echo('/Later', this.own(100 + (this.id % 50)));
        return;
      case 'reset':
        this.#reset();
        return;
      case 'window':
        // Half a stream's window and more in one message.
        this.#echo('/Echo', this.own(STREAM_WINDOW - 1000));
        return;
      case 'stop':
        this.#stop();
        return;
      default:
        this.#fault();
    }
  }

  override release(): void {
    this.#expectHeld();
    super.release();
  }

  #held: (() => void)[] = [];

  #expectHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const expect of held) expect();
  }

  #echo(path: string, text: string): void {
    const body = Buffer.concat([Buffer.of(0), uint32(text.length), Buffer.from(text)]);
    const stream = this.#request(path, body);
    const respond = () => {
      this.#expectBlock(stream, this.#headers.initial(this.#responses), false);
      this.#expectData(stream, body);
      this.#expectBlock(stream, this.#headers.ok(this.#responses), true);
    };
    if (path === '/Later') this.#held.push(respond);
    else respond();
  }

  #fail(): void {
    const text = this.own(200);
    const stream = this.#request('/Error', Buffer.concat([Buffer.of(0), uint32(text.length), Buffer.from(text)]));
    this.#expectBlock(stream, this.#headers.end(INTERNAL, text, true)(this.#responses), true);
  }

  /** Sends a request; expects the windows that are given back for its body. */
  #request(path: string, body: Buffer): number {
    const stream = this.#open(path);
    const parts: Buffer[] = [];
    let returnable = 0;
    for (let at = 0; at < body.length; at += FRAME_SIZE) {
      const part = body.subarray(at, at + FRAME_SIZE);
      const last = at + FRAME_SIZE >= body.length;
      parts.push(frame(0, last ? 1 : 0, stream, part));
      this.#returnable += part.length;
      returnable += part.length;
      if (this.#returnable * 2 >= CONNECTION_WINDOW) {
        this.expect(frame(8, 0, 0, uint32(this.#returnable)));
        this.#returnable = 0;
      }
      if (returnable * 2 >= STREAM_WINDOW) {
        this.expect(frame(8, 0, stream, uint32(returnable)));
        returnable = 0;
      }
    }
    this.socket.push(Buffer.concat(parts));
    return stream;
  }

  #open(path: string): number {
    this.#lastStream += 2;
    const block = this.#requests.encode(
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', path],
        ['te', 'trailers'],
        ['content-type', 'application/grpc'],
      ],
      new Set(),
    );
    this.socket.push(frame(1, 4, this.#lastStream, block));
    return this.#lastStream;
  }

  /** A request whose path is missing: a stream error. */
  #reset(): void {
    this.#lastStream += 2;
    const block = this.#requests.encode([[':method', this.own(20)]], new Set());
    this.socket.push(frame(1, 5, this.#lastStream, block));
    this.expect(frame(3, 0, this.#lastStream, uint32(1)));
  }

  #stop(): void {
    this.#connection.shutdown();
    this.expect(goAway(0x7fff_ffff, 0, ''));
    this.expect(frame(6, 0, 0, Buffer.from('shutdown')));
    this.socket.push(frame(6, 1, 0, Buffer.from('shutdown')));
    this.expect(goAway(Math.max(0, this.#lastStream), 0, ''));
  }

  #fault(): void {
    this.socket.push(frame(8, 0, 0, uint32(0)));
    this.expect(goAway(Math.max(0, this.#lastStream), 1, 'window widened by nothing'));
  }

  #expectBlock(stream: number, block: Uint8Array, end: boolean): void {
    this.expect(frame(1, end ? 5 : 4, stream, block));
  }

  #expectData(stream: number, body: Buffer): void {
    for (let at = 0; at < body.length; at += FRAME_SIZE) {
      this.expect(frame(0, 0, stream, body.subarray(at, at + FRAME_SIZE)));
    }
  }
}

const EMPTY = Buffer.alloc(0);

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function goAway(lastStream: number, code: number, reason: string): Buffer {
  return frame(7, 0, 0, Buffer.concat([uint32(lastStream), uint32(code), Buffer.from(reason)]));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
