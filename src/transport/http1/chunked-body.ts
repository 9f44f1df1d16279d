import { BodyBuffer } from '../body-buffer.js';
import { CR, LF } from './characters.js';
import type { Http1Fault } from './faults.js';
import { parseFieldLine } from './parse-field-line.js';

/** More bytes are needed. */
const NEED_MORE = -1;
/** The body cannot be read: see `fault`. */
const FAULT = -2;

/** The limits that concern chunked bodies. */
export interface ChunkLimits {
  readonly maxBodySize: number;
  readonly maxBodyChunks: number;
  readonly maxChunkExtensionSize: number;
  readonly maxReservedBodySize: number;
  readonly maxTokenSize: number;
  readonly maxHeaderCount: number;
  readonly maxHeadSize: number;
}

/** Where the reader stands; the names say what comes next. */
const State = { SIZE: 0, EXTENSION: 1, SIZE_LF: 2, DATA: 3, DATA_CR: 4, DATA_LF: 5, TRAILER: 6 } as const;

/** Reads one chunked body, in pieces of any size (RFC 9112 section 7.1). Trailers are checked and dropped. */
export class ChunkedBody {
  /** Set when `parse` returned a fault. */
  fault: Http1Fault = 'chunkSize';

  readonly #limits: ChunkLimits;
  readonly #body: BodyBuffer;
  #state: number = State.SIZE;
  /** Size of the current chunk; while it is read, digits seen. */
  #size = 0;
  #digits = 0;
  #chunks = 0;
  #extensions = 0;
  #trailerLine: Buffer = Buffer.alloc(0);
  #trailerSize = 0;
  readonly #trailers: number[] = [];

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
    this.#body = new BodyBuffer(0, limits.maxReservedBodySize);
  }

  /** Bytes reserved for the body so far. */
  get capacity(): number {
    return this.#body.capacity;
  }

  /** The body, once `parse` has returned an offset. */
  take(): Uint8Array {
    return this.#body.take();
  }

  /** Reads `bytes[start, end)`. Returns the offset behind the body, -1 if all was taken and more must come, -2 for a fault. */
  parse(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end) {
      const byte = bytes[at]!;
      switch (this.#state) {
        case State.SIZE: {
          const digit = hexValue(byte);
          if (digit >= 0) {
            if (++this.#digits > 12) return this.#fail('chunkSize');
            this.#size = this.#size * 16 + digit;
          } else if (this.#digits === 0) return this.#fail('chunkSize');
          else if (byte === CR) this.#state = State.SIZE_LF;
          else if (byte === 0x3b) this.#state = State.EXTENSION;
          else return this.#fail('chunkSize');
          at++;
          break;
        }
        case State.EXTENSION:
          if (byte === CR) this.#state = State.SIZE_LF;
          else if (byte < 0x20 && byte !== 0x09) return this.#fail('chunkSize');
          if (++this.#extensions > this.#limits.maxChunkExtensionSize) return this.#fail('chunkExtensions');
          at++;
          break;
        case State.SIZE_LF: {
          if (byte !== LF) return this.#fail('chunkSize');
          at++;
          const fault = this.#startChunk();
          if (fault !== undefined) return this.#fail(fault);
          break;
        }
        case State.DATA: {
          const until = Math.min(end, at + this.#size);
          this.#body.append(bytes, at, until, 0);
          this.#size -= until - at;
          at = until;
          if (this.#size === 0) this.#state = State.DATA_CR;
          break;
        }
        case State.DATA_CR:
          if (byte !== CR) return this.#fail('chunkEnd');
          this.#state = State.DATA_LF;
          at++;
          break;
        case State.DATA_LF:
          if (byte !== LF) return this.#fail('chunkEnd');
          this.#state = State.SIZE;
          this.#digits = 0;
          at++;
          break;
        default:
          return this.#parseTrailers(bytes, at, end);
      }
    }
    return NEED_MORE;
  }

  #startChunk(): Http1Fault | undefined {
    if (this.#size === 0) {
      this.#state = State.TRAILER;
      return undefined;
    }
    if (++this.#chunks > this.#limits.maxBodyChunks) return 'chunkCount';
    if (this.#body.length + this.#size > this.#limits.maxBodySize) return 'bodySize';
    this.#state = State.DATA;
    return undefined;
  }

  /** Reads whole lines; the start of an unfinished one (bounded by the token size) is kept. */
  #parseTrailers(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end) {
      const feed = bytes.indexOf(LF, at);
      const until = feed < 0 || feed >= end ? end : feed + 1;
      this.#trailerSize += until - at;
      if (this.#trailerSize > this.#limits.maxHeadSize) return this.#fail('headSize');
      const piece = bytes.subarray(at, until);
      const line = this.#trailerLine.length === 0 ? piece : Buffer.concat([this.#trailerLine, piece]);
      at = until;
      const code = parseFieldLine(line, 0, line.length, this.#limits.maxTokenSize, this.#trailers);
      if (typeof code === 'string') return this.#fail(code);
      if (code === NEED_MORE) {
        this.#trailerLine = Buffer.from(line);
        continue;
      }
      if (code === 2) return at;
      this.#trailerLine = Buffer.alloc(0);
      if (this.#trailers.length > this.#limits.maxHeaderCount * 4) return this.#fail('headerCount');
    }
    return NEED_MORE;
  }

  #fail(fault: Http1Fault): number {
    this.fault = fault;
    return FAULT;
  }
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
