/** Decoding and encoding of the text format's string literals (escapes of C, and \u, \U). */

const SIMPLE: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };
const ESCAPED: Readonly<Record<number, string>> = { 10: '\\n', 13: '\\r', 9: '\\t', 34: '\\"', 39: "\\'", 92: '\\\\' };

/**
 * Appends the bytes that a quoted literal stands for. Faulty escapes were reported by the tokenizer and are passed on
 * as they are.
 */
export function unescapeString(literal: Uint8Array, output: number[]): void {
  const quote = literal[0];
  for (let i = 1; i < literal.length; i++) {
    const c = literal[i] as number;
    if (c === 0x5c && i + 1 < literal.length) {
      i = unescapeOne(literal, i + 1, output);
    } else if (c !== quote || i + 1 < literal.length) {
      output.push(c);
    }
  }
}

/** Decodes the escape whose letter stands at `i`; returns the index of its last character. */
function unescapeOne(literal: Uint8Array, i: number, output: number[]): number {
  const letter = String.fromCharCode(literal[i] as number);
  if (/[0-7]/.test(letter)) {
    const digits = run(literal, i, /[0-7]/, 3);
    output.push(Number.parseInt(digits, 8) & 0xff);
    return i + digits.length - 1;
  }
  if (letter === 'x' || letter === 'X') {
    const digits = run(literal, i + 1, /[0-9a-fA-F]/, 2);
    output.push(digits === '' ? 0 : Number.parseInt(digits, 16));
    return i + digits.length;
  }
  if (letter === 'u' || letter === 'U') {
    const point = codePoint(literal, i);
    if (point !== undefined) {
      for (const byte of Buffer.from(String.fromCodePoint(point.value), 'utf8')) output.push(byte);
      return point.end;
    }
  }
  output.push(SIMPLE[letter] ?? (literal[i] as number));
  return i;
}

/** The code point of `uHHHH` or `UHHHHHHHH` at `i`; a pair of \u surrogates counts as one. */
function codePoint(literal: Uint8Array, i: number): { value: number; end: number } | undefined {
  const length = literal[i] === 0x75 ? 4 : 8;
  const digits = run(literal, i + 1, /[0-9a-fA-F]/, length);
  if (digits.length < length) return undefined;
  const value = Number.parseInt(digits, 16);
  const end = i + length;
  if (value > 0x10ffff) return undefined;
  if (value >= 0xd800 && value < 0xdc00 && literal[end + 1] === 0x5c && literal[end + 2] === 0x75) {
    const low = codePoint(literal, end + 2);
    if (low !== undefined && low.value >= 0xdc00 && low.value < 0xe000) {
      return { value: 0x10000 + ((value - 0xd800) << 10) + (low.value - 0xdc00), end: low.end };
    }
  }
  return { value, end };
}

function run(literal: Uint8Array, start: number, digit: RegExp, most: number): string {
  let text = '';
  for (let i = start; text.length < most && i < literal.length; i++) {
    const c = String.fromCharCode(literal[i] as number);
    if (!digit.test(c)) break;
    text += c;
  }
  return text;
}

/** Text or bytes as a literal in double quotes, all but printable ASCII escaped in octal (protobuf's CEscape). */
export function escapeString(text: string | Uint8Array): string {
  let result = '"';
  for (const byte of typeof text === 'string' ? Buffer.from(text, 'utf8') : text) {
    const simple = ESCAPED[byte];
    if (simple !== undefined) result += simple;
    else if (byte < 0x20 || byte >= 0x7f) result += `\\${byte.toString(8).padStart(3, '0')}`;
    else result += String.fromCharCode(byte);
  }
  return `${result}"`;
}
