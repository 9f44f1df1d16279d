/** What an option of `triton perf` is read into, and parsers with the messages of perf_analyzer, to the letter. */
import { existsSync } from 'node:fs';
import { type NumberText, readDouble, readInt32, readInt64, readUint64 } from '../../base/options/c-numbers.js';
import { type Occurrence, type Option, type OptionsDraft, optionMaker } from '../../base/options/option.js';
import { usageError } from '../error/perf-error.js';
import type { LoadMode, SearchRange } from './load-options.js';
import type { PerfOptions } from './perf-options.js';

/** State of a parse besides the options themselves. */
export interface ParseContext {
  readonly options: OptionsDraft<PerfOptions>;
  /** The load mode that was chosen first, for the message about a second one. */
  chosenMode: LoadMode | undefined;
  /** True once one of -t, -c, -d was seen. */
  deprecatedConcurrency: boolean;
  /** Prints a line to stderr. */
  warn(line: string): void;
}

/** An option of `triton perf`. */
export type PerfOption = Option<ParseContext>;

/** The makers of the options of `triton perf`. */
export const { option, flag } = optionMaker<ParseContext>();

/** A parser of the value of one option. */
type Parser<T> = (value: string, given: Occurrence) => T;

/** Takes the number out of what was read or refuses it with the usage error for the option as it was written. */
function parser(read: (value: string) => NumberText): Parser<number> {
  return (value, given) => {
    const number = read(value);
    if ('value' in number) return number.value;
    if (number.fault === 'invalid') {
      throw usageError(`Failed to parse ${given.label}. Invalid value provided: ${given.value}`);
    }
    throw usageError(`Failed to parse ${given.label}. The value is out of range: ${given.value}`);
  };
}

/** A 32-bit integer. */
export const int32 = parser(readInt32);
/** A 64-bit integer. */
export const int64 = parser(readInt64);
/** A 64-bit integer without a sign; -1 is the largest. */
export const uint64 = parser(readUint64);
/** A number with a fraction. */
export const double = parser(readDouble);

/** A number of at least `least`, else the usage error `message`. NaN is refused, too. */
export function atLeast(least: number, message: string, parse: Parser<number> = int32): Parser<number> {
  return (value, given) => {
    const number = parse(value, given);
    if (number >= least) return number;
    throw usageError(message);
  };
}

/** One of the listed words, else the usage error for a wrong word. `lower`: in any case. */
export function word<T extends string>(words: readonly T[], choices: string, lower = false): Parser<T> {
  return (value, { label }) => {
    const wanted = lower ? value.toLowerCase() : value;
    if ((words as readonly string[]).includes(wanted)) return wanted as T;
    throw usageError(`Failed to parse ${label}. Unsupported type provided: '${value}'. ${choices}`);
  };
}

/** The path of an existing file, else a usage error. */
export function existingFile(value: string, { label }: Occurrence, end = '.'): string {
  if (existsSync(value)) return value;
  throw usageError(`Failed to parse ${label}. The value must be a valid file path${end}`);
}

/** Chooses the load mode; two choices in one command line are refused. */
export function chooseMode(context: ParseContext, mode: LoadMode): void {
  if (context.chosenMode !== undefined) {
    throw usageError(`Cannot use both ${context.chosenMode} and ${mode} inference load modes.`);
  }
  context.chosenMode = mode;
}

/** Marks a use of -t, -c or -d, which conflict with a load mode that was chosen before. */
export function useDeprecatedConcurrency(context: ParseContext, { label }: Occurrence): void {
  context.warn(deprecation(label, '--concurrency-range'));
  if (context.chosenMode !== undefined) {
    throw usageError(`Cannot use both ${context.chosenMode} and DeprecatedConcurrency inference load modes.`);
  }
  context.deprecatedConcurrency = true;
}

/** perf_analyzer's warning about an option that has been replaced. */
export function deprecation(old: string, instead: string): string {
  return `Warning: ${old} is deprecated and will be removed in an upcoming version. Use ${instead} instead.`;
}

/** `start[:end[:step]]`; parts that are left out are those of `range`. `least`: how many must be there. */
export function rangeOf(given: Occurrence, range: SearchRange, parse: Parser<number>, least = 1): SearchRange {
  const parts = given.value.split(':');
  if (parts.length < least) {
    throw usageError(`Failed to parse ${given.label}. Both <start> and <end> values must be provided.`);
  }
  if (parts.length > 3) {
    throw usageError(`Failed to parse ${given.label}. The value does not match <start:end:step>.`);
  }
  const [start, end, step] = parts.map((part) => parse(part, given));
  return { start: start as number, end: end ?? range.end, step: step ?? range.step };
}
