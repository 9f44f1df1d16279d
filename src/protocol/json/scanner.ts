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

/** Exponents and digit counts below these cannot overflow a double, so the number need not be computed to know. */
const SAFE_DIGITS = 308;
const MAX_EXPONENT = 308;

/**
 * Moves over JSON text in bytes and checks its syntax exactly as RapidJSON with bare NaN and Inf does: the same dialect,
 * the same reason and the same offset for what is wrong. Nothing is built; nesting costs no stack.
 */
export class JsonScanner {
  readonly bytes: Uint8Array;
  readonly end: number;
  pos: number;
  /** Set by `string`: the last string contained escapes. */
  escaped = false;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.pos = start;
    this.end = end;
  }

  fail(reason: SyntaxReason, offset = this.pos): never {
    throw new JsonSyntaxError(reason, offset);
  }

  /** The byte at the position after blanks; 0 at the end. (A NUL byte ends the text for the original, too.) */
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
    // One bit per open container, from the outermost: true = object.
    const open: boolean[] = [];
    for (;;) {
      const byte = this.peek();
      if (byte === OPEN_BRACKET) {
        this.pos++;
        if (this.peek() !== CLOSE_BRACKET) {
          open.push(false);
          continue;
        }
        this.pos++;
      } else if (byte === OPEN_BRACE) {
        this.pos++;
        if (this.peek() !== CLOSE_BRACE) {
          open.push(true);
          this.name();
          continue;
        }
        this.pos++;
      } else this.scalar(byte);
      if (!this.#closeContainers(open)) return;
    }
  }

  /** After a value: passes the comma, or closing brackets up to the next comma. False when nothing is open any more. */
  #closeContainers(open: boolean[]): boolean {
    while (open.length > 0) {
      const byte = this.peek();
      const object = open[open.length - 1]!;
      if (byte === COMMA) {
        this.pos++;
        if (object) {
          this.peek();
          this.name();
        }
        return true;
      }
      if (byte !== (object ? CLOSE_BRACE : CLOSE_BRACKET)) {
        this.fail(object ? SyntaxReason.COMMA_OR_BRACE : SyntaxReason.COMMA_OR_BRACKET);
      }
      this.pos++;
      open.pop();
    }
    return false;
  }

  /** Passes over a member's name and its colon. */
  name(): void {
    if (this.bytes[this.pos] !== QUOTE || this.pos >= this.end) this.fail(SyntaxReason.NAME);
    this.string();
    this.colon();
  }

  colon(): void {
    if (this.peek() !== COLON) this.fail(SyntaxReason.COLON);
    this.pos++;
  }

  /** Passes over a value that is no container; `first` is its first byte. */
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
    let pos = start;
    if (pos < end && bytes[pos] === MINUS) pos++;
    const digits = pos;
    while (pos < end && bytes[pos]! >= ZERO && bytes[pos]! <= NINE) {
      pos++;
      if (bytes[digits] === ZERO) break;
    }
    this.pos = pos;
    if (pos === digits) {
      this.#word();
      return false;
    }
    const integerDigits = pos - digits;
    let fractionDigits = 0;
    if (pos < end && bytes[pos] === DOT) {
      const fraction = ++pos;
      while (pos < end && bytes[pos]! >= ZERO && bytes[pos]! <= NINE) pos++;
      fractionDigits = pos - fraction;
      if (fractionDigits === 0) this.fail(SyntaxReason.FRACTION, pos);
    }
    this.pos = pos;
    const exponent = pos < end && (bytes[pos]! | 0x20) === 0x65;
    if (exponent) this.#exponent(start, fractionDigits);
    if ((exponent || integerDigits > SAFE_DIGITS) && !Number.isFinite(numberOf(bytes, start, this.pos))) {
      this.fail(SyntaxReason.TOO_BIG, start);
    }
    return !exponent && fractionDigits === 0;
  }

  #exponent(start: number, fractionDigits: number): void {
    const { bytes, end } = this;
    this.pos++;
    const negative = this.pos < end && bytes[this.pos] === MINUS;
    if (negative || (this.pos < end && bytes[this.pos] === 0x2b)) this.pos++;
    const digits = this.pos;
    let value = 0;
    while (this.pos < end && bytes[this.pos]! >= ZERO && bytes[this.pos]! <= NINE) {
      value = Math.min(value * 10 + bytes[this.pos]! - ZERO, 100_000);
      this.pos++;
    }
    if (this.pos === digits) this.fail(SyntaxReason.EXPONENT);
    // The original looks at the exponent before it knows that the digits are zeros.
    if (!negative && value > MAX_EXPONENT + fractionDigits) this.fail(SyntaxReason.TOO_BIG, start);
  }

  /** NaN, Inf or Infinity, after an optional minus; the position is behind that. */
  #word(): void {
    const { bytes } = this;
    const eat = (text: string): boolean => {
      for (let i = 0; i < text.length; i++) {
        if (this.pos >= this.end || bytes[this.pos] !== text.charCodeAt(i)) return false;
        this.pos++;
      }
      return true;
    };
    const first = this.pos < this.end ? bytes[this.pos] : 0;
    if (first === 0x4e ? eat('NaN') : first === 0x49 && eat('Inf')) {
      if (first === 0x4e || this.pos >= this.end || bytes[this.pos] !== 0x69 || eat('inity')) return;
    }
    this.fail(SyntaxReason.VALUE);
  }

  /** Passes over a string, the quotes included; sets `escaped`. */
  string(): void {
    const { bytes, end } = this;
    let pos = this.pos + 1;
    this.escaped = false;
    for (; pos < end; pos++) {
      const byte = bytes[pos]!;
      if (byte === QUOTE) {
        this.pos = pos + 1;
        return;
      }
      if (byte === BACKSLASH) {
        this.escaped = true;
        pos = this.#escape(pos) - 1;
      } else if (byte < 0x20) this.fail(byte === 0 ? SyntaxReason.QUOTE : SyntaxReason.ESCAPE, pos);
    }
    this.fail(SyntaxReason.QUOTE, end);
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
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  // Only the bare words are left: NaN, Inf (Infinity is known to Number), with or without a minus.
  if (text.endsWith('NaN')) return Number.NaN;
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
