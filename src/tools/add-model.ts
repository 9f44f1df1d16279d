/** Lays a bare .onnx file out as a model of a repository: `<name>/1/model.onnx` with a configuration made from it. */
import { stat, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { CATALOGUE } from '../backends/catalogue.js';
import { describeOnnx } from '../backends/onnxruntime/describe/describe-onnx.js';
import { invalidArg, TritonError } from '../base/error.js';
import { silentLog } from '../base/log.js';
import type { ModelFormat } from '../contract/backend-traits.js';
import { throwFirst } from '../contract/fault.js';
import { defaultMaxBatchSize } from '../modelconfig/complete/default-max-batch-size.js';
import { writePbtxt } from '../modelconfig/pbtxt/write-pbtxt.js';
import { validateModelIO } from '../modelconfig/rules/validate.js';
import { autoCompleteOnnx, notATensor } from '../onnx/auto-complete.js';
import { checkOnnxAgainstConfig } from '../onnx/check-config.js';
import { type OnnxModel, type OnnxValue, readOnnxFile } from '../onnx/onnx-file.js';
import { datatypeOfElementType, elementTypeName } from '../onnx/onnx-types.js';
import { emptyModelConfig, type ModelConfig } from '../protocol/proto/model-config.js';
import { copyInto, isCode, makeFolderIn } from '../repository/files/staged-folder.js';

/** How models that are ONNX files lie in a repository: as the backend that reads them has it. */
const { platform: PLATFORM, fileName: FILE_NAME } = CATALOGUE.flatMap(({ formats }) => formats).find(
  ({ content }) => content === 'onnx',
) as ModelFormat;

/** What to lay out, and where. */
export interface AddModelOptions {
  /** The .onnx file. */
  readonly file: string;
  /** Directory of models; made when it is missing. */
  readonly repository: string;
  /** Name of the model; by default the file's name without its extension. */
  readonly name?: string | undefined;
  /** Largest batch; by default what a server fills in for a model that batches. 0: no batching. */
  readonly maxBatchSize?: number | undefined;
}

/** What was made. */
export interface AddedModel {
  readonly name: string;
  /** Directory of the model. */
  readonly directory: string;
  readonly config: ModelConfig;
  /** The configuration as it was written. */
  readonly configText: string;
  /** Files with weights that were copied beside the model, as the model names them. */
  readonly externalFiles: readonly string[];
  /** What the person should know: doubtful shapes, a name that HTTP clients cannot ask for. */
  readonly warnings: readonly string[];
}

/**
 * Adds a model. ALREADY_EXISTS when the repository has one of that name; INVALID_ARG for a file that is no ONNX model
 * or cannot be served, and for unusable names; INTERNAL with the runtime's message when the runtime refuses the model.
 * Nothing is left after a failure.
 */
export async function addModel(options: AddModelOptions): Promise<AddedModel> {
  const { file, repository } = options;
  const name = checkName(options.name ?? basename(file).replace(/\.onnx$/i, ''));
  await requireFile(file);
  const directory = join(repository, name);
  await requireAbsent(directory, name, repository);
  const header = await refusable(file, readOnnxFile);
  for (const value of [...header.inputs, ...header.outputs]) requireServable(value);
  const externalFiles = await externalFilesOf(header);
  const { model, doubt } = await refusable(file, describeOnnx);
  const config = makeConfig(name, model, options.maxBatchSize);
  const configText = `# Made by 'triton repo add' from ${JSON.stringify(basename(file))}.\n${writePbtxt(config)}`;
  try {
    await makeFolderIn(repository, name, async (staging, signal) => {
      const version = join(staging, '1');
      await copyInto(file, join(version, FILE_NAME), signal);
      for (const location of externalFiles) {
        signal.throwIfAborted();
        await copyInto(join(dirname(file), location), join(version, location), signal);
      }
      await writeFile(join(staging, 'config.pbtxt'), configText);
    });
  } catch (reason) {
    if (isCode(reason, 'EEXIST', 'ENOTEMPTY')) throw exists(name, repository);
    throw reason;
  }
  return { name, directory, config, configText, externalFiles, warnings: warningsOf(name, doubt) };
}

function checkName(name: string): string {
  if (name.trim() === '') throw invalidArg('a model needs a name; give one with --name');
  if (name === '.' || name === '..' || /[/\\\0]/.test(name)) {
    throw invalidArg(`'${name}' cannot name a model: it must be the name of one directory`);
  }
  return name;
}

async function requireFile(file: string): Promise<void> {
  const stats = await stat(file);
  if (stats.isDirectory()) throw invalidArg(`'${file}' is a directory; name the .onnx file`);
  if (!stats.isFile()) throw invalidArg(`'${file}' is not a regular file; name the .onnx file`);
}

async function requireAbsent(directory: string, name: string, repository: string): Promise<void> {
  try {
    await stat(directory);
  } catch (reason) {
    if (isCode(reason, 'ENOENT')) return;
    if (isCode(reason, 'ENOTDIR')) throw invalidArg(`'${repository}' is not a directory`);
    throw reason;
  }
  throw exists(name, repository);
}

function exists(name: string, repository: string): TritonError {
  return new TritonError(
    'ALREADY_EXISTS',
    `'${repository}' has '${name}' already and nothing is overwritten; give another --name, or remove it first`,
  );
}

/** Reads a model in one way or another and words what may be wrong with it for the person who gave the file. */
async function refusable<T>(file: string, read: (path: string) => T | Promise<T>): Promise<T> {
  try {
    return await read(file);
  } catch (reason) {
    const { message } = TritonError.from(reason);
    if (!/Protobuf parsing failed|does not have a graph/.test(message)) {
      throw new TritonError('INVALID_ARG', `the runtime refuses '${file}': ${message.trim()}`, { cause: reason });
    }
    const why =
      reason instanceof Error && reason.cause instanceof Error ? `${message}: ${reason.cause.message}` : message;
    throw new TritonError('INVALID_ARG', `'${file}' is not an ONNX model (${why})`, { cause: reason });
  }
}

function makeConfig(name: string, model: OnnxModel, maxBatchSize: number | undefined): ModelConfig {
  const start = { ...emptyModelConfig(), name, platform: PLATFORM, max_batch_size: maxBatchSize ?? 0 };
  const config = autoCompleteOnnx(start, model, {
    defaultMaxBatchSize: maxBatchSize ?? defaultMaxBatchSize(new Map()),
    log: silentLog,
  });
  throwFirst([...validateModelIO(config, CATALOGUE), ...checkOnnxAgainstConfig(config, model)]);
  return config;
}

function requireServable(value: OnnxValue): void {
  if (value.kind !== 'TENSOR') throw new TritonError('UNSUPPORTED', notATensor(value));
  if (value.elementType === 0 || datatypeOfElementType(value.elementType) !== undefined) return;
  throw invalidArg(
    `tensor '${value.name}' has elements of type ${elementTypeName(value.elementType)}, which the protocol cannot carry`,
  );
}

/** The files beside the model that hold weights, each once; all must exist and be long enough. */
async function externalFilesOf(model: OnnxModel): Promise<string[]> {
  const needed = new Map<string, number>();
  for (const { tensor, location, offset, length } of model.externalData) {
    if (!isInside(location)) {
      throw invalidArg(`weights of '${tensor}' lie in '${location}', which is not below the model's own directory`);
    }
    const place = normalize(location);
    if (place === FILE_NAME) {
      throw invalidArg(
        `weights of '${tensor}' lie in a file called '${FILE_NAME}', which is the model's own name here`,
      );
    }
    needed.set(place, Math.max(needed.get(place) ?? 0, offset + (length ?? 0)));
  }
  for (const [location, size] of needed) {
    const path = join(dirname(model.path), location);
    let found: number;
    try {
      found = (await stat(path)).size;
    } catch (reason) {
      throw new TritonError('INVALID_ARG', `the model's weights are missing: no file '${path}'`, { cause: reason });
    }
    if (found < size) throw invalidArg(`the model's weights are cut short: '${path}' has ${found} bytes, not ${size}`);
  }
  return [...needed.keys()];
}

function isInside(location: string): boolean {
  const place = normalize(location);
  return location !== '' && !isAbsolute(place) && place !== '..' && !place.startsWith(`..${sep}`) && place !== '.';
}

function warningsOf(name: string, doubt: string | undefined): string[] {
  const warnings: string[] = [];
  if (doubt !== undefined) warnings.push(`${doubt}; the outputs' shapes are those of the file and may be too wide`);
  if (!/^[\w.~-]+$/.test(name)) {
    warnings.push(`HTTP clients cannot ask for '${name}', because paths are not percent-decoded; gRPC clients can`);
  }
  return warnings;
}
