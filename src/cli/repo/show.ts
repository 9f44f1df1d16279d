/** `triton repo show MODEL --repository DIR`: everything about one model. */
import Table from 'cli-table3';
import { formatBytes } from '../../base/format-bytes.js';
import { nearestName } from '../../base/nearest-name.js';
import { optionMaker } from '../../base/options/option.js';
import { text as asItIs, oneOf } from '../../base/options/parse-value.js';
import { describeModel, type ModelDescription } from '../../tools/describe-model.js';
import type { ValidatedModel } from '../../tools/validate-model.js';
import { validateRepositories } from '../../tools/validate-repository.js';
import type { Command } from '../frame/command.js';
import { runSubcommand, type Subcommand } from '../frame/subcommand.js';
import { annotatedConfig } from '../validation/effective.js';
import { RawJson, stringifyJson } from '../validation/raw-json.js';
import { reportText } from '../validation/text-report.js';
import {
  SERVER_FLAGS,
  type ServerFlagsContext,
  serverFlagsContext,
  validateOptions,
} from '../validation/validate-options.js';
import { stateOf } from './list.js';

interface Context extends ServerFlagsContext {
  readonly options: ServerFlagsContext['options'] & {
    readonly show: { repositories: readonly string[]; format: 'text' | 'json' };
  };
}

const { option } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton repo show',
  summary: 'Show one model: metadata, completed configuration, files, findings.',
  argument: { form: '<model>', help: 'name of the model' },
  options: [
    option({
      name: 'repository',
      argument: 'directory',
      help: 'Its repository; may be given several times.',
      repeatable: true,
      required: true,
      parse: asItIs,
      set({ options: { show } }, directory) {
        show.repositories = [...show.repositories, directory];
      },
    }),
    option({
      name: 'format',
      argument: 'form',
      help: 'Form of the output: text or json.',
      parse: oneOf<'text' | 'json'>(['text', 'json']),
      into: ['show', 'format'],
    }),
    ...SERVER_FLAGS,
  ],
  context: context(),
  run: show,
});

function context(): Context {
  const base = serverFlagsContext();
  return { ...base, options: { ...base.options, show: { repositories: [], format: 'text' } } };
}

/** 0 when a server would bring the model up as far as its files show, 1 when it would not or the repositories do not hold the model, 2 for unusable arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

async function show(options: Context['options'], [name = '']: readonly string[]): Promise<number> {
  const flags = options.show;
  const report = await validateRepositories(flags.repositories, validateOptions(options));
  const model = report.judged.get(name);
  if (model === undefined) {
    process.stderr.write(`triton repo show: ${absence(name, report)}\n`);
    return 1;
  }
  const description = await describeModel(model);
  if (flags.format === 'json') {
    const { config, ...facts } = description;
    const raw = config === undefined ? {} : { config: new RawJson(config) };
    process.stdout.write(`${stringifyJson({ ...facts, ...raw, findings: model.findings })}\n`);
  } else {
    process.stdout.write(text(description, model));
    const own = { ...report, models: [name], findings: model.findings };
    if (model.findings.length > 0) process.stdout.write(`\n${await reportText(own)}`);
  }
  return description.errors > 0 ? 1 : 0;
}

function absence(name: string, report: Awaited<ReturnType<typeof validateRepositories>>): string {
  const twice = report.findings.find(({ model }) => model === name);
  if (twice !== undefined) return twice.message;
  const [broken] = report.findings.filter(({ rule }) => rule === 'repository');
  if (broken !== undefined) return broken.message;
  const near = nearestName(name, report.models);
  const known = report.models.length === 0 ? 'there are no models' : `there are ${report.models.join(', ')}`;
  return `no model '${name}' in ${report.repositories.join(', ')}; ${near === undefined ? known : `did you mean '${near}'?`}`;
}

function text(description: ModelDescription, model: ValidatedModel): string {
  const { name, directory, backend, versions, bytes, files, onnx, metadata } = description;
  const parts = [
    `${name}: ${stateOf(description)}`,
    `  directory ${directory} (${formatBytes(bytes)})`,
    `  backend   ${backend || '?'}`,
    `  versions  ${versions.join(', ') || '-'}`,
  ];
  if (onnx !== undefined) {
    const opsets = Object.entries(onnx.opsets).map(([domain, version]) => `${domain} ${version}`);
    const by = onnx.producer === '' ? '' : `, made by ${onnx.producer}`;
    parts.push(`  onnx      ${onnx.nodes} nodes, IR version ${onnx.irVersion}, opset ${opsets.join(', ')}${by}`);
    for (const [key, value] of Object.entries(onnx.metadata)) parts.push(`            ${key}: ${value}`);
  }
  if (metadata !== undefined) parts.push('', tensorTable(metadata));
  parts.push('', ...files.map((file) => `  ${formatBytes(file.bytes).padStart(8)}  ${file.path}`));
  if (model.config !== undefined && versions.length > 0) {
    parts.push('', annotatedConfig({ polled: model.polled, config: model.config }).trimEnd());
  }
  return `${parts.join('\n')}\n`;
}

function tensorTable({ inputs, outputs }: NonNullable<ModelDescription['metadata']>): string {
  const table = new Table({ head: ['', 'tensor', 'datatype', 'shape'], style: { head: [], border: [] } });
  for (const [kind, tensors] of [['input', inputs] as const, ['output', outputs] as const]) {
    for (const { name, datatype, shape } of tensors) table.push([kind, name, datatype, `[${shape.join(',')}]`]);
  }
  return table.toString();
}
