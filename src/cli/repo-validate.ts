/** `triton repo validate`: checks repositories without a server. */
import { type Command as Commander, Option } from 'commander';
import { packageVersion } from '../base/package.js';
import { localCopies } from '../repository/stores/local-copies.js';
import { type ValidationReport, validateRepositories } from '../tools/validate-repository.js';
import type { Command } from './main.js';
import { runSubcommand, subcommand } from './subcommand.js';
import { addServerOptions, type ServerFlags, validateOptions } from './validation/validate-options.js';

const FORMATS = ['text', 'json', 'sarif', 'github'] as const;

interface Flags extends ServerFlags {
  readonly format: (typeof FORMATS)[number];
  readonly showEffective?: boolean;
  readonly strict?: boolean;
}

/** 0: a server would bring every model up. 1: it would not (or warnings with --strict). 2: unusable arguments. */
export const run: Command = (args) => runSubcommand(define(), args, validate);

function define(): Commander {
  const command = subcommand('triton repo validate', 'Check model repositories without a server.')
    .argument(
      '<directory...>',
      'repositories (also s3://, gs://, as://), judged together as one server would load them',
    )
    .addOption(new Option('--format <form>', 'form of the report').choices(FORMATS).default('text'))
    .option('--show-effective', 'also show the completed configurations, and what was added (text and json)')
    .option('--strict', 'warnings fail too')
    .addHelpText('after', HELP);
  return addServerOptions(command);
}

const HELP = `
Findings are FILE:LINE:COLUMN: SEVERITY: MESSAGE [RULE]. Exit status: 0 a server would bring every model up,
1 it would not, 2 unusable arguments.`;

async function validate(command: Commander): Promise<number> {
  const flags = command.opts<Flags>();
  if (flags.showEffective && flags.format !== 'text' && flags.format !== 'json') {
    command.error(`error: --show-effective goes with --format text or json, not with ${flags.format}`);
  }
  const copies = await localCopies(command.args);
  try {
    const report = await validateRepositories(copies.directories, validateOptions(flags));
    process.stdout.write(copies.restore(await print(report, flags)));
    const fails = report.findings.some(({ severity }) => severity === 'error' || flags.strict === true);
    return fails ? 1 : 0;
  } finally {
    await copies.remove();
  }
}

async function print(report: ValidationReport, { format, showEffective = false }: Flags): Promise<string> {
  switch (format) {
    case 'json':
      return (await import('./validation/json-report.js')).reportJson(report, showEffective);
    case 'sarif':
      return (await import('./validation/sarif-report.js')).reportSarif(report, packageVersion());
    case 'github':
      return (await import('./validation/github-report.js')).reportGithub(report);
    case 'text': {
      const { reportText } = await import('./validation/text-report.js');
      if (!showEffective) return reportText(report);
      const { effectiveText } = await import('./validation/effective.js');
      return `${effectiveText(report)}${await reportText(report)}`;
    }
  }
}
