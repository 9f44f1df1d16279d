/**
 * A JSON text as a tree that keeps numbers as written (64-bit integers would lose digits as doubles). Errors have the
 * messages of protobuf's own JSON reader: what is wrong, up to 20 characters around the position, and a caret under it.
 */
import { invalidArg } from '../../base/error.js';

/** A number as it was written. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Any JSON value; objects keep their members' order, of members with one name the last one wins. */
export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | Map<string, JsonValue>;

const CONTEXT = 20;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const KEY = /[A-Za-z_$][A-Za-z0-9_$]*/y;
const DEPTH_LIMIT = 100;

/** Parses a text. Throws INVALID_ARG with protobuf's message. */
export function parseJsonValue(text: string): JsonValue {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.finish();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonValue {
    this.#skipBlanks();
    const c = this.#text[this.#at];
    if (depth > DEPTH_LIMIT) this.#fail('Message too deep. Max recursion depth reached');
    if (c === '{') return this.#object(depth);
    if (c === '[') return this.#array(depth);
    if (c === '"' || c === "'") return this.#string(c);
    if (c === '-' || (c !== undefined && c >= '0' && c <= '9')) return this.#number();
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    if (c === undefined) this.#fail('Unexpected end of string. Expected a value.');
    this.#fail(/[A-Za-z_$}\]:,]/.test(c as string) ? 'Unexpected token.' : 'Expected a value.');
  }

  finish(): void {
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.#fail('Parsing terminated before end of input.');
  }

  #object(depth: number): Map<string, JsonValue> {
    const members = new Map<string, JsonValue>();
    this.#at++;
    this.#skipBlanks();
    if (this.#take('}')) return members;
    for (;;) {
      this.#skipBlanks();
      const key = this.#key();
      this.#skipBlanks();
      if (!this.#take(':')) this.#fail('Expected : between key:value pair.');
      members.set(key, this.value(depth + 1));
      this.#skipBlanks();
      if (this.#take('}')) return members;
      if (!this.#take(',')) this.#fail('Expected , or } after key:value pair.');
    }
  }

  #array(depth: number): JsonValue[] {
    const items: JsonValue[] = [];
    this.#at++;
    this.#skipBlanks();
    if (this.#take(']')) return items;
    for (;;) {
      items.push(this.value(depth + 1));
      this.#skipBlanks();
      if (this.#take(']')) return items;
      if (!this.#take(',')) this.#fail('Expected , or ] after array value.');
    }
  }

  #key(): string {
    const c = this.#text[this.#at];
    if (c === '"' || c === "'") return this.#string(c);
    KEY.lastIndex = this.#at;
    const word = KEY.exec(this.#text)?.[0];
    if (word === undefined) this.#fail('Expected an object key or }.');
    this.#at += (word as string).length;
    return word as string;
  }

  #string(quote: string): string {
    let result = '';
    for (let i = this.#at + 1; i < this.#text.length; i++) {
      const c = this.#text[i] as string;
      if (c === quote) {
        this.#at = i + 1;
        return result;
      }
      if (c !== '\\') {
        result += c;
        continue;
      }
      const letter = this.#text[++i];
      const at = letter === undefined ? -1 : 'bfnrtv'.indexOf(letter);
      if (letter === 'u') {
        const digits = this.#text.slice(i + 1, i + 5);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.#fail('Invalid escape sequence.');
        result += String.fromCharCode(Number.parseInt(digits, 16));
        i += 4;
      } else {
        result += at >= 0 ? '\b\f\n\r\t\v'[at] : (letter ?? '');
      }
    }
    this.#fail('Closing quote expected in string.');
  }

  #number(): JsonNumber {
    NUMBER.lastIndex = this.#at;
    const text = NUMBER.exec(this.#text)?.[0];
    if (text === undefined) this.#fail('Unable to parse number.');
    if (/^-?0[0-9xX]/.test(this.#text.slice(this.#at, this.#at + 3))) {
      this.#fail('Octal/hex numbers are not valid JSON values.');
    }
    this.#at += (text as string).length;
    return new JsonNumber(text as string);
  }

  #take(c: string): boolean {
    if (this.#text[this.#at] !== c) return false;
    this.#at++;
    return true;
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? 'x')) this.#at++;
  }

  #fail(message: string): never {
    const begin = Math.max(this.#at - CONTEXT, 0);
    const segment = this.#text.slice(begin, this.#at + CONTEXT);
    throw invalidArg(`${message}\n${segment}\n${' '.repeat(this.#at - begin)}^`);
  }
}
