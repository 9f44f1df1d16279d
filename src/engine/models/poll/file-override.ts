import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { invalidArg, TritonError } from '../../../base/error.js';
import { makeDirectories } from '../../../base/files/make-directories.js';
import { systemText } from '../../../base/files/system-text.js';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../base/files/temporary-directory.js';
import type { LoadParameters } from '../../../protocol/management.js';

/** Prefix of the parameters that carry files. */
const FILE_PREFIX = 'file:';

/**
 * Writes the files of a load call into a temporary model directory, which stands in for the repository's. Throws the
 * server's messages for files that would leave the directory. The caller removes the directory.
 */
export async function writeFileOverride(parameters: LoadParameters): Promise<string> {
  if (parameters.config === undefined) {
    throw invalidArg("Load parameter 'config' must be specified for model file override");
  }
  const directory = makeTemporaryDirectory('folder');
  try {
    for (const [name, content] of parameters.files ?? []) await writeOne(directory, name, content);
    return directory;
  } catch (reason) {
    await removeFileOverride(directory);
    throw reason;
  }
}

/** Removes a directory made above. */
export async function removeFileOverride(directory: string): Promise<void> {
  await removeTemporaryDirectory(directory);
}

async function writeOne(directory: string, name: string, content: Uint8Array): Promise<void> {
  const relative = name.startsWith(FILE_PREFIX) ? name.slice(FILE_PREFIX.length) : name;
  const shown = `${FILE_PREFIX}${relative}`;
  const target = path.join(directory, relative);
  if (target !== directory && target !== `${directory}/` && !target.startsWith(`${directory}/`)) {
    throw invalidArg(
      `Invalid file parameter '${shown}' with normalized path '${target}' must stay within model directory.`,
    );
  }
  try {
    await makeDirectories(path.dirname(target));
  } catch (cause) {
    throw new TritonError('INVALID_ARG', `Invalid file parameter '${shown}', directory has been created as a file`, {
      cause,
    });
  }
  try {
    await writeFile(target, content);
  } catch (cause) {
    throw new TritonError('INTERNAL', `failed to open binary file for write ${target}: ${systemText(cause)}`, {
      cause,
    });
  }
}
