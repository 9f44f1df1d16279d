/** What an option of `triton serve` is read into, and the kinds of options that only this command has. */
import { NamePattern } from '../../base/name-pattern.js';
import { type Option, type OptionsDraft, optionMaker } from '../../base/options/option.js';
import { BadOption } from './parse-value.js';
import type { ServerOptions } from './server-options.js';

/** What reading the command line gathers besides the options themselves. */
export interface ParseState {
  readonly options: OptionsDraft<Omit<ServerOptions, 'notes'>>;
  /** Values of the options seen so far, by name. */
  readonly given: Map<string, string>;
  /** Settings that came as --trace-config, which count more than their deprecated forms. */
  readonly traceGiven: Set<string>;
  /** Printed on stderr at once, as plain lines. */
  warn(line: string): void;
  /** Refusals that Triton only makes when it builds the server: `setting <what>: <Code> - <message>`. */
  readonly late: string[];
  /** Options that this server understands but does not implement: one line each. */
  readonly unsupported: string[];
}

/** An option of the server. */
export type ServerOption = Option<ParseState>;

/** The makers of the server's options. */
export const { option, flag } = optionMaker<ParseState>();

/** What the options that change nothing here have in common. */
interface CheckedForm {
  readonly name: string;
  readonly group: string;
  readonly argument: string;
  parse(value: string): unknown;
  readonly note: string;
}

/** An option that is checked and then has nothing to change in this server; help and log say why (`note`). */
export function checked(form: CheckedForm): ServerOption {
  return option({ ...form, help: withoutEffect(form.note), set() {} });
}

/** Help of an option that changes nothing. */
export function withoutEffect(note: string): string {
  return `Accepted without effect: ${note}.`;
}

/** An option that still works and warns with one of Triton's messages. */
export function deprecated<T>(form: {
  readonly name: string;
  readonly argument: string;
  readonly warning: string;
  parse(value: string): T;
  set(state: ParseState, value: NoInfer<T>): void;
}): ServerOption {
  const { name, argument, warning, parse, set } = form;
  const made = option({ name, argument, deprecated: true, help: warning.replace(/^Warning: /, ''), parse, set });
  return {
    ...made,
    take(given, state) {
      state.warn(warning);
      made.take(given, state);
    },
  };
}

/** One of some words; anything else is refused with Triton's `message`. `lower`: in any case. */
export function compatOneOf<T extends string>(
  values: readonly T[],
  message: string,
  lower = false,
): (value: string) => T {
  return (value) => {
    const wanted = (lower ? value.toLowerCase() : value) as T;
    if (!values.includes(wanted)) throw new BadOption(message);
    return wanted;
  };
}

/** A pattern of names; undefined for ''. */
export function pattern(value: string): NamePattern | undefined {
  if (value === '') return undefined;
  try {
    return new NamePattern(value);
  } catch (error) {
    const { message } = error as Error;
    throw new BadOption(`Invalid option value. Got ${value}, expected a regular expression of RE2: ${message}`);
  }
}
