/** Commands that commander reads, with the tables that all commands have: `triton repo ...` and `triton doctor`. */
import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander';
import { defaultOf } from '../../base/options/help-text.js';
import { labelOf, type Option, type OptionContext } from '../../base/options/option.js';
import { OptionError, usageLine } from '../../base/options/option-error.js';
import { nearOption } from '../../base/options/read-options.js';
import { versionLine } from '../../base/package.js';

/** One command. */
export interface Subcommand<C extends OptionContext> {
  /** As it is called: `triton repo list`. */
  readonly name: string;
  readonly summary: string;
  /** What is not an option: `<directory...>`, `[name]`. */
  readonly argument?: { readonly form: string; readonly help: string };
  readonly options: readonly Option<C>[];
  /** What the command line is read into, with the defaults. */
  readonly context: C;
  /** The end of the help text. */
  readonly notes?: string;
  /** Does the work and resolves to the exit status. An OptionError that it throws is about the command line. */
  run(options: C['options'], words: readonly string[]): Promise<number>;
}

/** Reads the arguments and runs the command. 0 after --help and --version, 2 for a command line that cannot be used. */
export async function runSubcommand<C extends OptionContext>(
  subcommand: Subcommand<C>,
  args: readonly string[],
): Promise<number> {
  const { name, context } = subcommand;
  const command = commanderOf(subcommand);
  try {
    command.parse([...args], { from: 'user' });
    return await subcommand.run(context.options, command.args);
  } catch (reason) {
    if (reason instanceof CommanderError && reason.exitCode === 0) return 0;
    const what =
      reason instanceof OptionError ? reason.message : reason instanceof CommanderError && wordsOf(reason, subcommand);
    if (what === false) throw reason;
    process.stderr.write(`${usageLine(name, what)}\n`);
    return 2;
  }
}

function commanderOf<C extends OptionContext>(subcommand: Subcommand<C>): Commander {
  const { name, summary, argument, options, context, notes } = subcommand;
  const command = new Commander(name)
    .description(summary)
    .exitOverride()
    .configureOutput({ writeErr() {} })
    .helpOption('-h, --help', 'print this help')
    .version(versionLine().trimEnd(), '-V, --version', 'print the version');
  if (argument !== undefined) command.argument(argument.form, argument.help);
  if (notes !== undefined) command.addHelpText('after', `\n${notes}`);
  // The defaults, before anything is read.
  const defaults = structuredClone(context.options);
  for (const option of options) {
    const added = new CommanderOption(flagsOf(option), `${option.help}${defaultOf(option, defaults)}`);
    command.addOption(added.hideHelp(option.hidden === true).makeOptionMandatory(option.required === true));
    command.on(`option:${added.name()}`, (value: string | null | undefined) => {
      const label = labelOf(option);
      try {
        option.take({ label, value: value ?? '' }, context);
      } catch (reason) {
        throw reason instanceof OptionError ? new OptionError(`${label}: ${reason.message}`) : reason;
      }
    });
  }
  return command.action(() => {});
}

function flagsOf<C>({ name, argument }: Option<C>): string {
  if (argument === undefined) return `--${name}`;
  return argument.startsWith('[') ? `--${name} ${argument}` : `--${name} <${argument}>`;
}

/** commander's message as the middle of our line, with the option that was probably meant. */
function wordsOf<C extends OptionContext>({ message }: CommanderError, { options }: Subcommand<C>): string {
  const [what = ''] = message.replace(/^error: /, '').split('\n');
  const name = /^unknown option '--([^'=]*)/.exec(what)?.[1];
  const near = name === undefined ? undefined : nearOption(name, options);
  return near === undefined ? what : `${what}. Did you mean '${near}'?`;
}
