import { getopt } from '../../base/options/getopt.js';
import { PerfError } from '../error/perf-error.js';
import { checkOptions } from '../options/check-options.js';
import type { ParseContext } from '../options/option.js';
import { GETOPT_SPECS, OPTIONS } from '../options/option-table.js';
import type { PerfOptions } from '../options/perf-options.js';
import { defaultPerfOptions } from '../options/perf-options.js';
import { completeOptions } from './complete-options.js';

/** What the command line asks for. */
export type ParsedArgs =
  | { readonly kind: 'measure'; readonly options: PerfOptions }
  | { readonly kind: 'version' }
  | { readonly kind: 'help' };

/**
 * Parses a command line from left to right and checks it. Throws the PerfError of the first offending option; warnings
 * go to `warn` as lines.
 */
export function parseArgs(args: readonly string[], warn: (line: string) => void): ParsedArgs {
  const { matches, errors } = getopt(args, GETOPT_SPECS);
  const [error] = errors;
  let version = false;
  const context: ParseContext = {
    options: defaultPerfOptions(),
    chosenMode: undefined,
    deprecatedConcurrency: false,
    warn,
    version: () => {
      version = true;
    },
  };
  for (const match of matches.slice(0, error?.afterMatches)) {
    const option = OPTIONS.get(match.name);
    if (option === undefined) return { kind: 'help' };
    const label = match.short || option.name === '' ? `-${option.short}` : `--${option.name}`;
    option.apply(context, { label, value: match.value ?? '' });
    if (version) return { kind: 'version' };
  }
  if (error !== undefined) throw new PerfError(getoptText(error.kind, error.text), { emptyLines: 0 });
  completeOptions(context);
  checkOptions(context);
  return { kind: 'measure', options: context.options };
}

function getoptText(kind: 'unknown' | 'ambiguous' | 'missing' | 'excess' | 'short', text: string): string {
  if (kind === 'short') return `Error: Invalid short option '${text}'`;
  if (kind === 'unknown' || kind === 'ambiguous') return `Error: Invalid long option '${text}'`;
  return `Error: Missing value for option '${text}'`;
}
