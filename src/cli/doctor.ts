/** `triton doctor`: what this machine offers, what would be used, what is missing. */
import { Option } from 'commander';
import { PROTOCOL_VERSION, packageVersion } from '../base/package.js';
import type { Check } from '../doctor/check.js';
import type { Diagnosis } from '../doctor/run-doctor.js';
import type { Command } from './main.js';
import { runSubcommand, subcommand } from './subcommand.js';

/** 0 when serving is possible, 1 when it is not, 2 for unusable arguments. */
export const run: Command = (args) => {
  const command = subcommand(
    'triton doctor',
    'report what this machine offers to models, what is missing and what to install',
  )
    .addOption(new Option('--format <form>', 'form of the report').choices(['text', 'json']).default('text'))
    .allowExcessArguments(false)
    .addHelpText('after', '\nExit status: 0 serving is possible, 1 it is not, 2 unusable arguments.');
  return runSubcommand(command, args, async () => {
    const { runDoctor } = await import('../doctor/run-doctor.js');
    const diagnosis = await runDoctor();
    const { format } = command.opts<{ format: string }>();
    process.stdout.write(format === 'json' ? json(diagnosis) : text(diagnosis));
    return diagnosis.canServe ? 0 : 1;
  });
};

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
