/** The temporary directories that models of object stores are fetched into. */
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../base/files/temporary-directory.js';

/** Makes an empty directory in `parent`, or where the system keeps such; what is left when the process ends is removed then. */
export async function makeFetchedFolder(parent: string | undefined): Promise<string> {
  return makeTemporaryDirectory('folder', parent || undefined);
}

/** Removes one with everything in it. */
export async function removeFetchedFolder(folder: string): Promise<void> {
  await removeTemporaryDirectory(folder);
}
