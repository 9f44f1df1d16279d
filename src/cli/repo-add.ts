/**
 * `triton repo add MODEL.onnx --name NAME --repository DIR`: lays a bare model file out as a model of a repository;
 * `--python` makes a Python model to start from instead.
 */
import { InvalidArgumentError } from 'commander';
import { type AddedModel, addModel } from '../tools/add-model.js';
import { type AddedPythonModel, addPythonModel } from '../tools/add-python-model.js';
import type { Command } from './main.js';
import { reportFailure } from './report-failure.js';
import { shellWord } from './shell-word.js';
import { runSubcommand, subcommand } from './subcommand.js';

interface Options {
  readonly repository: string;
  readonly name?: string;
  readonly maxBatchSize?: number;
  readonly python?: boolean;
}

const MAX_INT32 = 2 ** 31 - 1;

/** Runs `triton repo add`: 0 when the model was added, 1 when not, 2 for unusable arguments. */
export const run: Command = (args) => {
  const command = subcommand(
    'triton repo add',
    'lay an .onnx file out as a model of a repository, configuration included; or make a Python model to start from',
  )
    .argument('[model.onnx]', 'the model; files with its weights beside it are copied too')
    .option('--python', 'make a Python model called --name, with a class to fill in')
    .requiredOption('--repository <directory>', 'directory of models; it is made when missing')
    .option('--name <name>', "the model's name (default: the file's name without .onnx)")
    .option('--max-batch-size <n>', 'largest batch; 0 for none (default: 4 for a model that batches)', parseSize)
    .allowExcessArguments(false);
  return runSubcommand(command, args, async ({ processedArgs, opts }) => {
    const [file] = processedArgs as [string | undefined];
    const { repository, name, maxBatchSize, python = false } = opts.call(command) as Options;
    if (python && (file !== undefined || name === undefined || maxBatchSize !== undefined)) {
      command.error('error: --python takes --name and --repository alone');
    }
    if (!python && file === undefined) command.error("error: missing required argument 'model.onnx'");
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
  });
};

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

function parseSize(text: string): number {
  const size = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!(size <= MAX_INT32)) throw new InvalidArgumentError(`It must be a whole number from 0 to ${MAX_INT32}.`);
  return size;
}
