import type { KnownBackends } from '../contract/backend-traits.js';
import { joinPath, listDirectory } from '../repository/files/local.js';

/** A model's file that lies in the model's directory itself, where no server looks for it. */
export interface MisplacedFile {
  readonly name: string;
  /** What to do with it, in one sentence. */
  readonly remedy: string;
}

/** Looks for such a file by the names and endings that the formats of backends have. */
export async function findMisplaced(
  modelDirectory: string,
  backends: KnownBackends,
): Promise<MisplacedFile | undefined> {
  const formats = backends.flatMap((backend) => backend.formats);
  const { files, directories } = await listDirectory(modelDirectory).catch(() => ({ files: [], directories: [] }));
  for (const name of [...files, ...directories]) {
    const format = formats.find(
      ({ fileName, extension }) => name === fileName || (extension !== undefined && name.endsWith(extension)),
    );
    if (format === undefined) continue;
    const version = joinPath(modelDirectory, '1');
    const [from, to] = [joinPath(modelDirectory, name), joinPath(version, format.fileName)];
    return { name, remedy: `Move ${from} into a version directory: mkdir ${version} && mv ${from} ${to}` };
  }
  return undefined;
}
