/** `triton repo list DIR...`: the models of repositories, with what a server would make of each. */
import Table from 'cli-table3';
import { formatBytes } from '../../base/format-bytes.js';
import { optionMaker } from '../../base/options/option.js';
import { oneOf } from '../../base/options/parse-value.js';
import { localCopies } from '../../repository/stores/local-copies.js';
import { describeModel, type ModelDescription } from '../../tools/describe-model.js';
import { type ValidationReport, validateRepositories } from '../../tools/validate-repository.js';
import type { Command } from '../frame/command.js';
import { runSubcommand, type Subcommand } from '../frame/subcommand.js';
import {
  SERVER_FLAGS,
  type ServerFlagsContext,
  serverFlagsContext,
  validateOptions,
} from '../validation/validate-options.js';

interface Context extends ServerFlagsContext {
  readonly options: ServerFlagsContext['options'] & { readonly list: { format: 'text' | 'json' } };
}

const { option } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton repo list',
  summary: 'List the models of repositories.',
  argument: { form: '<directory...>', help: 'repositories (also s3://, gs://, as://)' },
  options: [
    option({
      name: 'format',
      argument: 'form',
      help: 'Form of the list: text or json.',
      parse: oneOf<'text' | 'json'>(['text', 'json']),
      into: ['list', 'format'],
    }),
    ...SERVER_FLAGS,
  ],
  context: context(),
  run: list,
});

/** 0 when the repositories could be listed, whatever is wrong with their models; 1 when not, 2 for unusable arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

function context(): Context {
  const base = serverFlagsContext();
  return { ...base, options: { ...base.options, list: { format: 'text' } } };
}

async function list(options: Context['options'], repositories: readonly string[]): Promise<number> {
  const { format } = options.list;
  const copies = await localCopies(repositories);
  try {
    const report = await validateRepositories(copies.directories, validateOptions(options));
    const models = await Promise.all([...report.judged.values()].map(describeModel));
    models.sort((a, b) => (a.name < b.name ? -1 : 1));
    process.stdout.write(copies.restore(format === 'json' ? json(models) : text(models)));
    return complain(report);
  } finally {
    await copies.remove();
  }
}

/** Prints what is wrong with the repositories themselves, and with models that are there twice. */
export function complain(report: ValidationReport): number {
  const outside = report.findings.filter(({ model }) => model === undefined || !report.judged.has(model));
  for (const { message, severity, remedy } of outside) {
    process.stderr.write(`triton repo: ${severity}: ${message}${remedy === undefined ? '' : `. ${remedy}`}\n`);
  }
  return outside.some(({ severity }) => severity === 'error') ? 1 : 0;
}

function json(models: readonly ModelDescription[]): string {
  const rows = models.map(({ name, directory, backend, versions, maxBatchSize, bytes, errors, warnings }) => ({
    ...{ name, directory, backend, versions, maxBatchSize, bytes, errors, warnings },
  }));
  return `${JSON.stringify(rows, null, 2)}\n`;
}

function text(models: readonly ModelDescription[]): string {
  const table = new Table({
    head: ['model', 'backend', 'versions', 'max batch', 'size', 'state'],
    style: { head: [], border: [] },
    colAligns: ['left', 'left', 'left', 'right', 'right', 'left'],
  });
  for (const model of models) {
    table.push([
      model.name,
      model.backend || '?',
      model.versions.join(', ') || '-',
      model.maxBatchSize === undefined ? '?' : String(model.maxBatchSize),
      formatBytes(model.bytes),
      stateOf(model),
    ]);
  }
  return models.length === 0 ? 'no models\n' : `${table.toString()}\n`;
}

/** One or two words on a model. */
export function stateOf({ errors, warnings }: ModelDescription): string {
  if (errors > 0) return `${errors} error${errors === 1 ? '' : 's'}`;
  return warnings > 0 ? `ready, ${warnings} warning${warnings === 1 ? '' : 's'}` : 'ready';
}
