/** `triton repo fetch NAME... --repository DIR`: downloads published models into a repository. */
import path from 'node:path';
import Table from 'cli-table3';
import { formatBytes } from '../../base/format-bytes.js';
import { nearestName } from '../../base/nearest-name.js';
import { optionMaker } from '../../base/options/option.js';
import { OptionError } from '../../base/options/option-error.js';
import { text } from '../../base/options/parse-value.js';
import { defaultCache, fetchModel } from '../../tools/fetch/fetch-model.js';
import {
  PUBLISHED_MODELS,
  type PublishedFile,
  type PublishedModel,
  readCatalog,
} from '../../tools/fetch/published-models.js';
import type { Command } from '../frame/command.js';
import { reportFailure } from '../frame/report-failure.js';
import { shellWord } from '../frame/shell-word.js';
import { runSubcommand, type Subcommand } from '../frame/subcommand.js';
import { DownloadProgress } from './download-progress.js';

interface Flags {
  repository: string | undefined;
  replace: boolean;
  mirror: string | undefined;
  catalog: string | undefined;
  cache: string | undefined;
  list: boolean;
}

interface Context {
  readonly options: { readonly fetch: Flags };
}

const { option, flag } = optionMaker<Context>();

const command = (): Subcommand<Context> => ({
  name: 'triton repo fetch',
  summary: 'Download published models into a repository.',
  argument: { form: '[name...]', help: 'models; --list shows them' },
  options: [
    option({
      name: 'repository',
      argument: 'directory',
      help: 'Directory of models; it is made when missing.',
      parse: text,
      into: ['fetch', 'repository'],
    }),
    flag({
      name: 'replace',
      help: 'Replace models of the same name (the shipped demonstration models are replaced anyway).',
      into: ['fetch', 'replace'],
    }),
    option({
      name: 'mirror',
      argument: 'address',
      help: "Address in place of the publishers'; files are there under their own names.",
      parse: text,
      into: ['fetch', 'mirror'],
    }),
    option({
      name: 'catalog',
      argument: 'file',
      help: 'JSON file with more models: [{ name, about, config, files: [{ url, bytes, sha256, path }] }].',
      parse: text,
      into: ['fetch', 'catalog'],
    }),
    option({
      name: 'cache',
      argument: 'directory',
      help: 'Directory of unfinished downloads.',
      default: 'the cache of the user',
      parse: text,
      into: ['fetch', 'cache'],
    }),
    flag({ name: 'list', help: 'List the models.', into: ['fetch', 'list'] }),
  ],
  context: {
    options: {
      fetch: {
        repository: undefined,
        replace: false,
        mirror: undefined,
        catalog: undefined,
        cache: undefined,
        list: false,
      },
    },
  },
  notes: 'HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured. Downloads that break off are resumed.',
  run: fetch,
});

/** 0 when every model was fetched, 1 when one was not (those before it stay), 2 for unusable arguments. */
export const run: Command = (args) => runSubcommand(command(), args);

async function fetch({ fetch: flags }: Context['options'], names: readonly string[]): Promise<number> {
  const known = [...PUBLISHED_MODELS];
  try {
    if (flags.catalog !== undefined) known.unshift(...(await readCatalog(flags.catalog)));
    if (flags.list) {
      process.stdout.write(listText(known));
      return 0;
    }
    if (names.length === 0) throw new OptionError('a model must be named; --list shows them');
    const { repository } = flags;
    if (repository === undefined) throw new OptionError('--repository <directory> is missing');
    for (const model of names.map((name) => find(name, known))) await fetchOne(model, { ...flags, repository });
    return 0;
  } catch (reason) {
    if (reason instanceof OptionError) throw reason;
    return reportFailure('triton repo fetch', reason);
  }
}

function find(name: string, known: readonly PublishedModel[]): PublishedModel {
  const found = known.find((model) => model.name === name);
  if (found !== undefined) return found;
  if (name === 'inception_onnx') {
    throw new OptionError(
      "'inception_onnx' is not published as ONNX; fetch inception_graphdef, which says how to convert it, or inception_v1_onnx or inception_v2_onnx",
    );
  }
  const names = known.map((model) => model.name);
  const near = nearestName(name, names);
  const remedy = near === undefined ? `; there are ${names.join(', ')}` : `. Did you mean '${near}'?`;
  throw new OptionError(`no published model '${name}'${remedy}`);
}

async function fetchOne(model: PublishedModel, flags: Flags & { readonly repository: string }): Promise<void> {
  const { repository } = flags;
  const bars = new Map<PublishedFile, DownloadProgress>();
  const last = (): DownloadProgress | undefined => [...bars.values()].at(-1);
  try {
    const { directory, replaced } = await fetchModel(model, {
      repository,
      replace: flags.replace,
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
