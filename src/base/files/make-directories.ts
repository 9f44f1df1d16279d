import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory with its parents; returns those that were missing, the innermost first. Throws the system's error
 * when one cannot be made. In place of Node's `mkdir` with `recursive`, which never ends where the system reports
 * ENOENT for a directory whose parent exists, as it does below /proc.
 */
export async function makeDirectories(directory: string): Promise<string[]> {
  const missing: string[] = [];
  let at = resolve(directory);
  while (!(await isThere(at))) {
    missing.push(at);
    const parent = dirname(at);
    if (parent === at) break;
    at = parent;
  }
  const made: string[] = [];
  for (const each of missing.reverse()) {
    try {
      await mkdir(each);
      made.unshift(each);
    } catch (reason) {
      // Somebody else made it in the meantime.
      if ((reason as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isDirectory(each))) throw reason;
    }
  }
  if (missing.length === 0 && !(await isDirectory(at))) {
    throw Object.assign(new Error(`EEXIST: file already exists, mkdir '${at}'`), { code: 'EEXIST', path: at });
  }
  return made;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    throw reason;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path)).isDirectory();
}
