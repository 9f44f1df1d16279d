/**
 * Numbers as the C library reads them: leading white space, an optional sign, the longest fitting prefix; what follows
 * is ignored (`4abc` = 4). spec of the load generator, section 2.
 */

/** Outcome of reading a number: a value, no number at all, or one that its type cannot hold. */
export type NumberText<T> = { readonly value: T } | { readonly fault: 'invalid' | 'range' };

const INTEGER = /^[ \t\n\v\f\r]*([+-]?)(\d+)/;
const REAL = /^[ \t\n\v\f\r]*([+-]?(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))/;
const NAMED = /^[ \t\n\v\f\r]*([+-]?)(inf(?:inity)?|nan)/i;

const INT_MAX = 2n ** 31n - 1n;
const LONG_MAX = 2n ** 63n - 1n;
const ULONG_MAX = 2n ** 64n - 1n;

/** 32-bit signed integer (`stoi`). */
export function parseInt32(text: string): NumberText<number> {
  return signed(text, INT_MAX);
}

/** 64-bit signed integer (`stoll`), as a number: far beyond any sensible option the last digits get lost. */
export function parseInt64(text: string): NumberText<number> {
  return signed(text, LONG_MAX);
}

/** 64-bit unsigned integer (`stoull`): a minus sign is taken and wraps around, so -1 is the largest value. */
export function parseUint64(text: string): NumberText<number> {
  const match = INTEGER.exec(text);
  if (match === null) return { fault: 'invalid' };
  const magnitude = BigInt(match[2] as string);
  if (magnitude > ULONG_MAX) return { fault: 'range' };
  return { value: Number(match[1] === '-' ? BigInt.asUintN(64, -magnitude) : magnitude) };
}

/** Double (`stod`): also hexadecimal integers, `inf` and `nan`. Overflow is a fault. */
export function parseDouble(text: string): NumberText<number> {
  const named = NAMED.exec(text);
  if (named !== null) {
    if ((named[2] as string).toLowerCase() === 'nan') return { value: Number.NaN };
    return { value: named[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY };
  }
  const match = REAL.exec(text);
  if (match === null) return { fault: 'invalid' };
  const digits = match[1] as string;
  const value = digits.startsWith('-') ? -Number(digits.slice(1)) : Number(digits.replace('+', ''));
  return Number.isFinite(value) ? { value } : { fault: 'range' };
}

/** `atoi`: what is no number is 0. */
export function parseLoose(text: string): number {
  const parsed = signed(text, LONG_MAX);
  return 'value' in parsed ? parsed.value | 0 : 0;
}

function signed(text: string, max: bigint): NumberText<number> {
  const match = INTEGER.exec(text);
  if (match === null) return { fault: 'invalid' };
  const value = match[1] === '-' ? -BigInt(match[2] as string) : BigInt(match[2] as string);
  return value > max || value < -max - 1n ? { fault: 'range' } : { value: Number(value) };
}
