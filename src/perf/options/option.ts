import { existsSync } from 'node:fs';
import { PerfError, usageError } from '../error/perf-error.js';
import type { NumberText } from './numbers.js';
import { parseDouble, parseInt32, parseUint64 } from './numbers.js';
import type { LoadMode, PerfOptions, SearchRange } from './perf-options.js';

/** State of a parse besides the options themselves. */
export interface ParseContext {
  readonly options: PerfOptions;
  /** The load mode that was chosen first, for the message about a second one. */
  chosenMode: LoadMode | undefined;
  /** True once one of -t, -c, -d was seen. */
  deprecatedConcurrency: boolean;
  /** Prints a line to stderr. */
  warn(line: string): void;
  /** Prints the version; the parse ends there with exit status 0. */
  version(): void;
}

/** One occurrence of an option: how it was named, for messages, and its value ('' for flags). */
export interface Occurrence {
  /** `--measurement-interval` or `-p`. */
  readonly label: string;
  readonly value: string;
}

/** An option: how it is named, what it takes, what it says of itself, what it does. */
export interface PerfOption {
  /** Long name; '' = only the letter exists. */
  readonly name: string;
  readonly short?: string;
  /** Placeholder of the value in the usage text; absent = a flag. */
  readonly value?: string;
  readonly help: string;
  readonly deprecated?: boolean;
  apply(context: ParseContext, given: Occurrence): void;
}

/** Takes the number out of a parse or refuses it with the usage error for the option as it was written. */
export function numberOf<T>(parsed: NumberText<T>, given: Occurrence): T {
  if ('value' in parsed) return parsed.value;
  if (parsed.fault === 'invalid') {
    throw usageError(`Failed to parse ${given.label}. Invalid value provided: ${given.value}`);
  }
  throw usageError(`Failed to parse ${given.label}. The value is out of range: ${given.value}`);
}

/** A 32-bit integer of at least `least`, else the usage error `text`. */
export function integer(given: Occurrence, least: number, text: string): number {
  const value = numberOf(parseInt32(given.value), given);
  if (value < least) throw usageError(text);
  return value;
}

/** One of the listed words, else the usage error for a wrong word. */
export function oneOf<T extends string>(
  given: Occurrence,
  words: readonly T[],
  choices: string,
  text = given.value,
): T {
  if ((words as readonly string[]).includes(text)) return text as T;
  throw usageError(`Failed to parse ${given.label}. Unsupported type provided: '${given.value}'. ${choices}`);
}

/** The path of an existing file, else a usage error. */
export function existingFile(given: Occurrence, end = '.'): string {
  if (!existsSync(given.value)) {
    throw usageError(`Failed to parse ${given.label}. The value must be a valid file path${end}`);
  }
  return given.value;
}

/** Chooses the load mode; two choices in one command line are refused. */
export function chooseMode(context: ParseContext, mode: LoadMode): void {
  if (context.chosenMode !== undefined) {
    throw usageError(`Cannot use both ${context.chosenMode} and ${mode} inference load modes.`);
  }
  context.chosenMode = mode;
}

/** Marks a use of -t, -c or -d, which conflict with a load mode that was chosen before. */
export function useDeprecatedConcurrency(context: ParseContext, given: Occurrence): void {
  context.warn(
    `Warning: ${given.label} is deprecated and will be removed in an upcoming version. Use --concurrency-range instead.`,
  );
  if (context.chosenMode !== undefined) {
    throw usageError(`Cannot use both ${context.chosenMode} and DeprecatedConcurrency inference load modes.`);
  }
  context.deprecatedConcurrency = true;
}

/** Reads `start[:end[:step]]`; parts that are left out stay as they are in `range`. */
export function readRange(given: Occurrence, range: SearchRange, kind: 'integer' | 'real', least = 1): void {
  const parts = given.value.split(':');
  if (parts.length < least) {
    throw usageError(`Failed to parse ${given.label}. Both <start> and <end> values must be provided.`);
  }
  if (parts.length > 3) {
    throw usageError(`Failed to parse ${given.label}. The value does not match <start:end:step>.`);
  }
  const [start, end, step] = parts.map((part) => {
    const parsed = kind === 'integer' ? parseUint64(part) : parseDouble(part);
    return numberOf(parsed, given);
  });
  range.start = start as number;
  range.end = end ?? range.end;
  range.step = step ?? range.step;
}

/** A message for what the program can parse but not do. */
export function unsupported(what: string, remedy: string): PerfError {
  return new PerfError(`error: ${what} is not supported by this version of triton perf. ${remedy}`);
}
