/** What every command is, and how `triton` and `triton repo` pick one of theirs. */
import { nearestName } from '../../base/nearest-name.js';
import { usageLine } from '../../base/options/option-error.js';
import { versionLine } from '../../base/package.js';

/** A command: gets its own arguments, resolves to the exit status. */
export type Command = (args: readonly string[]) => Promise<number>;

/** Commands by name, each with one line about it; only the one that is picked is loaded. */
export type CommandList = Readonly<
  Record<string, { readonly summary: string; load(): Promise<{ readonly run: Command }> }>
>;

/** A program that consists of commands. */
export interface Frame {
  /** As it is called: `triton repo`. */
  readonly name: string;
  readonly summary: string;
  readonly commands: CommandList;
}

/** Runs the command that the arguments begin with. 2 when there is no such command. */
export async function runCommand(frame: Frame, args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  const [topic] = rest;
  if (word === undefined) return printHelp(frame, process.stderr, 2);
  if (word === '--version' || word === '-V') {
    process.stdout.write(versionLine());
    return 0;
  }
  if (word === 'help' && topic !== undefined) return runCommand(frame, [topic, '--help']);
  if (word === '--help' || word === '-h' || word === 'help') return printHelp(frame, process.stdout, 0);
  const { name, commands } = frame;
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (command !== undefined) return (await command.load()).run(rest);
  const near = nearestName(word, Object.keys(commands));
  const remedy = near === undefined ? `there are ${Object.keys(commands).join(', ')}` : `Did you mean '${near}'?`;
  const what = `'${word}' is not ${word.startsWith('-') ? 'an option' : 'a command'}`;
  process.stderr.write(`${usageLine(name, `${what}${near === undefined ? '; ' : '. '}${remedy}`)}\n`);
  return 2;
}

async function printHelp(frame: Frame, output: NodeJS.WritableStream, status: number): Promise<number> {
  const { Command: Commander } = await import('commander');
  const { name, summary, commands } = frame;
  const program = new Commander(name)
    .description(summary)
    .usage('COMMAND [arguments]')
    .helpCommand('help [command]', 'show the help of a command')
    .option('-V, --version', 'print the versions')
    .addHelpText('after', `\n'${name} COMMAND --help' shows the options of a command.`);
  for (const [command, entry] of Object.entries(commands)) program.command(command).description(entry.summary);
  program.configureOutput({ writeOut: (text) => output.write(text) }).outputHelp();
  return status;
}
