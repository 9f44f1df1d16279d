import { openRegularFile } from '../../base/files/read-regular-file.js';
import type { Fault } from '../../contract/fault.js';
import { type FileFormat, FORMAT_WORDS, formatOf } from './file-format.js';

/** What speaks against a file. */
export type FileProblem = Required<Pick<Fault, 'rule' | 'message' | 'remedy'>>;

/** Formats that no backend has models in. */
const NO_MODEL: ReadonlySet<FileFormat> = new Set(['html', 'gzip', 'tar', 'hdf5', 'json']);

/** Why a file cannot be a model, whatever its format; undefined when nothing speaks against it. */
export async function modelFileProblem(path: string): Promise<FileProblem | undefined> {
  const file = await openRegularFile(path);
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) return undefined;
    if (stats.size === 0) {
      const message = `model file '${path}' is empty`;
      return { rule: 'model-file-empty', message, remedy: 'Copy or export the model again.' };
    }
    const format = await formatOf(file);
    if (format === 'git-lfs') {
      const message = `model file '${path}' is a Git LFS pointer, not the model`;
      return { rule: 'model-file-lfs', message, remedy: "Fetch the content with 'git lfs pull'." };
    }
    return format !== undefined && NO_MODEL.has(format) ? formatProblem(path, format) : undefined;
  } finally {
    await file.close();
  }
}

/** The problem of a file that is of another format than it should be. */
export function formatProblem(path: string, format: FileFormat): FileProblem {
  const archive = format === 'gzip' || format === 'tar' || format === 'zip';
  return {
    rule: 'model-file-format',
    message: `model file '${path}' is not a model: it is ${FORMAT_WORDS[format]}`,
    remedy: archive ? 'Unpack it and put the model itself there.' : 'Copy, download or export the model again.',
  };
}
