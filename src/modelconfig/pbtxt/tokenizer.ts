/**
 * Tokens of protobuf's text format, with protobuf's own lexical rules, messages and positions. Errors are reported at
 * the offending character and scanning goes on with what was read, so that a file may yield several.
 */
import type { Position } from '../../contract/finding.js';

/** Kinds of tokens; `end` has an empty text. */
export type TokenType = 'identifier' | 'integer' | 'float' | 'string' | 'symbol' | 'end';

/** One token. Offsets are bytes of the source; line and column start at 0. */
export interface Token {
  type: TokenType;
  start: number;
  end: number;
  line: number;
  column: number;
  endColumn: number;
}

/** Reports an error at a 1-based position. */
export type ReportError = (position: Position, message: string) => void;

const TAB_WIDTH = 8;
const TAB = 0x09;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const DOT = 0x2e;
const ZERO = 0x30;
/** Escapes of one character: a b f n r t v \ ? ' " */
const ESCAPES = new Set([...`abfnrtv\\?'"`].map((c) => c.charCodeAt(0)));

const isWhitespace = (c: number): boolean => c === SPACE || (c >= TAB && c <= 0x0d);
const isDigit = (c: number): boolean => c >= ZERO && c <= 0x39;
const isOctal = (c: number): boolean => c >= ZERO && c <= 0x37;
const isHex = (c: number): boolean => isDigit(c) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x66);
const isLetter = (c: number): boolean => ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x7a) || c === 0x5f;
const isAlphanumeric = (c: number): boolean => isLetter(c) || isDigit(c);

/** Scans bytes into tokens; `current` is the one not consumed yet. */
export class Tokenizer {
  readonly current: Token = { type: 'symbol', start: 0, end: 0, line: 0, column: 0, endColumn: 0 };
  /** End of the token before `current`, in 1-based columns. */
  previousEnd: Position = { line: 1, column: 1 };
  readonly #bytes: Uint8Array;
  readonly #report: ReportError;
  #offset = 0;
  #line = 0;
  #column = 0;

  constructor(bytes: Uint8Array, report: ReportError) {
    this.#bytes = bytes;
    this.#report = report;
    this.next();
  }

  /** Text of the current token. */
  get text(): string {
    const { start, end } = this.current;
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, end - start).toString('utf8');
  }

  /** Bytes of the current token. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(this.current.start, this.current.end);
  }

  /** True when the current token is this one-character symbol. */
  isSymbol(symbol: string): boolean {
    const { type, start } = this.current;
    return type === 'symbol' && this.#bytes[start] === symbol.charCodeAt(0);
  }

  /** Where the current token starts, counted from 1. */
  get position(): Position {
    return { line: this.current.line + 1, column: this.current.column + 1 };
  }

  /** Moves to the next token. */
  next(): void {
    const wasIdentifier = this.current.type === 'identifier';
    const { line: previousLine, endColumn: previousEnd } = this.current;
    this.previousEnd = { line: previousLine + 1, column: previousEnd + 1 };
    for (;;) {
      this.#skipBlanksAndComments();
      const token = this.current;
      token.start = this.#offset;
      token.line = this.#line;
      token.column = this.#column;
      if (this.#atEnd) {
        token.type = 'end';
        break;
      }
      const c = this.#char;
      if (c < SPACE) {
        this.#error('Invalid control characters encountered in text.');
        while (!this.#atEnd && this.#char < SPACE && !isWhitespace(this.#char)) this.#advance();
        continue;
      }
      this.#advance();
      token.type = this.#scan(c, wasIdentifier && previousLine === token.line && previousEnd === token.column);
      break;
    }
    this.current.end = this.#offset;
    this.current.endColumn = this.#column;
  }

  /** Scans the rest of a token whose first character was consumed. */
  #scan(first: number, touchesIdentifier: boolean): TokenType {
    if (isLetter(first)) {
      this.#skipWhile(isAlphanumeric);
      return 'identifier';
    }
    if (isDigit(first)) return this.#scanNumber(first === ZERO, false);
    if (first === DOT && isDigit(this.#char)) {
      if (touchesIdentifier) {
        this.#errorAt(this.#column - 1, 'Need space between identifier and decimal point.');
      }
      return this.#scanNumber(false, true);
    }
    if (first === 0x22 || first === 0x27) {
      this.#scanString(first);
      return 'string';
    }
    if (first >= 0x80) this.#errorAt(this.#column - 1, `Interpreting non ascii codepoint ${first}.`);
    return 'symbol';
  }

  #scanNumber(startedWithZero: boolean, startedWithDot: boolean): TokenType {
    let isFloat = false;
    if (startedWithZero && this.#take(0x78, 0x58)) {
      if (!isHex(this.#char)) this.#error('"0x" must be followed by hex digits.');
      this.#skipWhile(isHex);
    } else if (startedWithZero && isDigit(this.#char)) {
      this.#skipWhile(isOctal);
      if (isDigit(this.#char)) {
        this.#error('Numbers starting with leading zero must be in octal.');
        this.#skipWhile(isDigit);
      }
    } else {
      isFloat = startedWithDot;
      this.#skipWhile(isDigit);
      if (!startedWithDot && this.#take(DOT)) {
        isFloat = true;
        this.#skipWhile(isDigit);
      }
      if (this.#take(0x65, 0x45)) {
        isFloat = true;
        this.#take(0x2d, 0x2b);
        if (!isDigit(this.#char)) this.#error('"e" must be followed by exponent.');
        this.#skipWhile(isDigit);
      }
      if (this.#take(0x66, 0x46)) isFloat = true;
    }
    if (isLetter(this.#char)) {
      this.#error('Need space between number and identifier.');
    } else if (this.#char === DOT) {
      this.#error(
        isFloat
          ? "Already saw decimal point or exponent; can't have another one."
          : 'Hex and octal numbers must be integers.',
      );
    }
    return isFloat ? 'float' : 'integer';
  }

  #scanString(delimiter: number): void {
    for (;;) {
      const c = this.#char;
      if (c === 0 || c === NEWLINE) {
        this.#error(c === 0 ? 'Unexpected end of string.' : 'String literals cannot cross line boundaries.');
        return;
      }
      this.#advance();
      if (c === delimiter) return;
      if (c === 0x5c) this.#scanEscape();
    }
  }

  #scanEscape(): void {
    const c = this.#char;
    if (ESCAPES.has(c) || isOctal(c)) {
      this.#advance();
    } else if (this.#take(0x78, 0x58)) {
      if (!this.#takeIf(isHex)) this.#error('Expected hex digits for escape sequence.');
    } else if (this.#take(0x75)) {
      if (!this.#takeHexDigits(4)) this.#error('Expected four hex digits for \\u escape sequence.');
    } else if (this.#take(0x55)) {
      // Only the first three digits bound the value, so 1FFFFF passes.
      const good = this.#take(ZERO) && this.#take(ZERO) && this.#take(ZERO, 0x31) && this.#takeHexDigits(5);
      if (!good) this.#error('Expected eight hex digits up to 10ffff for \\U escape sequence');
    } else {
      this.#error('Invalid escape sequence in string literal.');
    }
  }

  #skipBlanksAndComments(): void {
    for (;;) {
      this.#skipWhile(isWhitespace);
      if (this.#char !== 0x23) return;
      this.#skipWhile((c) => c !== NEWLINE);
    }
  }

  get #atEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  /** The character at the cursor; 0 at the end, as in protobuf (a NUL in the text counts as unprintable). */
  get #char(): number {
    return this.#bytes[this.#offset] ?? 0;
  }

  #advance(): void {
    const c = this.#bytes[this.#offset];
    if (c === NEWLINE) {
      this.#line++;
      this.#column = 0;
    } else if (c === TAB) {
      this.#column += TAB_WIDTH - (this.#column % TAB_WIDTH);
    } else {
      this.#column++;
    }
    this.#offset++;
  }

  #skipWhile(test: (c: number) => boolean): void {
    while (!this.#atEnd && test(this.#char)) this.#advance();
  }

  #takeIf(test: (c: number) => boolean): boolean {
    if (this.#atEnd || !test(this.#char)) return false;
    this.#advance();
    return true;
  }

  #take(...chars: number[]): boolean {
    return this.#takeIf((c) => chars.includes(c));
  }

  #takeHexDigits(count: number): boolean {
    for (let i = 0; i < count; i++) if (!this.#takeIf(isHex)) return false;
    return true;
  }

  #error(message: string): void {
    this.#errorAt(this.#column, message);
  }

  #errorAt(column: number, message: string): void {
    this.#report({ line: this.#line + 1, column: column + 1 }, message);
  }
}
