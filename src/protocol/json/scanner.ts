import { JsonSyntaxError, SyntaxReason } from './json-error.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Largest exponent that RapidJSON takes; each digit of a fraction allows one more. */
const MAX_EXPONENT = 308;
/** Digits that RapidJSON takes into a number, from the first that is not 0. */
const SIGNIFICANT_DIGITS = 17;
/** An integer part of up to this many digits is never too big; a longer one when it reaches the bound before its last digit. */
const MAX_DIGITS = 308;
const TOO_BIG_BEFORE_LAST_DIGIT = Number.MAX_VALUE / 10;

/**
 * Deepest nesting of containers. The deepest that the protocol knows are tensor data, with 100 levels of their own.
 */
export const MAX_DEPTH = 1000;

/** A container that is being passed over. */
export interface OpenContainer {
  readonly object: boolean;
  readonly start: number;
  /** Values in it so far. */
  values: number;
}

/** Most digits of an integer part, and of a fraction. A double needs at most 767 digits to be exact. */
const MAX_NUMBER_DIGITS = 65_536;

/**
 * Moves over JSON text in bytes and checks its syntax exactly as RapidJSON with bare NaN and Inf does: the same dialect,
 * the same reason and the same offset for what is wrong. Nothing is built; nesting costs no stack. Every method takes time
 * in proportion to the bytes that it passes.
 */
export class JsonScanner {
  readonly bytes: Uint8Array;
  readonly end: number;
  pos: number;
  /** Set by `string`: the last string contained escapes. */
  escaped = false;
  /** Where `string` goes on after it stopped inside a string; 0 outside of one. */
  #inside = 0;
  /** In `scan`: what comes next is the name of a member. */
  #naming = false;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.pos = start;
    this.end = end;
  }

  /** How far the bytes were looked at: inside a string, `pos` is still at its start. */
  get reached(): number {
    return this.#inside === 0 ? this.pos : this.#inside;
  }

  fail(reason: SyntaxReason, offset = this.pos): never {
    throw new JsonSyntaxError(reason, offset);
  }

  /** The byte at the position after blanks; 0 at the end. (A NUL byte ends the text for Triton, too.) */
  peek(): number {
    const { bytes, end } = this;
    let { pos } = this;
    while (pos < end) {
      const byte = bytes[pos]!;
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
        this.pos = pos;
        return byte;
      }
      pos++;
    }
    this.pos = pos;
    return 0;
  }

  /** Passes over one value of any depth. */
  value(): void {
    this.scan([], Number.POSITIVE_INFINITY);
  }

  /**
   * Passes over one value of any depth as far as about `until`; false when it is to be called again with the same list to
   * go on. `open` holds the containers that are open, from the outermost. `closed` is called with start and end of every
   * container and string that ends, and with the number of values in it.
   */
  scan(open: OpenContainer[], until: number, closed?: (start: number, end: number, values: number) => void): boolean {
    for (;;) {
      if (this.#naming) {
        if (!this.name(until)) return false;
        this.#naming = false;
      }
      const byte = this.#inside === 0 ? this.peek() : QUOTE;
      if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        const object = byte === OPEN_BRACE;
        const start = this.pos++;
        if (this.peek() !== (object ? CLOSE_BRACE : CLOSE_BRACKET)) {
          if (open.length === MAX_DEPTH) this.fail(SyntaxReason.DEPTH, start);
          open.push({ object, start, values: 1 });
          this.#naming = object;
          if (this.pos >= until) return false;
          continue;
        }
        this.pos++;
      } else if (byte === QUOTE) {
        const start = this.pos;
        if (!this.string(until)) return false;
        closed?.(start, this.pos, this.escaped ? 1 : 0);
      } else this.scalar(byte);
      if (!this.#closeContainers(open, closed)) return true;
      if (this.pos >= until) return false;
    }
  }

  /** After a value: passes the comma, or closing brackets up to the next comma. False when nothing is open any more. */
  #closeContainers(open: OpenContainer[], closed?: (start: number, end: number, values: number) => void): boolean {
    while (open.length > 0) {
      const byte = this.peek();
      const container = open[open.length - 1]!;
      const { object } = container;
      if (byte === COMMA) {
        this.pos++;
        container.values++;
        this.#naming = object;
        return true;
      }
      if (byte !== (object ? CLOSE_BRACE : CLOSE_BRACKET)) {
        this.fail(object ? SyntaxReason.COMMA_OR_BRACE : SyntaxReason.COMMA_OR_BRACKET);
      }
      this.pos++;
      open.pop();
      closed?.(container.start, this.pos, container.values);
    }
    return false;
  }

  /** Passes over a member's name and its colon; false when it stopped at `until`, inside the name. */
  name(until: number): boolean {
    if (this.#inside === 0 && this.peek() !== QUOTE) this.fail(SyntaxReason.NAME);
    if (!this.string(until)) return false;
    this.colon();
    return true;
  }

  colon(): void {
    if (this.peek() !== COLON) this.fail(SyntaxReason.COLON);
    this.pos++;
  }

  /** Passes over a value that is not a container; `first` is its first byte. */
  scalar(first: number): void {
    if (first === QUOTE) this.string();
    else if (first === 0x74) this.literal('true');
    else if (first === 0x66) this.literal('false');
    else if (first === 0x6e) this.literal('null');
    else this.number();
  }

  /** Passes over the rest of a literal whose first byte is known to be right. */
  literal(text: string): void {
    for (let i = 1; i < text.length; i++) {
      this.pos++;
      if (this.pos >= this.end || this.bytes[this.pos] !== text.charCodeAt(i)) this.fail(SyntaxReason.VALUE);
    }
    this.pos++;
  }

  /** Passes over a number; true when it is an integer literal. */
  number(): boolean {
    const { bytes, end } = this;
    const start = this.pos;
    if (start < end && bytes[start] === MINUS) this.pos++;
    const first = this.pos;
    const digits = first < end && bytes[first] === ZERO ? 1 : this.#digits();
    this.pos = first + digits;
    if (digits === 0) this.#word();
    else if (digits > MAX_DIGITS && numberOf(bytes, first, this.pos - 1) >= TOO_BIG_BEFORE_LAST_DIGIT) {
      this.fail(SyntaxReason.TOO_BIG, start);
    }
    // RapidJSON goes on even behind a word: it takes `Infinity.5e3` for infinity.
    let integer = digits > 0;
    let scale = 0;
    if (this.pos < end && bytes[this.pos] === DOT) {
      integer = false;
      this.pos++;
      const fraction = this.pos;
      if (this.#digits() === 0) this.fail(SyntaxReason.FRACTION);
      scale = this.#significant(fraction);
    }
    if (this.pos < end && (bytes[this.pos]! | 0x20) === 0x65) {
      integer = false;
      this.#exponent(start, scale);
    }
    return integer;
  }

  /** Passes over digits; how many. */
  #digits(): number {
    const { bytes, end } = this;
    const start = this.pos;
    const stop = Math.min(end, start + MAX_NUMBER_DIGITS);
    let pos = start;
    while (pos < stop && bytes[pos]! >= ZERO && bytes[pos]! <= NINE) pos++;
    if (pos === stop && stop < end) this.fail(SyntaxReason.TOO_BIG, start);
    this.pos = pos;
    return pos - start;
  }

  /** Number of the fraction's digits, between `start` and the position, that RapidJSON takes into the number. */
  #significant(start: number): number {
    let zeros = start;
    while (zeros < this.pos && this.bytes[zeros] === ZERO) zeros++;
    return Math.min(this.pos - start, zeros - start + SIGNIFICANT_DIGITS);
  }

  #exponent(start: number, scale: number): void {
    const { bytes, end } = this;
    this.pos++;
    const negative = this.pos < end && bytes[this.pos] === MINUS;
    if (negative || (this.pos < end && bytes[this.pos] === 0x2b)) this.pos++;
    const digits = this.pos;
    if (this.#digits() === 0) this.fail(SyntaxReason.EXPONENT);
    if (negative) return;
    let value = 0;
    for (let i = digits; i < this.pos && value <= MAX_EXPONENT + scale; i++) value = value * 10 + bytes[i]! - ZERO;
    // RapidJSON looks at the exponent alone: 0e999 is refused, 1000e306 is infinity.
    if (value > MAX_EXPONENT + scale) this.fail(SyntaxReason.TOO_BIG, start);
  }

  /** NaN, Inf or Infinity, after an optional minus; the position is behind that. */
  #word(): void {
    const first = this.pos < this.end ? this.bytes[this.pos] : 0;
    if (first === 0x4e || first === 0x49) {
      if (this.#eat('NaN')) return;
      // RapidJSON looks for this behind what it found of NaN, and so takes `NInf`.
      if (this.#eat('Inf') && (this.pos >= this.end || this.bytes[this.pos] !== 0x69 || this.#eat('inity'))) return;
    }
    this.fail(SyntaxReason.VALUE);
  }

  /** Passes over a text as far as it is there; false when it is not there as a whole. */
  #eat(text: string): boolean {
    for (let i = 0; i < text.length; i++) {
      if (this.pos >= this.end || this.bytes[this.pos] !== text.charCodeAt(i)) return false;
      this.pos++;
    }
    return true;
  }

  /**
   * Passes over a string, the quotes included; sets `escaped`. False when it stopped at `until` inside the string: the
   * next call goes on there.
   */
  string(until = this.end): boolean {
    const { bytes, end } = this;
    const stop = until < end ? until : end;
    let pos = this.#inside;
    if (pos === 0) {
      pos = this.pos + 1;
      this.escaped = false;
    } else this.#inside = 0;
    for (; pos < stop; pos++) {
      const byte = bytes[pos]!;
      if (byte === QUOTE) {
        this.pos = pos + 1;
        return true;
      }
      if (byte === BACKSLASH) {
        this.escaped = true;
        pos = this.#escape(pos) - 1;
      } else if (byte < 0x20) this.fail(byte === 0 ? SyntaxReason.QUOTE : SyntaxReason.ESCAPE, pos);
    }
    if (stop === end) this.fail(SyntaxReason.QUOTE, end);
    this.#inside = pos;
    return false;
  }

  /** Checks the escape whose backslash is at `start`; the position behind it. */
  #escape(start: number): number {
    const { bytes, end } = this;
    const letter = start + 1 < end ? bytes[start + 1]! : 0;
    switch (letter) {
      case QUOTE:
      case BACKSLASH:
      case 0x2f: // /
      case 0x62: // b
      case 0x66: // f
      case 0x6e: // n
      case 0x72: // r
      case 0x74: // t
        return start + 2;
      case 0x75: {
        const unit = this.#hex4(start + 2, start);
        if (unit < 0xd800 || unit > 0xdbff) return start + 6;
        if (start + 7 >= end || bytes[start + 6] !== BACKSLASH || bytes[start + 7] !== 0x75) {
          this.fail(SyntaxReason.SURROGATE, start);
        }
        const low = this.#hex4(start + 8, start);
        if (low < 0xdc00 || low > 0xdfff) this.fail(SyntaxReason.SURROGATE, start);
        return start + 12;
      }
      default:
        return this.fail(SyntaxReason.ESCAPE, start);
    }
  }

  #hex4(pos: number, backslash: number): number {
    let value = 0;
    for (let i = pos; i < pos + 4; i++) {
      const digit = i < this.end ? hexDigit(this.bytes[i]!) : -1;
      if (digit < 0) this.fail(SyntaxReason.HEX, backslash);
      value = (value << 4) | digit;
    }
    return value;
  }
}

/** Value of a hexadecimal digit, -1 for any other byte. */
export function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** The nearest double to a valid number's text. */
export function numberOf(bytes: Uint8Array, start: number, end: number): number {
  return doubleOf(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1'));
}

/** The same of a string. */
export function doubleOf(text: string): number {
  const value = Number(text);
  if (!Number.isNaN(value) || text.includes('NaN')) return value;
  // Only Inf is left, with or without a minus.
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
