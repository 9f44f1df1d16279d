/** `triton repo validate`: checks repositories without a server. */
import { optionMaker } from '../../base/options/option.js';
import { OptionError } from '../../base/options/option-error.js';
import { oneOf, timeoutSeconds } from '../../base/options/parse-value.js';
import { packageVersion } from '../../base/package.js';
import { localCopies } from '../../repository/stores/local-copies.js';
import { type ValidationReport, validateRepositories } from '../../tools/validate-repository.js';
import type { Command } from '../frame/command.js';
import { runSubcommand, type Subcommand } from '../frame/subcommand.js';
import {
  SERVER_FLAGS,
  type ServerFlagsContext,
  serverFlagsContext,
  validateOptions,
} from '../validation/validate-options.js';

const FORMATS = ['text', 'json', 'sarif', 'github'] as const;

interface Flags {
  format: (typeof FORMATS)[number];
  showEffective: boolean;
  strict: boolean;
  initializeSeconds: number;
}

interface Context extends ServerFlagsContext {
  readonly options: ServerFlagsContext['options'] & { readonly validate: Flags };
}

const { option, flag } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton repo validate',
  summary: 'Check model repositories without a server.',
  argument: {
    form: '<directory...>',
    help: 'repositories (also s3://, gs://, as://), judged together as one server would load them',
  },
  options: [
    option({
      name: 'format',
      argument: 'form',
      help: `Form of the report: ${FORMATS.join(', ')}.`,
      parse: oneOf<(typeof FORMATS)[number]>(FORMATS),
      into: ['validate', 'format'],
    }),
    flag({
      name: 'show-effective',
      help: 'Also show the completed configurations, and what was added (text and json).',
      into: ['validate', 'showEffective'],
    }),
    flag({ name: 'strict', help: 'Warnings fail too.', into: ['validate', 'strict'] }),
    option({
      name: 'initialize-timeout',
      argument: 'seconds',
      help: 'Seconds that initialize of a Python model may take, with the import of its code; then it is an error. 0 = no limit.',
      parse: timeoutSeconds,
      into: ['validate', 'initializeSeconds'],
    }),
    ...SERVER_FLAGS,
  ],
  context: context(),
  notes: `Findings are FILE:LINE:COLUMN: SEVERITY: MESSAGE [RULE]. Exit status: 0 a server would bring every model up,
1 it would not, 2 unusable arguments.`,
  run: validate,
});

/** 0: a server would bring every model up. 1: it would not (or warnings with --strict). 2: unusable arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

function context(): Context {
  const base = serverFlagsContext();
  const validate: Flags = { format: 'text', showEffective: false, strict: false, initializeSeconds: 60 };
  return { ...base, options: { ...base.options, validate } };
}

async function validate(options: Context['options'], words: readonly string[]): Promise<number> {
  const flags = options.validate;
  if (flags.showEffective && flags.format !== 'text' && flags.format !== 'json') {
    throw new OptionError(`--show-effective goes with --format text or json, not with ${flags.format}`);
  }
  const copies = await localCopies(words);
  try {
    const report = await validateRepositories(
      copies.directories,
      validateOptions(options, 'start', flags.initializeSeconds),
    );
    process.stdout.write(copies.restore(await print(report, flags)));
    const fails = report.findings.some(({ severity }) => severity === 'error' || flags.strict);
    return fails ? 1 : 0;
  } finally {
    await copies.remove();
  }
}

async function print(report: ValidationReport, { format, showEffective }: Flags): Promise<string> {
  switch (format) {
    case 'json':
      return (await import('../validation/json-report.js')).reportJson(report, showEffective);
    case 'sarif':
      return (await import('../validation/sarif-report.js')).reportSarif(report, packageVersion());
    case 'github':
      return (await import('../validation/github-report.js')).reportGithub(report);
    case 'text': {
      const { reportText } = await import('../validation/text-report.js');
      if (!showEffective) return reportText(report);
      const { effectiveText } = await import('../validation/effective.js');
      return `${effectiveText(report)}${await reportText(report)}`;
    }
  }
}
