import { hexDigit } from './scanner.js';

const BACKSLASH = 0x5c;

/** What the letters after a backslash stand for; letters that are not listed stand for themselves. */
const CONTROLS: Readonly<Record<number, number>> = { 98: 0x08, 102: 0x0c, 110: 0x0a, 114: 0x0d, 116: 0x09 };

/** The bytes of a valid string's inside with its escapes resolved. Bytes that are not UTF-8 stay as they are. */
export function unescapeString(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const target = Buffer.allocUnsafe(end - start);
  return target.subarray(0, unescapeInto(target, 0, bytes, start, end));
}

/** The same into a block that has room for `end - start` bytes; returns the position behind what was written. */
// biome-ignore lint/complexity/useMaxParams: called per string with escapes, an object for it would cost.
export function unescapeInto(target: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  const cursor = { pos: start, out: at };
  unescapeUntil(target, cursor, bytes, end);
  return cursor.out;
}

/** The same as far as `end`, or to the end of an escape that goes on behind it; `cursor` says where to read and write. */
export function unescapeUntil(
  target: Uint8Array,
  cursor: { pos: number; out: number },
  bytes: Uint8Array,
  end: number,
): void {
  let { pos, out } = cursor;
  while (pos < end) {
    const byte = bytes[pos]!;
    if (byte !== BACKSLASH) {
      target[out++] = byte;
      pos++;
      continue;
    }
    const letter = bytes[pos + 1]!;
    if (letter !== 0x75) {
      target[out++] = CONTROLS[letter] ?? letter;
      pos += 2;
      continue;
    }
    let code = hex4(bytes, pos + 2);
    pos += 6;
    if (code >= 0xd800 && code <= 0xdbff) {
      code = 0x10000 + ((code - 0xd800) << 10) + (hex4(bytes, pos + 2) - 0xdc00);
      pos += 6;
    }
    out = writeUtf8(target, out, code);
  }
  cursor.pos = pos;
  cursor.out = out;
}

function hex4(bytes: Uint8Array, pos: number): number {
  let value = 0;
  for (let i = 0; i < 4; i++) value = (value << 4) | hexDigit(bytes[pos + i]!);
  return value;
}

function writeUtf8(target: Uint8Array, at: number, code: number): number {
  let out = at;
  if (code < 0x80) target[out++] = code;
  else if (code < 0x800) {
    target[out++] = 0xc0 | (code >> 6);
    target[out++] = 0x80 | (code & 0x3f);
  } else {
    if (code < 0x10000) target[out++] = 0xe0 | (code >> 12);
    else {
      target[out++] = 0xf0 | (code >> 18);
      target[out++] = 0x80 | ((code >> 12) & 0x3f);
    }
    target[out++] = 0x80 | ((code >> 6) & 0x3f);
    target[out++] = 0x80 | (code & 0x3f);
  }
  return out;
}
