/** Label files of classification outputs. */
import path from 'node:path';
import { TritonError } from '../../base/error.js';
import { MAX_LABEL_BYTES } from '../../base/files/read-regular-file.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, readTextFile } from '../files/local.js';

/** The labels of one output, by class index. */
export type LabelTable = ReadonlyMap<string, readonly string[]>;

/** Reads the label files of all outputs. Throws what fails the load. */
export async function readLabels(modelDirectory: string, config: ModelConfig): Promise<LabelTable> {
  const tables = new Map<string, readonly string[]>();
  for (const output of config.output) {
    if (output.label_filename === '') continue;
    if (tables.has(output.name)) throw new TritonError('INTERNAL', `multiple label files for '${output.name}'`);
    tables.set(output.name, await readLabelFile(modelDirectory, output.name, output.label_filename, config.name));
  }
  return tables;
}

/** Labels of one file: a line each, nothing trimmed, so that a CR stays part of its label. */
export async function readLabelFile(
  modelDirectory: string,
  output: string,
  fileName: string,
  model: string,
): Promise<readonly string[]> {
  const file = joinPath(modelDirectory, fileName);
  const inside = path.relative(path.resolve(modelDirectory), path.resolve(file));
  if (inside === '..' || inside.startsWith(`..${path.sep}`)) {
    throw new TritonError(
      'UNSUPPORTED',
      `label file path '${file}' for output '${output}' in model '${model}' is outside model directory`,
    );
  }
  const lines = (await readTextFile(file, MAX_LABEL_BYTES)).toString('utf8').split('\n');
  // A final newline ends the last line, it does not begin another.
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
