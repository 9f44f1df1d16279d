/** Model repositories for tests: files by their paths, and the configurations that most tests use. */
import { type Files, type TemporaryDirectory, temporaryDirectory } from '../machine/temporary-directory.js';

/** A model repository made of these files, such as `{ 'm/config.pbtxt': ..., 'm/1/': '' }`. */
export function makeRepository(files: Files): TemporaryDirectory {
  return temporaryDirectory(files);
}

/** config.pbtxt of an identity model with tensors INPUT<n> of the given types; `more` is appended. */
export function identityConfig(
  name: string,
  tensors: readonly (readonly [type: string, dims: string])[],
  more = 'max_batch_size: 8',
): string {
  const lines = tensors.flatMap(([type, dims], n) => [
    `input { name: "INPUT${n}" data_type: ${type} dims: ${dims} }`,
    `output { name: "OUTPUT${n}" data_type: ${type} dims: ${dims} }`,
  ]);
  return [`name: "${name}"`, 'backend: "identity"', more, ...lines, ''].join('\n');
}

/** The files of an identity model: its configuration and an empty version 1. */
export function identityModel(
  name: string,
  tensors: readonly (readonly [type: string, dims: string])[],
  more?: string,
): Record<string, string> {
  return { [`${name}/config.pbtxt`]: identityConfig(name, tensors, more), [`${name}/1/.keep`]: '' };
}

/** The files of Python models with one configuration; `sources` has the code of each by its name. */
export function pythonModels(config: string, sources: Readonly<Record<string, string>>): Files {
  return Object.fromEntries(
    Object.entries(sources).flatMap(([name, source]) => [
      [`${name}/config.pbtxt`, config],
      [`${name}/1/model.py`, source],
    ]),
  );
}
