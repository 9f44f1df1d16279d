/** `triton repo fetch NAME... --repository DIR`: downloads published models into a repository. */
import path from 'node:path';
import Table from 'cli-table3';
import type { Command as Commander } from 'commander';
import { formatBytes } from '../base/format-bytes.js';
import { nearestName } from '../base/nearest-name.js';
import { defaultCache, fetchModel } from '../tools/fetch/fetch-model.js';
import {
  PUBLISHED_MODELS,
  type PublishedFile,
  type PublishedModel,
  readCatalog,
} from '../tools/fetch/published-models.js';
import { DownloadProgress } from './download-progress.js';
import type { Command } from './main.js';
import { reportFailure } from './report-failure.js';
import { shellWord } from './shell-word.js';
import { runSubcommand, subcommand } from './subcommand.js';

interface Flags {
  readonly repository?: string;
  readonly replace?: boolean;
  readonly mirror?: string;
  readonly catalog?: string;
  readonly cache?: string;
  readonly list?: boolean;
}

/** 0 when every model was fetched, 1 when one was not (those before it stay), 2 for unusable arguments. */
export const run: Command = (args) => {
  const command = subcommand('triton repo fetch', 'download published models into a repository')
    .argument('[name...]', 'models; --list shows them')
    .option('--repository <directory>', 'directory of models; it is made when missing')
    .option('--replace', 'replace models of the same name (the shipped demonstration models are replaced anyway)')
    .option('--mirror <address>', "address in place of the publishers'; files lie there under their own names")
    .option(
      '--catalog <file>',
      'JSON file with more models: [{ name, about, config, files: [{ url, bytes, sha256, path }] }]',
    )
    .option('--cache <directory>', 'directory of unfinished downloads (default: the cache of the user)')
    .option('--list', 'list the models')
    .addHelpText('after', '\nHTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured. Downloads that break off are resumed.');
  return runSubcommand(command, args, fetch);
};

async function fetch(command: Commander): Promise<number> {
  const flags = command.opts<Flags>();
  const known = [...PUBLISHED_MODELS];
  try {
    if (flags.catalog !== undefined) known.unshift(...(await readCatalog(flags.catalog)));
    if (flags.list) {
      process.stdout.write(listText(known));
      return 0;
    }
    if (command.args.length === 0) command.error("error: name a model; 'triton repo fetch --list' shows them");
    if (flags.repository === undefined) command.error('error: --repository <directory> is missing');
    for (const model of command.args.map((name) => find(name, known, command))) await fetchOne(model, flags);
    return 0;
  } catch (reason) {
    if (reason instanceof Error && reason.name === 'CommanderError') throw reason;
    return reportFailure('triton repo fetch', reason);
  }
}

function find(name: string, known: readonly PublishedModel[], command: Commander): PublishedModel {
  const found = known.find((model) => model.name === name);
  if (found !== undefined) return found;
  if (name === 'inception_onnx') {
    return command.error(
      "error: 'inception_onnx' is not published as ONNX; fetch inception_graphdef, which says how to convert it, or inception_v1_onnx or inception_v2_onnx",
    );
  }
  const names = known.map((model) => model.name);
  const near = nearestName(name, names);
  return command.error(
    `error: no published model '${name}'${near === undefined ? `; there are ${names.join(', ')}` : ` (did you mean '${near}'?)`}`,
  );
}

async function fetchOne(model: PublishedModel, flags: Flags): Promise<void> {
  const repository = flags.repository as string;
  const bars = new Map<PublishedFile, DownloadProgress>();
  const last = (): DownloadProgress | undefined => [...bars.values()].at(-1);
  try {
    const { directory, replaced } = await fetchModel(model, {
      repository,
      replace: flags.replace === true,
      mirror: flags.mirror,
      cache: flags.cache ?? defaultCache(),
      onProgress: (file, bytes) => {
        let bar = bars.get(file);
        if (bar === undefined) {
          last()?.end();
          bar = new DownloadProgress(process.stderr, path.posix.basename(new URL(file.url).pathname), file.bytes);
          bars.set(file, bar);
        }
        bar.update(bytes);
      },
    });
    last()?.end();
    const what = replaced ? 'Replaced' : 'Fetched';
    process.stdout.write(`${what} the model '${model.name}' as '${directory}': ${model.about}.\n`);
    if (model.note !== undefined) process.stdout.write(`${model.note}\n`);
    process.stdout.write(`Check it with: triton repo validate ${shellWord(repository)}\n`);
  } catch (reason) {
    last()?.end();
    throw reason;
  }
}

function listText(models: readonly PublishedModel[]): string {
  const table = new Table({
    head: ['model', 'what', 'download'],
    style: { head: [], border: [] },
    colAligns: ['left', 'left', 'right'],
  });
  for (const { name, about, files } of models) {
    table.push([name, about, formatBytes(files.reduce((sum, { bytes }) => sum + bytes, 0))]);
  }
  return `${table.toString()}\n`;
}
