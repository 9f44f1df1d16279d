import { jsonError } from './json-error.js';
import { JsonScanner, numberOf } from './scanner.js';

/** Powers of ten that a double holds exactly. */
const POWERS = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));

/** A position in JSON text whose syntax was checked. */
export interface NumberCursor {
  readonly bytes: Uint8Array;
  pos: number;
}

/**
 * Reads the number at the cursor and moves behind it. Up to 15 digits and a small power of ten, both exact in a double,
 * need one correctly rounded operation; everything else goes through the general conversion. `single`: the value will be
 * rounded to a float, so of longer texts the first 17 digits are enough wherever their error cannot change that float.
 */
export function readDouble(cursor: NumberCursor, single: boolean): number {
  const { bytes } = cursor;
  const start = cursor.pos;
  let pos = start;
  const negative = bytes[pos] === 0x2d;
  if (negative) pos++;
  let mantissa = 0;
  let digits = 0;
  let power = 0;
  const first = pos;
  let byte = bytes[pos]!;
  for (; byte >= 0x30 && byte <= 0x39; byte = bytes[++pos]!) {
    if (digits < 17) {
      mantissa = mantissa * 10 + byte - 0x30;
      if (mantissa > 0) digits++;
    } else power++;
  }
  if (pos === first) return readWord(cursor);
  let integer = true;
  if (byte === 0x2e) {
    integer = false;
    for (byte = bytes[++pos]!; byte >= 0x30 && byte <= 0x39; byte = bytes[++pos]!) {
      if (digits < 17) {
        mantissa = mantissa * 10 + byte - 0x30;
        if (mantissa > 0) digits++;
        power--;
      }
    }
  }
  if ((byte | 0x20) === 0x65) {
    integer = false;
    byte = bytes[++pos]!;
    const down = byte === 0x2d;
    if (down || byte === 0x2b) byte = bytes[++pos]!;
    let exponent = 0;
    for (; byte >= 0x30 && byte <= 0x39; byte = bytes[++pos]!)
      exponent = Math.min(exponent * 10 + byte - 0x30, 100_000);
    power += down ? -exponent : exponent;
  }
  cursor.pos = pos;
  // Triton holds -0 as the integer 0; -0.0 keeps its sign.
  if (mantissa === 0) return negative && !integer ? -0 : 0;
  if (power >= -22 && power <= 22 && (digits <= 15 || single)) {
    const value = power < 0 ? mantissa / POWERS[-power]! : mantissa * POWERS[power]!;
    if (digits <= 15) return negative ? -value : value;
    // 17 digits and two roundings are off by less than 2^-51 of the value; the interval taken is four times as wide.
    const slack = value * 2 ** -49;
    if (Math.fround(value - slack) === Math.fround(value + slack)) return negative ? -value : value;
  }
  return numberOf(bytes, start, pos);
}

/** NaN, Inf, Infinity; anything else is not a number. */
function readWord(cursor: NumberCursor): number {
  const { bytes, pos } = cursor;
  const letter = bytes[bytes[pos] === 0x2d ? pos + 1 : pos];
  if (letter !== 0x4e && letter !== 0x49) throw jsonError('attempt to access JSON non-number as double');
  const scanner = new JsonScanner(bytes, pos);
  scanner.number();
  cursor.pos = scanner.pos;
  return numberOf(bytes, pos, scanner.pos);
}
