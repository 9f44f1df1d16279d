import { CLASSES, CR, equalsLowerCase, LF, SPACE, TARGET, TOKEN } from './characters.js';
import type { Http1Fault } from './faults.js';
import { Http1Head } from './head.js';
import { parseFieldLine } from './parse-field-line.js';

/** The head is not complete yet. */
export const NEED_MORE = -1;
/** The head cannot be read: see `fault`. */
export const FAULT = -2;
/** A request line without a version: Triton waits for ever and sends nothing. */
export const NO_VERSION = -3;

/** Heads up to this size are compared with the one before. */
const MAX_REMEMBERED = 4096;

/** The limits that concern heads. */
export interface HeadLimits {
  readonly maxTokenSize: number;
  readonly maxHeaderCount: number;
  readonly maxHeadSize: number;
  /** Whether HTTP/1.1 requests without a Host header are refused (RFC 9112, section 3.2). */
  readonly requireHost: boolean;
}

/**
 * Reads request lines and headers, one head after another. The caller hands over the bytes from the head's start each
 * time more have come; lines that were complete are not read again.
 *
 * A client usually sends the same head again and again. So the last one is kept, and if the bytes are the same (one
 * memory comparison) so is everything that was found in them.
 */
export class HeadParser {
  /** Set when `parse` returned FAULT. */
  fault: Http1Fault = 'requestLine';
  /** Set when `parse` returned the end of a head. */
  head!: Http1Head;

  readonly #limits: HeadLimits;
  #remembered: Http1Head | undefined;
  /** Offsets from the head's start. */
  #line = 0;
  #tried = 0;
  #fields: number[] = [];
  #method = '';
  #target = '';
  #version: '1.0' | '1.1' = '1.1';
  #contentLength = -1;
  #chunked = false;
  #codings = 0;
  #close = false;
  #stay = false;
  #expect = false;
  #hosts = 0;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  /** True while nothing of a head has been read. */
  get fresh(): boolean {
    return this.#line === 0 && this.#tried === 0;
  }

  /** Reads `bytes[start, end)`. Returns the offset behind the head (`head` is then set), or one of the constants above. */
  parse(bytes: Buffer, start: number, end: number): number {
    if (this.#line === 0) {
      const known = this.#remembered;
      if (known !== undefined && this.#tried === 0) {
        const size = known.bytes.length;
        if (end - start >= size && bytes.compare(known.bytes, 0, size, start, start + size) === 0) {
          this.head = known;
          return start + size;
        }
      }
      const code = this.#parseRequestLine(bytes, start, end);
      if (code < 0) return code;
      this.#line = code - start;
      this.#tried = 0;
    }
    return this.#parseHeaders(bytes, start, end);
  }

  #parseRequestLine(bytes: Buffer, start: number, end: number): number {
    if (this.#unfinished(bytes, start, end)) return NEED_MORE;
    const maxToken = this.#limits.maxTokenSize;
    let at = start;
    while (at < end && (CLASSES[bytes[at]!]! & TOKEN) !== 0) at++;
    if (at - start >= maxToken) return this.#fail('tokenSize');
    if (at === end) return this.#wait(start, end);
    if (bytes[at] !== SPACE || at === start) return this.#fail('requestLine');
    const targetStart = at + 1;
    const targetEnd = endOf(TARGET, bytes, targetStart, end);
    if (targetEnd - targetStart >= maxToken) return this.#fail('tokenSize');
    if (targetEnd === end) return this.#wait(start, end);
    if (targetEnd === targetStart) return this.#fail('requestLine');
    if (bytes[targetEnd] === CR) {
      if (targetEnd + 1 === end) return this.#wait(start, end);
      return bytes[targetEnd + 1] === LF ? NO_VERSION : this.#fail('requestLine');
    }
    if (bytes[targetEnd] === LF) return this.#fail('bareLineFeed');
    if (bytes[targetEnd] !== SPACE) return this.#fail('requestLine');
    const versionStart = targetEnd + 1;
    for (let i = 0; i < 9; i++) {
      if (versionStart + i === end) return this.#wait(start, end);
      const byte = bytes[versionStart + i]!;
      if (i < 7 ? byte !== 'HTTP/1.'.charCodeAt(i) : i === 7 ? byte !== 0x30 && byte !== 0x31 : byte !== CR) {
        return this.#fail(byte === LF ? 'bareLineFeed' : 'requestLine');
      }
    }
    if (versionStart + 9 === end) return this.#wait(start, end);
    if (bytes[versionStart + 9] !== LF) return this.#fail('requestLine');
    this.#method = bytes.toString('latin1', start, at);
    this.#target = bytes.toString('latin1', targetStart, targetEnd);
    this.#version = bytes[versionStart + 7] === 0x30 ? '1.0' : '1.1';
    return versionStart + 10;
  }

  #parseHeaders(bytes: Buffer, start: number, end: number): number {
    const limits = this.#limits;
    const fields = this.#fields;
    for (;;) {
      const lineStart = start + this.#line;
      if (this.#unfinished(bytes, lineStart, end)) return this.#checkSize(start, end);
      const next = parseFieldLine(bytes, lineStart, end, limits.maxTokenSize, fields);
      if (typeof next === 'string') return this.#fail(next);
      if (next === NEED_MORE) {
        this.#tried = end - lineStart;
        return this.#checkSize(start, end);
      }
      this.#line = next - start;
      this.#tried = 0;
      if (this.#line > limits.maxHeadSize) return this.#fail('headSize');
      if (next - lineStart === 2) return this.#complete(bytes, start, next);
      const last = fields.length - 4;
      const failure = this.#examine(bytes, fields, last);
      if (failure !== undefined) return this.#fail(failure);
      for (let i = last; i < last + 4; i++) fields[i]! -= start;
      if (fields.length > limits.maxHeaderCount * 4) return this.#fail('headerCount');
    }
  }

  /** Notes what a header says about the connection and the body. */
  #examine(bytes: Buffer, fields: readonly number[], field: number): Http1Fault | undefined {
    const start = fields[field]!;
    const valueStart = fields[field + 2]!;
    const valueEnd = fields[field + 3]!;
    switch (fields[field + 1]! - start) {
      case 4:
        if (equalsLowerCase(bytes, start, 'host') && ++this.#hosts > 1) return 'twoHosts';
        return undefined;
      case 6:
        if (equalsLowerCase(bytes, start, 'expect')) this.#expect = true;
        return undefined;
      case 10:
        if (equalsLowerCase(bytes, start, 'connection')) {
          for (const word of bytes.toString('latin1', valueStart, valueEnd).toLowerCase().split(',')) {
            const option = word.trim();
            if (option === 'close') this.#close = true;
            else if (option === 'keep-alive') this.#stay = true;
          }
        }
        return undefined;
      case 14: {
        if (!equalsLowerCase(bytes, start, 'content-length')) return undefined;
        const length = parseDecimal(bytes, valueStart, valueEnd);
        if (length < 0) return 'contentLength';
        if (this.#contentLength >= 0) return 'twoLengths';
        this.#contentLength = length;
        return undefined;
      }
      case 17:
        if (!equalsLowerCase(bytes, start, 'transfer-encoding')) return undefined;
        this.#codings++;
        this.#chunked = valueEnd - valueStart === 7 && equalsLowerCase(bytes, valueStart, 'chunked');
        return undefined;
      default:
        return undefined;
    }
  }

  #complete(bytes: Buffer, start: number, end: number): number {
    if (this.#codings > 0) {
      // RFC 9112 section 6.1: a coding in HTTP/1.0 means that someone on the way did not understand it.
      if (this.#codings > 1 || !this.#chunked || this.#version === '1.0') return this.#fail('transferEncoding');
      // RFC 9112 section 6.3: the coding wins over a length, and the connection closes after the response.
      if (this.#contentLength >= 0) this.#close = true;
    }
    if (this.#hosts === 0 && this.#limits.requireHost && this.#version === '1.1') return this.#fail('noHost');
    const head = new Http1Head(
      Buffer.from(bytes.subarray(start, end)),
      { method: this.#method, target: this.#target, version: this.#version },
      this.#fields,
      {
        contentLength: this.#chunked ? -1 : Math.max(this.#contentLength, 0),
        keepAlive: !this.#close && (this.#version === '1.1' || this.#stay),
        // RFC 9110 section 15.2: nothing provisional goes to HTTP/1.0.
        expect: this.#expect && this.#version === '1.1',
      },
    );
    this.head = head;
    this.#remembered = end - start <= MAX_REMEMBERED ? head : undefined;
    this.#line = 0;
    this.#tried = 0;
    this.#fields = [];
    this.#contentLength = -1;
    this.#chunked = false;
    this.#codings = 0;
    this.#close = false;
    this.#stay = false;
    this.#expect = false;
    this.#hosts = 0;
    return end;
  }

  /**
   * Whether the current line, tried before without success, still has no end. A try is repeated all the same whenever the
   * line has doubled, so that a limit takes effect; the work stays proportional to the bytes however they are split.
   */
  #unfinished(bytes: Buffer, lineStart: number, end: number): boolean {
    if (this.#tried === 0 || end - lineStart >= this.#tried * 2) return false;
    return bytes.indexOf(LF, lineStart + this.#tried - 1) === -1 && end - lineStart < this.#limits.maxTokenSize;
  }

  #wait(lineStart: number, end: number): number {
    this.#tried = end - lineStart;
    return NEED_MORE;
  }

  #checkSize(start: number, end: number): number {
    return end - start > this.#limits.maxHeadSize ? this.#fail('headSize') : NEED_MORE;
  }

  #fail(fault: Http1Fault): number {
    this.fault = fault;
    return FAULT;
  }
}

/** Offset of the first byte that is not of a class. */
function endOf(mask: number, bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (CLASSES[bytes[at]!]! & mask) !== 0) at++;
  return at;
}

/** Decimal digits as a number; -1 if there is anything else, nothing, or more than a double holds exactly. */
function parseDecimal(bytes: Buffer, start: number, end: number): number {
  if (start === end || end - start > 15) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
