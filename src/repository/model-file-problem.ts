import { open } from 'node:fs/promises';

const LFS_HEADER = 'version https://git-lfs.github.com/spec/';

/** Why a file cannot be a model, whatever its format; undefined when nothing speaks against it. */
export async function modelFileProblem(
  path: string,
): Promise<{ readonly rule: string; readonly message: string; readonly remedy: string } | undefined> {
  const file = await open(path, 'r');
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) return undefined;
    if (stats.size === 0) {
      const message = `model file '${path}' is empty`;
      return { rule: 'model-file-empty', message, remedy: 'Copy or export the model again.' };
    }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LFS_HEADER.length), 0, LFS_HEADER.length, 0);
    if (buffer.toString('latin1', 0, bytesRead) === LFS_HEADER) {
      const message = `model file '${path}' is a Git LFS pointer, not the model`;
      return { rule: 'model-file-lfs', message, remedy: "Fetch the content with 'git lfs pull'." };
    }
    return undefined;
  } finally {
    await file.close();
  }
}
