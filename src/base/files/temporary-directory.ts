/** Temporary directories that are removed whichever way the process ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { atProcessEnd } from '../process-end.js';

/** Directories that are there, with what takes their removal at the end of the process back. */
const directories = new Map<string, () => void>();

/** Makes an empty directory whose name begins so, in `parent` or where the system keeps such. Throws the system's errors. */
export function makeTemporaryDirectory(prefix: string, parent: string = os.tmpdir()): string {
  // In one turn: nothing can end the process between making it and registering its removal.
  const directory = mkdtempSync(path.join(parent, prefix));
  directories.set(
    directory,
    atProcessEnd(() => rmSync(directory, { recursive: true, force: true })),
  );
  return directory;
}

/** Removes one with everything in it. Rejects with the system's errors; the end of the process tries again then. */
export async function removeTemporaryDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  directories.get(directory)?.();
  directories.delete(directory);
}
