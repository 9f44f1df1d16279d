/** The temporary folders that models of object stores are fetched into. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** Folders that are there; what is left when the process ends is removed then. */
const folders = new Set<string>();

/** Makes an empty folder in `parent`, or where the system keeps such. */
export async function makeFetchedFolder(parent: string | undefined): Promise<string> {
  const folder = await mkdtemp(path.join(parent || os.tmpdir(), 'folder'));
  if (folders.size === 0) process.once('exit', removeFetchedFoldersNow);
  folders.add(folder);
  return folder;
}

/** Removes one with everything in it. */
export async function removeFetchedFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  folders.delete(folder);
  if (folders.size === 0) process.off('exit', removeFetchedFoldersNow);
}

/** Removes all of them, for a process that ends without its `exit` event. */
export function removeFetchedFoldersNow(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
