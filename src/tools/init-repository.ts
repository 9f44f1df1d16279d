/** Makes the example repository from the models that are shipped with the program. */
import { readdir } from 'node:fs/promises';
import { invalidArg, TritonError } from '../base/error.js';
import { SHIPPED_MODELS } from '../base/package.js';
import { copyTree, isCode, makeFolder } from '../repository/files/staged-folder.js';

/**
 * Makes the directory `directory` (missing, or empty) into a repository with every shipped model; returns their names.
 * ALREADY_EXISTS when the directory holds anything, INVALID_ARG when it is a file. Nothing is left after a failure.
 */
export async function initRepository(directory: string): Promise<string[]> {
  await requireFree(directory);
  const models = (await readdir(SHIPPED_MODELS, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  try {
    await makeFolder(directory, (staging, signal) => copyTree(SHIPPED_MODELS, staging, signal));
  } catch (reason) {
    if (isCode(reason, 'EEXIST', 'ENOTEMPTY')) throw notEmpty(directory);
    throw reason;
  }
  return models;
}

async function requireFree(directory: string): Promise<void> {
  try {
    if ((await readdir(directory)).length > 0) throw notEmpty(directory);
  } catch (reason) {
    if (isCode(reason, 'ENOTDIR'))
      throw invalidArg(`'${directory}' is a file or lies below one; name a new or empty directory`);
    if (!isCode(reason, 'ENOENT')) throw reason;
  }
}

function notEmpty(directory: string): TritonError {
  return new TritonError(
    'ALREADY_EXISTS',
    `'${directory}' is not empty and nothing is overwritten; name a new or empty directory`,
  );
}
