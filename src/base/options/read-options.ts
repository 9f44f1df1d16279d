/** Reads a command line with a table of options, by the rules of GNU getopt. */
import { nearestName } from '../nearest-name.js';
import { type GetoptError, type GetoptSpec, getopt } from './getopt.js';
import { labelOf, type Option } from './option.js';
import { OptionError } from './option-error.js';

/** What became of a command line. */
export type ReadOutcome =
  | { readonly kind: 'read'; readonly positionals: readonly string[] }
  | { readonly kind: 'standard'; readonly name: 'help' | 'version' }
  /** `near`: the option that was probably meant, with its dashes. */
  | { readonly kind: 'malformed'; readonly error: GetoptError; readonly near: string | undefined }
  | { readonly kind: 'refused'; readonly label: string; readonly error: OptionError };

/** `--help` and `--version`, which the reader itself knows. Tables list them as `name` only. */
const STANDARD = ['help', 'version'] as const;

/**
 * Goes through the options in their order, up to the first that is malformed or whose value is refused. Errors of a kind
 * of the command's own are thrown through.
 */
export function readOptions<C>(args: readonly string[], table: readonly Option<C>[], context: C): ReadOutcome {
  const byName = new Map(table.map((option) => [option.name || (option.short as string), option]));
  const { matches, positionals, errors } = getopt(args, table.map(specOf));
  const [error] = errors;
  for (const match of matches.slice(0, error?.afterMatches)) {
    const standard = STANDARD.find((name) => name === match.name);
    if (standard !== undefined) return { kind: 'standard', name: standard };
    const option = byName.get(match.name) as Option<C>;
    const label = match.short ? `-${option.short}` : labelOf(option);
    try {
      option.take({ label, value: match.value ?? '' }, context);
    } catch (reason) {
      if (!(reason instanceof OptionError)) throw reason;
      return { kind: 'refused', label: reason.option ?? label, error: reason };
    }
  }
  if (error === undefined) return { kind: 'read', positionals };
  const unknown = error.kind === 'unknown' ? /^--([^=]*)/.exec(error.text)?.[1] : undefined;
  return { kind: 'malformed', error, near: unknown === undefined ? undefined : nearOption(unknown, table) };
}

/** The entries of `--help` and `--version`; `letter` for a command that also takes `-h`. */
export function standardOptions(group: string, letter?: 'h'): readonly Option<unknown>[] {
  return [
    { name: 'help', group, help: 'Print this help.', take() {}, ...(letter === undefined ? {} : { short: letter }) },
    { name: 'version', group, help: 'Print the version.', take() {} },
  ];
}

function specOf({ name, short, argument }: Option<never>): GetoptSpec {
  const kind = argument === undefined ? 'none' : argument.startsWith('[') ? 'optional' : 'required';
  return { name, ...(short === undefined ? {} : { short }), argument: kind };
}

/** The option that was probably meant by the long name, with its dashes. */
export function nearOption<C>(name: string, table: readonly Option<C>[]): string | undefined {
  const names = table.filter((option) => option.hidden !== true && option.name !== '').map((option) => option.name);
  const near = nearestName(name, names);
  return near === undefined ? undefined : `--${near}`;
}
