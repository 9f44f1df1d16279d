/** `triton repo fmt PATH...`: brings configurations into their canonical form, comments kept. */
import { buffer } from 'node:stream/consumers';
import { optionMaker } from '../../base/options/option.js';
import { configFilesOf, type FormattedFile, formatConfigFile, formatConfigText } from '../../tools/format-configs.js';
import type { Command } from '../frame/command.js';
import { reportFailure } from '../frame/report-failure.js';
import { runSubcommand, type Subcommand } from '../frame/subcommand.js';

interface Context {
  readonly options: { readonly fmt: { check: boolean } };
}

const { flag } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton repo fmt',
  summary: 'Bring configurations into their canonical form; comments are kept.',
  argument: {
    form: '<path...>',
    help: "configuration files, directories of models, or repositories; '-' reads a configuration and prints it",
  },
  options: [
    flag({
      name: 'check',
      help: 'Change nothing; exit status 1 when a file is not in canonical form.',
      into: ['fmt', 'check'],
    }),
  ],
  context: { options: { fmt: { check: false } } },
  run: format,
});

/** 0 when all is in canonical form (now); 1 when --check finds a file that is not, or one cannot be read; 2 for arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

async function format({ fmt: { check } }: Context['options'], paths: readonly string[]): Promise<number> {
  let status = 0;
  try {
    for (const place of paths) {
      if (place === '-') {
        status = Math.max(status, await formatInput(check));
        continue;
      }
      const files = await configFilesOf(place);
      if (files.length === 0) process.stderr.write(`triton repo fmt: no configurations in '${place}'\n`);
      for (const file of files) status = Math.max(status, report(await formatConfigFile(file, !check), check));
    }
  } catch (reason) {
    return reportFailure('triton repo fmt', reason);
  }
  return status;
}

function report({ file, outcome, errors }: FormattedFile, check: boolean): number {
  for (const { error, remedy } of errors) {
    const { token, message } = error;
    process.stderr.write(`${file}:${token.line}:${token.column}: error: ${message}\n`);
    if (remedy !== undefined) process.stderr.write(`  help: ${remedy}\n`);
  }
  if (outcome === 'changed') process.stdout.write(`${check ? 'not in canonical form' : 'formatted'}: ${file}\n`);
  return outcome === 'unreadable' || (check && outcome === 'changed') ? 1 : 0;
}

async function formatInput(check: boolean): Promise<number> {
  const text = await buffer(process.stdin);
  const formatted = formatConfigText(text);
  if (typeof formatted !== 'string') return report({ file: '-', outcome: 'unreadable', errors: formatted }, check);
  if (!check) process.stdout.write(formatted);
  return check && formatted !== text.toString('utf8') ? 1 : 0;
}
