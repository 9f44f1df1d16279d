/**
 * `triton repo add MODEL.onnx --name NAME --repository DIR`: lays a bare model file out as a model of a repository;
 * `--python` makes a Python model to start from instead.
 */
import { optionMaker } from '../../base/options/option.js';
import { OptionError } from '../../base/options/option-error.js';
import { text, wholeNumber } from '../../base/options/parse-value.js';
import { type AddedModel, addModel } from '../../tools/add-model.js';
import { type AddedPythonModel, addPythonModel } from '../../tools/add-python-model.js';
import type { Command } from '../frame/command.js';
import { reportFailure } from '../frame/report-failure.js';
import { shellWord } from '../frame/shell-word.js';
import { runSubcommand, type Subcommand } from '../frame/subcommand.js';

interface Flags {
  python: boolean;
  repository: string;
  name: string | undefined;
  maxBatchSize: number | undefined;
}

interface Context {
  readonly options: { readonly add: Flags };
}

const { option, flag } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton repo add',
  summary:
    'Lay an .onnx file out as a model of a repository, configuration included; or make a Python model to start from.',
  argument: { form: '[model.onnx]', help: 'the model; files with its weights beside it are copied too' },
  options: [
    flag({
      name: 'python',
      help: 'Make a Python model called --name, with a class to fill in.',
      into: ['add', 'python'],
    }),
    option({
      name: 'repository',
      argument: 'directory',
      help: 'Directory of models; it is made when missing.',
      required: true,
      parse: text,
      into: ['add', 'repository'],
    }),
    option({
      name: 'name',
      argument: 'name',
      help: "The model's name.",
      default: "the file's name without .onnx",
      parse: text,
      into: ['add', 'name'],
    }),
    option({
      name: 'max-batch-size',
      argument: 'n',
      help: 'Largest batch; 0 for none.',
      default: '4 for a model that batches',
      parse: wholeNumber({ from: 0, to: 2 ** 31 - 1 }),
      into: ['add', 'maxBatchSize'],
    }),
  ],
  context: { options: { add: { python: false, repository: '', name: undefined, maxBatchSize: undefined } } },
  run: add,
});

/** Runs `triton repo add`: 0 when the model was added, 1 when not, 2 for unusable arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

async function add({ add: flags }: Context['options'], [file]: readonly string[]): Promise<number> {
  const { python, repository, name, maxBatchSize } = flags;
  if (python && (file !== undefined || name === undefined || maxBatchSize !== undefined)) {
    throw new OptionError('--python takes --name and --repository alone');
  }
  if (!python && file === undefined) throw new OptionError("missing required argument 'model.onnx'");
  try {
    if (python) {
      process.stdout.write(pythonSummary(await addPythonModel(repository, name as string), repository));
      return 0;
    }
    const added = await addModel({ file: file as string, repository, name, maxBatchSize });
    for (const warning of added.warnings) process.stderr.write(`triton repo add: warning: ${warning}\n`);
    process.stdout.write(summary(added, repository));
    return 0;
  } catch (reason) {
    return reportFailure('triton repo add', reason);
  }
}

function pythonSummary({ directory, file }: AddedPythonModel, repository: string): string {
  return [
    `Made the Python model '${directory}': config.pbtxt, ${file}.`,
    `Fill in ${directory}/${file}: it doubles its input as it is.`,
    `Check it with: triton repo validate ${shellWord(repository)}`,
    `Serve it with: triton serve --model-repository ${shellWord(repository)}`,
    '',
  ].join('\n');
}

function summary({ name, directory, config, configText, externalFiles }: AddedModel, repository: string): string {
  const files = ['config.pbtxt', '1/model.onnx', ...externalFiles.map((file) => `1/${file}`)];
  const batching =
    config.max_batch_size > 0
      ? `It takes batches of up to ${config.max_batch_size} requests; change max_batch_size in config.pbtxt to allow more.`
      : 'It does not batch: requests give whole shapes.';
  return [
    `Added the model '${name}' as '${directory}': ${files.join(', ')}.`,
    '',
    configText.trimEnd(),
    '',
    batching,
    `Check it with: triton repo validate ${shellWord(repository)}`,
    `Serve it with: triton serve --model-repository ${shellWord(repository)}`,
    '',
  ].join('\n');
}
