import { BodyBuffer } from '../body-buffer.js';
import type { Input } from '../input.js';
import { ChunkedBody } from './chunked-body.js';
import type { Http1Fault } from './faults.js';
import { NEED_MORE } from './head-parser.js';
import type { HeldMemory } from './held-memory.js';
import type { ResolvedHttp1Options } from './http1-options.js';

/** With at least this many bytes missing, a body is read straight into its memory. */
const DIRECT_SIZE = 16 * 1024;

/** Reads the bodies of one connection's requests, one after the other. Takes their memory of the budget before it is used. */
export class BodyReader {
  /** Bytes that have come of the body that is being read, unless it lay whole in the input. */
  received = 0;

  readonly #input: Input;
  readonly #memory: HeldMemory;
  readonly #options: ResolvedHttp1Options;
  /** Of the body that is being read; negative = it comes in chunks. */
  #length = 0;
  #body: BodyBuffer | undefined;
  #chunks: ChunkedBody | undefined;

  constructor(input: Input, memory: HeldMemory, options: ResolvedHttp1Options) {
    this.#input = input;
    this.#memory = memory;
    this.#options = options;
  }

  /** A body of that many bytes follows; a negative number: one in chunks. */
  begin(length: number): void {
    this.#length = length;
    this.received = 0;
    if (length < 0) this.#chunks = new ChunkedBody(this.#options);
  }

  /** Takes what has come. Returns the body once it is whole, undefined as long as more must come, or what is wrong. */
  read(): Uint8Array | Http1Fault | undefined {
    return this.#chunks === undefined ? this.#readLength() : this.#readChunks(this.#chunks);
  }

  /** Memory for the next bytes of a body of which much is missing, 'memory' if there is none, else undefined. */
  target(): Uint8Array | 'memory' | undefined {
    const body = this.#body;
    if (body === undefined || this.#input.size > 0 || this.#length - body.length < DIRECT_SIZE) return undefined;
    return this.#memory.reserve(body.capacityFor(1, this.#length)) ? body.room(this.#length) : 'memory';
  }

  /** So many bytes were read into the target. Returns whether the body is whole; `read` gives it. */
  filled(count: number): boolean {
    const body = this.#body!;
    body.filled(count);
    this.received += count;
    return body.length === this.#length;
  }

  /** Forgets the body. */
  drop(): void {
    this.#body = undefined;
    this.#chunks = undefined;
  }

  #readLength(): Uint8Array | Http1Fault | undefined {
    const input = this.#input;
    const length = this.#length;
    if (this.#body === undefined) {
      if (input.size >= length) {
        const start = input.start;
        input.start += length;
        // A view, not a copy: nobody writes to these bytes again (see Input).
        return input.bytes.subarray(start, start + length);
      }
      if (input.size === 0) return undefined;
      const { maxReservedBodySize } = this.#options;
      if (!this.#memory.reserve(Math.min(length, maxReservedBodySize))) return 'memory';
      this.#body = new BodyBuffer(length, maxReservedBodySize);
    }
    const body = this.#body;
    const until = Math.min(input.end, input.start + length - body.length);
    const count = until - input.start;
    if (!this.#memory.reserve(body.capacityFor(count, length))) return 'memory';
    body.append(input.bytes, input.start, until, length);
    this.received += count;
    input.start = until;
    if (body.length < length) return undefined;
    this.#body = undefined;
    return body.take();
  }

  #readChunks(chunks: ChunkedBody): Uint8Array | Http1Fault | undefined {
    const input = this.#input;
    const next = chunks.parse(input.bytes, input.start, input.end);
    if (next >= 0) {
      input.start = next;
      this.#chunks = undefined;
      return chunks.take();
    }
    if (next !== NEED_MORE) return chunks.fault;
    this.received += input.size;
    input.start = input.end;
    return this.#memory.reserve(chunks.capacity) ? undefined : 'memory';
  }
}
