/** What an option is, and the ways to make one. */
import { BadOption, parseBool, parseInt64 } from './parse-value.js';
import type { OptionsDraft } from './server-options.js';

/** What reading the command line gathers besides the options themselves. */
export interface ParseState {
  readonly draft: OptionsDraft;
  /** Names of the options seen so far. */
  readonly given: Set<string>;
  /** Printed on stderr at once, as plain lines. */
  warn(line: string): void;
  /** Refusals that the original only makes when it builds the server: `setting <what>: <Code> - <message>`. */
  readonly late: string[];
  /** Options that this server understands but does not implement: one line each. */
  readonly unsupported: string[];
}

/** One option. */
export interface OptionSpec {
  readonly name: string;
  readonly group: string;
  /** What stands in the help for the argument; absent for a flag. */
  readonly argument?: string;
  readonly help: string;
  /** Why the option, once taken, changes nothing here, and what to use instead: logged when it is given. */
  readonly note?: string;
  apply(value: string, state: ParseState): void;
}

/** Puts a parsed value in its place. */
export type Setter<T> = (draft: OptionsDraft, value: T) => void;

/** An option whose value is parsed and put in one place. */
export function option<T>(
  group: string,
  name: string,
  argument: string,
  parse: (value: string) => T,
  set: Setter<T>,
  help: string,
): OptionSpec {
  return { group, name, argument, help, apply: (value, state) => set(state.draft, parse(value)) };
}

/** An option that is checked and then has nothing to change in this server; help and log say why (`note`). */
export function checked(
  group: string,
  name: string,
  argument: string,
  parse: (value: string) => unknown,
  note: string,
): OptionSpec {
  return { group, name, argument, help: withoutEffect(note), note, apply: (value) => void parse(value) };
}

/** Help of an option that changes nothing. */
export function withoutEffect(note: string): string {
  return `Accepted without effect: ${note}.`;
}

/** Takes the value as it is. */
export const text = (value: string): string => value;

/** One of some words; anything else is refused with `message`. `lower`: in any case. */
export function oneOf<T extends string>(values: readonly T[], message: string, lower = false): (value: string) => T {
  return (value) => {
    const wanted = (lower ? value.toLowerCase() : value) as T;
    if (!values.includes(wanted)) throw new BadOption(message);
    return wanted;
  };
}

/** A regular expression, found anywhere in a name, in any case; undefined for ''. */
export function pattern(value: string): RegExp | undefined {
  if (value === '') return undefined;
  try {
    return new RegExp(value.replace(/^\(\?i\)/, ''), 'i');
  } catch {
    throw new BadOption(`Invalid option value. Got ${value}, expected a regular expression`);
  }
}

/** A number above 0. */
export function positive(value: string, message: string): number {
  const number = parseInt64(value);
  if (number <= 0) throw new BadOption(message);
  return number;
}

/** An option that still works and warns. */
export function deprecated(name: string, argument: string, warning: string, apply: OptionSpec['apply']): OptionSpec {
  return {
    group: 'DEPRECATED',
    name,
    argument,
    help: warning.replace(/^Warning: /, ''),
    apply(value, state) {
      state.warn(warning);
      apply(value, state);
    },
  };
}

/**
 * An endpoint of another product that this server does not have: `false` and settings are taken, `true` is refused with
 * `instead`.
 */
export function absentEndpoint(name: string, group: string, instead: string): OptionSpec {
  return {
    group,
    name,
    argument: 'boolean',
    help: 'Not available in this server: only false is accepted.',
    apply(value, state) {
      if (parseBool(value)) state.unsupported.push(`--${name}=${value}: this server has no such endpoint; ${instead}`);
    },
  };
}
