/** Values of options that more than one command reads. */
import { nearestName } from '../nearest-name.js';
import { OptionError } from './option-error.js';

/** Takes the value as it is. */
export const text = (value: string): string => value;

/** What a whole number counts, in the plural, and its bounds, which it may reach. They are exact as doubles. */
export interface NumberBounds {
  readonly unit?: string;
  readonly from: number;
  readonly to: number;
}

/** A parser for digits and nothing else, so that `1G` is not taken for 1 and `60s` not for 60. */
export function wholeNumber({ unit, from, to }: NumberBounds): (value: string) => number {
  const what = unit === undefined ? 'a whole number' : `a whole number of ${unit}`;
  const end = unit === undefined ? '' : ', without a unit';
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= from && number <= to) return number;
    throw new OptionError(`expected ${what} from ${from} to ${to}${end}, got '${value}'`);
  };
}

/** The longest time that a timer of Node can wait, in milliseconds and in whole seconds. */
const LONGEST_MS = 2 ** 31 - 1;
const LONGEST_SECONDS = Math.floor(LONGEST_MS / 1000);

/** Bytes; 0 stands for no limit. */
export const byteLimit = wholeNumber({ unit: 'bytes', from: 0, to: Number.MAX_SAFE_INTEGER });

/** Bytes, at least one. */
export const byteCount = wholeNumber({ unit: 'bytes', from: 1, to: Number.MAX_SAFE_INTEGER });

/** Milliseconds that a timer can wait; 0 stands for no limit. */
export const timeoutMs = wholeNumber({ unit: 'milliseconds', from: 0, to: LONGEST_MS });

/** Seconds that a timer can wait; 0 stands for no limit. */
export const timeoutSeconds = wholeNumber({ unit: 'seconds', from: 0, to: LONGEST_SECONDS });

/** true, on, 1 / false, off, 0 in any case; undefined for anything else. */
export function readBoolean(value: string): boolean | undefined {
  const word = value.toLowerCase();
  if (word === 'true' || word === 'on' || word === '1') return true;
  if (word === 'false' || word === 'off' || word === '0') return false;
  return undefined;
}

/** true or false in the forms of `readBoolean`. */
export function boolean(value: string): boolean {
  const read = readBoolean(value);
  if (read === undefined) throw new OptionError(`expected true or false, got '${value}'`);
  return read;
}

/** A parser for one of some words. */
export function oneOf<T extends string>(words: readonly T[]): (value: string) => T {
  return (value) => {
    if ((words as readonly string[]).includes(value)) return value as T;
    const near = nearestName(value, words);
    const end = near === undefined ? '' : `. Did you mean '${near}'?`;
    throw new OptionError(`expected ${words.join(', ')}, got '${value}'${end}`);
  };
}
