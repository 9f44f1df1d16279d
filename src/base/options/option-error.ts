import { TritonError } from '../error.js';

/** A command line that cannot be used, in words of our own. */
export class OptionError extends TritonError {
  /** `message`: what is wrong, with the value given and what is allowed, without an end of sentence. */
  constructor(
    message: string,
    /** Name of the option as in messages; undefined = the one that is being read. */
    readonly option?: string,
  ) {
    super('INVALID_ARG', message);
  }
}

/** `Run 'triton perf --help' for details.` */
export function helpHint(command: string): string {
  return `Run '${command} --help' for details.`;
}

/** The one line that a wrong command line ends with: `triton perf: WHAT. Run 'triton perf --help' for details.` */
export function usageLine(command: string, what: string): string {
  return `${command}: ${what}${/[.?!]$/.test(what) ? '' : '.'} ${helpHint(command)}`;
}
