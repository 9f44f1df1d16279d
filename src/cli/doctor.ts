/** `triton doctor`: what this machine offers, what would be used, what is missing. */
import { optionMaker } from '../base/options/option.js';
import { oneOf } from '../base/options/parse-value.js';
import { PROTOCOL_VERSION, packageVersion } from '../base/package.js';
import type { Check } from '../doctor/check.js';
import type { Diagnosis } from '../doctor/run-doctor.js';
import type { Command } from './frame/command.js';
import { runSubcommand, type Subcommand } from './frame/subcommand.js';

interface Context {
  readonly options: { readonly doctor: { format: 'text' | 'json' } };
}

const { option } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton doctor',
  summary: 'Report what this machine offers to models, what is missing and what to install.',
  options: [
    option({
      name: 'format',
      argument: 'form',
      help: 'Form of the report: text or json.',
      parse: oneOf<'text' | 'json'>(['text', 'json']),
      into: ['doctor', 'format'],
    }),
  ],
  context: { options: { doctor: { format: 'text' } } },
  notes: 'Exit status: 0 serving is possible, 1 it is not, 2 unusable arguments.',
  async run({ doctor: { format } }) {
    const { runDoctor } = await import('../doctor/run-doctor.js');
    const diagnosis = await runDoctor();
    process.stdout.write(format === 'json' ? json(diagnosis) : text(diagnosis));
    return diagnosis.canServe ? 0 : 1;
  },
});

/** 0 when serving is possible, 1 when it is not, 2 for unusable arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

function json(diagnosis: Diagnosis): string {
  return `${JSON.stringify({ version: packageVersion(), protocol: PROTOCOL_VERSION, ...diagnosis }, null, 2)}\n`;
}

const MARKS: Readonly<Record<Check['status'], string>> = {
  ok: 'ok     ',
  warning: 'WARNING',
  missing: 'missing',
  error: 'ERROR  ',
};

/** Each check with what was found, what follows and what to do; what would be used at the end. */
function text({ checks, summary }: Diagnosis): string {
  const parts = checks.map(({ status, title, found, follows, remedy }) => {
    const [first = '', ...rest] = found;
    const lines = [`${MARKS[status]}  ${title}: ${first}`, ...rest.map((fact) => `           ${fact}`)];
    lines.push(`         - ${follows}`);
    if (remedy !== undefined) lines.push(`         > ${remedy}`);
    return lines.join('\n');
  });
  return `${parts.join('\n')}\n\n${summary.join('\n')}\n`;
}
