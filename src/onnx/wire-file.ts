/**
 * Reads protobuf's wire format straight from a file, by position: what nobody asks for (weights above all) is stepped
 * over and never read, so the cost does not depend on the size of the file and files beyond 2 GB are not a problem.
 */
import { closeSync, readSync } from 'node:fs';
import { openRegularFileSync } from '../base/files/read-regular-file.js';
import { WireType } from '../protocol/proto/reader.js';

/** The bytes are not a valid protobuf message; `offset` counts from the start of the file. */
export class WireFormatError extends Error {
  override readonly name = 'WireFormatError';
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(`${message} at byte ${offset}`);
  }
}

/** What a message's handler does with one field: true when it has read the value, false to have it stepped over. */
export type FieldHandler = (field: number, wireType: number, end: number) => boolean;

const WINDOW = 64 * 1024;
const MAX_GROUP_DEPTH = 100;
/** Longer strings than any tool writes (whole tokenizers lie in metadata) are not read. */
const MAX_TEXT_BYTES = 64 * 2 ** 20;

/** A read position in a file of protobuf data. */
export class WireFile {
  readonly size: number;
  /** Position of the next byte in the file. */
  position = 0;
  readonly #fd: number;
  readonly #window: Buffer;
  #windowStart = 0;
  #windowEnd = 0;

  /** Opens a file. Throws UnreadableFileError for a pipe or a device, and the system's errors. */
  constructor(path: string) {
    const { fd, size } = openRegularFileSync(path);
    this.#fd = fd;
    this.size = size;
    this.#window = Buffer.allocUnsafe(Math.min(WINDOW, Math.max(this.size, 1)));
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Walks the fields of the message that ends at `end`; `handler` sees each one and reads those it wants. */
  message(end: number, handler: FieldHandler): void {
    while (this.position < end) {
      const tag = this.#tag(end);
      const wireType = tag & 7;
      let valueEnd = end;
      if (wireType === WireType.DELIMITED) {
        const start = this.position;
        const length = this.varint(end);
        valueEnd = this.position + length;
        if (length < 0 || valueEnd > end) {
          throw new WireFormatError(`a field of ${length} bytes runs past the end of its message`, start);
        }
      }
      if (handler(tag >>> 3, wireType, valueEnd)) {
        if (wireType === WireType.DELIMITED && this.position !== valueEnd) {
          throw new WireFormatError('a value does not end where its field ends', this.position);
        }
      } else {
        this.#skip(tag, valueEnd, 0);
      }
    }
  }

  /** A varint as a signed 64-bit number, rounded when it lies beyond 2^53. */
  varint(end: number): number {
    const start = this.position;
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte(end);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    let wide = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte(end);
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, wide));
    }
    throw new WireFormatError('an integer of more than 10 bytes', start);
  }

  /** The text from here to `end`. */
  text(end: number): string {
    const length = end - this.position;
    if (length <= WINDOW) {
      this.#fill(length);
      const from = this.position - this.#windowStart;
      this.position = end;
      return this.#window.toString('utf8', from, from + length);
    }
    if (length > MAX_TEXT_BYTES) throw new WireFormatError(`a text of ${length} bytes`, this.position);
    const bytes = Buffer.allocUnsafe(length);
    this.#read(bytes, length, this.position);
    this.position = end;
    return bytes.toString('utf8');
  }

  #tag(end: number): number {
    const start = this.position;
    const tag = this.varint(end);
    if (tag < 8 || tag > 0xffffffff) throw new WireFormatError('no field of a protobuf message', start);
    return tag;
  }

  #skip(tag: number, valueEnd: number, depth: number): void {
    const start = this.position;
    switch (tag & 7) {
      case WireType.VARINT:
        this.varint(valueEnd);
        return;
      case WireType.FIXED64:
        this.#advance(8, valueEnd);
        return;
      case WireType.FIXED32:
        this.#advance(4, valueEnd);
        return;
      case WireType.DELIMITED:
        this.position = valueEnd;
        return;
      case WireType.GROUP_START:
        this.#skipGroup(tag >>> 3, valueEnd, depth + 1);
        return;
      default:
        throw new WireFormatError('no field of a protobuf message', start);
    }
  }

  #skipGroup(field: number, end: number, depth: number): void {
    const start = this.position;
    if (depth > MAX_GROUP_DEPTH) throw new WireFormatError('groups are nested too deeply', start);
    while (this.position < end) {
      const tag = this.#tag(end);
      if ((tag & 7) === WireType.GROUP_END) {
        if (tag >>> 3 !== field) break;
        return;
      }
      let valueEnd = end;
      if ((tag & 7) === WireType.DELIMITED) {
        const length = this.varint(end);
        valueEnd = this.position + length;
        if (length < 0 || valueEnd > end) break;
      }
      this.#skip(tag, valueEnd, depth);
    }
    throw new WireFormatError('a group without an end', start);
  }

  #advance(count: number, end: number): void {
    if (this.position + count > end) throw new WireFormatError('the data ends inside a value', this.position);
    this.position += count;
  }

  #byte(end: number): number {
    if (this.position >= end) throw new WireFormatError('the data ends inside a value', this.position);
    if (this.position < this.#windowStart || this.position >= this.#windowEnd) this.#fill(1);
    return this.#window[this.position++ - this.#windowStart] as number;
  }

  /** Makes `length` bytes (at most a window's worth) from the current position available in the window. */
  #fill(length: number): void {
    if (this.position >= this.#windowStart && this.position + length <= this.#windowEnd) return;
    const count = Math.min(this.#window.length, this.size - this.position);
    this.#windowStart = this.position;
    this.#windowEnd = this.position + count;
    this.#read(this.#window, count, this.position);
    if (length > count) throw new WireFormatError('the data ends inside a value', this.size);
  }

  #read(target: Buffer, length: number, from: number): void {
    for (let done = 0; done < length; ) {
      const count = readSync(this.#fd, target, done, length - done, from + done);
      if (count === 0) throw new WireFormatError('the file became shorter while it was read', from + done);
      done += count;
    }
  }
}
