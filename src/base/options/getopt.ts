/**
 * GNU getopt_long as Triton and its tools use it: `--name=value`, `--name value`, unambiguous prefixes, `-x value`,
 * `-xvalue`, bundled flags, `--` ends options, other arguments may stand anywhere. Messages are those of the GNU C
 * library.
 */

/** One long option (with an optional one-letter form). */
export interface GetoptSpec {
  readonly name: string;
  readonly short?: string;
  readonly argument: 'none' | 'required' | 'optional';
}

/** What was found, in the order of the command line. */
export interface GetoptMatch {
  /** `name` of the option (or the letter, for an option whose name is empty). */
  readonly name: string;
  readonly value: string | undefined;
  /** True when the one-letter form was used. */
  readonly short: boolean;
}

/** Result of a parse: matches until the first error, and the GNU C library's message for that error. */
export interface GetoptResult {
  readonly matches: readonly GetoptMatch[];
  readonly positionals: readonly string[];
  readonly errors: readonly GetoptError[];
}

/** A malformed option. */
export interface GetoptError {
  /** The GNU C library's message without the program's name in front, e.g. `unrecognized option '--foo'`. */
  readonly message: string;
  /** How many matches stood before it. */
  readonly afterMatches: number;
  /** `missing`: the value of a long option; `excess`: a value for a flag; `short`: unknown letter or without value. */
  readonly kind: 'unknown' | 'ambiguous' | 'missing' | 'excess' | 'short';
  /** The argument as typed; for `short` just `-<letter>`. */
  readonly text: string;
}

/** Parses a command line. All errors are collected (getopt goes on after each); callers decide which one ends them. */
export function getopt(args: readonly string[], specs: readonly GetoptSpec[]): GetoptResult {
  const matches: GetoptMatch[] = [];
  const positionals: string[] = [];
  const errors: GetoptError[] = [];
  const fail = (message: string, kind: GetoptError['kind'], text: string): void => {
    errors.push({ message, afterMatches: matches.length, kind, text });
  };

  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === '--') {
      positionals.push(...args.slice(i + 1));
      break;
    }
    if (arg.startsWith('--')) {
      const equals = arg.indexOf('=');
      const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
      const inline = equals < 0 ? undefined : arg.slice(equals + 1);
      const found = findLong(name, specs);
      if (found === undefined) {
        fail(`unrecognized option '${arg}'`, 'unknown', arg);
      } else if (Array.isArray(found)) {
        const names = found.map((s) => ` '--${s.name}'`).join('');
        fail(`option '${arg}' is ambiguous; possibilities:${names}`, 'ambiguous', arg);
      } else if (found.argument === 'none' && inline !== undefined) {
        fail(`option '--${found.name}' doesn't allow an argument`, 'excess', arg);
      } else if (found.argument === 'required' && inline === undefined) {
        if (i + 1 < args.length) matches.push({ name: found.name, value: args[++i], short: false });
        else fail(`option '--${found.name}' requires an argument`, 'missing', arg);
      } else {
        matches.push({ name: found.name, value: inline, short: false });
      }
    } else if (arg.startsWith('-') && arg.length > 1) {
      i = parseShort(arg, i);
    } else {
      positionals.push(arg);
    }
  }
  return { matches, positionals, errors };

  function parseShort(arg: string, index: number): number {
    for (let k = 1; k < arg.length; k++) {
      const letter = arg[k] as string;
      const spec = specs.find((s) => s.short === letter);
      if (spec === undefined) {
        fail(`invalid option -- '${letter}'`, 'short', `-${letter}`);
        continue;
      }
      const name = spec.name || letter;
      if (spec.argument === 'none') {
        matches.push({ name, value: undefined, short: true });
        continue;
      }
      if (k + 1 < arg.length) matches.push({ name, value: arg.slice(k + 1), short: true });
      else if (spec.argument === 'optional') matches.push({ name, value: undefined, short: true });
      else if (index + 1 < args.length) matches.push({ name, value: args[++index], short: true });
      else fail(`option requires an argument -- '${letter}'`, 'short', `-${letter}`);
      return index;
    }
    return index;
  }
}

/** The option of an exact or unambiguously shortened name; a list when several fit; undefined when none does. */
function findLong(name: string, specs: readonly GetoptSpec[]): GetoptSpec | GetoptSpec[] | undefined {
  const exact = specs.find((s) => s.name !== '' && s.name === name);
  if (exact) return exact;
  const candidates = specs.filter((s) => s.name !== '' && s.name.startsWith(name));
  return candidates.length > 1 ? candidates : candidates[0];
}
