/** Scalars of protobuf's text format, and the symbols around them, with the messages of protobuf's own parser. */
import type { Position } from '../../contract/finding.js';
import type { EnumSchema, ScalarType } from '../../protocol/proto/schema.js';
import { unescapeString } from './string-literal.js';
import type { Tokenizer } from './tokenizer.js';

/** Largest values of the integer types. */
const LIMITS = {
  int32: 2n ** 31n - 1n,
  int64: 2n ** 63n - 1n,
  uint32: 2n ** 32n - 1n,
  uint64: 2n ** 64n - 1n,
} as const;

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  t: true,
  false: false,
  False: false,
  f: false,
};

/** Ends the parse with an error; `token`: where the wrong token begins, by default the one that comes next. */
export type Fail = (message: string, token?: Position) => never;

/** Reads what is not a message: scalars, identifiers and symbols. */
export class ScalarReader {
  readonly #tokens: Tokenizer;
  readonly #fail: Fail;

  constructor(tokens: Tokenizer, fail: Fail) {
    this.#tokens = tokens;
    this.#fail = fail;
  }

  /** The value of a field of a scalar or enum type; `name` = the field's, for messages. */
  scalar(name: string, type: ScalarType | EnumSchema): unknown {
    if (typeof type === 'object') return this.#enum(name, type);
    switch (type) {
      case 'bool':
        return this.#bool(name);
      case 'int32':
        return Number(this.#signed(LIMITS.int32));
      case 'int64':
        return this.#signed(LIMITS.int64);
      case 'uint32':
        return Number(this.#unsigned(LIMITS.uint32));
      case 'uint64':
        return this.#unsigned(LIMITS.uint64);
      case 'float':
        return Math.fround(this.#double());
      case 'double':
        return this.#double();
      case 'string':
        return this.#string().toString('utf8');
      case 'bytes':
        return Uint8Array.from(this.#string());
    }
  }

  #bool(name: string): boolean {
    if (this.#tokens.current.type === 'integer') return this.#unsigned(1n) === 1n;
    const start = this.#tokens.position;
    const word = this.identifier();
    const value = Object.hasOwn(BOOLEANS, word) ? BOOLEANS[word] : undefined;
    if (value === undefined) this.#fail(`Invalid value for boolean field "${name}". Value: "${word}".`, start);
    return value as boolean;
  }

  #enum(name: string, type: EnumSchema): number {
    if (this.#tokens.current.type === 'identifier') {
      const start = this.#tokens.position;
      const word = this.identifier();
      const value = Object.hasOwn(type.values, word) ? type.values[word] : undefined;
      if (value === undefined) this.#fail(`Unknown enumeration value of "${word}" for field "${name}".`, start);
      return value as number;
    }
    if (this.#tokens.isSymbol('-') || this.#tokens.current.type === 'integer') {
      return Number(this.#signed(LIMITS.int32));
    }
    return this.#fail(`Expected integer or identifier, got: ${this.#tokens.text}`);
  }

  #signed(limit: bigint): bigint {
    return this.take('-') ? -this.#unsigned(limit + 1n) : this.#unsigned(limit);
  }

  #unsigned(limit: bigint): bigint {
    const { type } = this.#tokens.current;
    const text = this.#tokens.text;
    if (type !== 'integer') this.#fail(`Expected integer, got: ${text}`);
    const value = parseInteger(text);
    if (value === undefined || value > limit) this.#fail(`Integer out of range (${text})`);
    this.#tokens.next();
    return value as bigint;
  }

  #double(): number {
    const sign = this.take('-') ? -1 : 1;
    const { type } = this.#tokens.current;
    const text = this.#tokens.text;
    let value: number | undefined;
    if (type === 'integer') {
      if (/^0[0-7xX]/.test(text)) this.#fail(`Expect a decimal number, got: ${text}`);
      value = Number(text);
    } else if (type === 'float') {
      value = Number.parseFloat(text);
    } else if (type === 'identifier') {
      const word = text.toLowerCase();
      if (word === 'inf' || word === 'infinity') value = Number.POSITIVE_INFINITY;
      else if (word === 'nan') value = Number.NaN;
      else this.#fail(`Expected double, got: ${word}`);
    } else {
      this.#fail(`Expected double, got: ${text}`);
    }
    this.#tokens.next();
    return sign * (value as number);
  }

  #string(): Buffer {
    if (this.#tokens.current.type !== 'string') this.#fail(`Expected string, got: ${this.#tokens.text}`);
    const bytes: number[] = [];
    while (this.#tokens.current.type === 'string') {
      unescapeString(this.#tokens.bytes, bytes);
      this.#tokens.next();
    }
    return Buffer.from(bytes);
  }

  /** The word that comes next. */
  identifier(): string {
    const text = this.#tokens.text;
    if (this.#tokens.current.type !== 'identifier') this.#fail(`Expected identifier, got: ${text}`);
    this.#tokens.next();
    return text;
  }

  /** Passes a symbol if it comes next. */
  take(symbol: string): boolean {
    if (!this.#tokens.isSymbol(symbol)) return false;
    this.#tokens.next();
    return true;
  }

  /** Passes a symbol, which must come next. */
  consume(symbol: string): void {
    if (!this.take(symbol)) this.#fail(`Expected "${symbol}", found "${this.#tokens.text}".`);
  }
}

/** Decimal, 0x hexadecimal or 0 octal digits; undefined for digits that the base does not have. */
function parseInteger(text: string): bigint | undefined {
  if (/^0[xX]/.test(text)) return text.length === 2 ? 0n : BigInt(text);
  if (/^0[0-9]/.test(text)) return /^[0-7]+$/.test(text) ? BigInt(`0o${text.slice(1)}`) : undefined;
  return BigInt(text);
}
