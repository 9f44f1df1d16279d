/**
 * Numbers as the C library reads them, which Triton and its tools use: leading white space, an optional sign, the longest
 * prefix that fits; what follows is ignored (`4abc` = 4).
 */

/** Outcome of reading a number: a value, no number at all, or one that its type cannot hold. */
export type NumberText = { readonly value: number } | { readonly fault: 'invalid' | 'range' };

const INTEGER = /^[ \t\n\v\f\r]*([+-]?)(\d+)/;
const REAL = /^[ \t\n\v\f\r]*([+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))/;
const HEXADECIMAL = /^[ \t\n\v\f\r]*([+-]?)0x([\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p([+-]?\d+))?/i;
const NAMED = /^[ \t\n\v\f\r]*([+-]?)(inf(?:inity)?|nan)/i;

const INT_MAX = 2n ** 31n - 1n;
const LONG_MAX = 2n ** 63n - 1n;
const ULONG_MAX = 2n ** 64n - 1n;

/** 32-bit signed integer (`stoi`). */
export function readInt32(text: string): NumberText {
  return signed(text, INT_MAX);
}

/** 64-bit signed integer (`stoll`), as a number: far beyond any sensible option the last digits get lost. */
export function readInt64(text: string): NumberText {
  return signed(text, LONG_MAX);
}

/** 64-bit unsigned integer (`stoull`): a minus sign is taken and wraps around, so -1 is the largest value. */
export function readUint64(text: string): NumberText {
  const match = INTEGER.exec(text);
  if (match === null) return { fault: 'invalid' };
  const magnitude = BigInt(match[2] as string);
  if (magnitude > ULONG_MAX) return { fault: 'range' };
  return { value: Number(match[1] === '-' ? BigInt.asUintN(64, -magnitude) : magnitude) };
}

/** Double (`stod`): also hexadecimal, `inf` and `nan`. Overflow is a fault. */
export function readDouble(text: string): NumberText {
  const named = NAMED.exec(text);
  if (named !== null) {
    if ((named[2] as string).toLowerCase() === 'nan') return { value: Number.NaN };
    return { value: named[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY };
  }
  const value = hexadecimal(text) ?? Number(REAL.exec(text)?.[1] ?? Number.NaN);
  if (Number.isNaN(value)) return { fault: 'invalid' };
  return Number.isFinite(value) ? { value } : { fault: 'range' };
}

/** `atoi`: what is not a number is 0. */
export function readLoose(text: string): number {
  const parsed = signed(text, LONG_MAX);
  return 'value' in parsed ? parsed.value | 0 : 0;
}

function signed(text: string, max: bigint): NumberText {
  const match = INTEGER.exec(text);
  if (match === null) return { fault: 'invalid' };
  const value = match[1] === '-' ? -BigInt(match[2] as string) : BigInt(match[2] as string);
  return value > max || value < -max - 1n ? { fault: 'range' } : { value: Number(value) };
}

function hexadecimal(text: string): number | undefined {
  const match = HEXADECIMAL.exec(text);
  if (match === null) return undefined;
  const [, sign, digits = '', exponent = '0'] = match;
  const [whole = '', fraction = ''] = digits.split('.');
  const magnitude = Number.parseInt(`${whole}${fraction}`, 16) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -magnitude : magnitude;
}
