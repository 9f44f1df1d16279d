/** Files and directories of a local repository, with Triton's error messages. */
import { readdir, stat } from 'node:fs/promises';
import { compareBytes } from '../../base/compare-bytes.js';
import { invalidArg, TritonError } from '../../base/error.js';
import { readRegularFile } from '../../base/files/read-regular-file.js';
import { systemText } from '../../base/files/system-text.js';

/** Joins path segments with one `/` each; an absolute later segment is appended, it never replaces what is before. */
export function joinPath(first: string, ...rest: readonly string[]): string {
  let path = first;
  for (const segment of rest) {
    if (path === '') path = segment;
    else if (segment !== '') path = `${path.endsWith('/') ? path.slice(0, -1) : path}/${segment.replace(/^\//, '')}`;
  }
  return path;
}

/** What a path is, symbolic links followed; undefined when nothing is there. */
export async function kindOf(path: string): Promise<'file' | 'directory' | undefined> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file';
  } catch {
    return undefined;
  }
}

/** Error of a path that cannot be examined. */
export function statError(path: string): TritonError {
  return new TritonError('INTERNAL', `failed to stat file ${path}`);
}

/** Throws unless the path is a directory that can be listed. */
export async function checkRepository(path: string): Promise<void> {
  const kind = await kindOf(path);
  if (kind === undefined) throw statError(path);
  if (kind === 'file') throw invalidArg('repository path is not a valid directory');
}

/**
 * Names in a directory by kind, byte-wise ascending. A directory that cannot be read throws. A dangling link is handed to
 * `onDangling` and left out, or throws without it.
 */
export async function listDirectory(
  path: string,
  onDangling?: (name: string) => void,
): Promise<{ directories: string[]; files: string[] }> {
  let entries: import('node:fs').Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (cause) {
    throw new TritonError('INTERNAL', `failed to open directory ${path}`, { cause });
  }
  const directories: string[] = [];
  const files: string[] = [];
  for (const entry of entries) {
    let isDirectory = entry.isDirectory();
    if (entry.isSymbolicLink()) {
      const kind = await kindOf(joinPath(path, entry.name));
      if (kind === undefined) {
        if (onDangling === undefined) throw statError(joinPath(path, entry.name));
        onDangling(entry.name);
        continue;
      }
      isDirectory = kind === 'directory';
    }
    (isDirectory ? directories : files).push(entry.name);
  }
  return { directories: directories.sort(compareBytes), files: files.sort(compareBytes) };
}

/** Names of the models of a repository: its directories, hidden ones included; files are ignored. */
export async function listModels(repository: string, onDangling?: (name: string) => void): Promise<string[]> {
  return (await listDirectory(repository, onDangling)).directories;
}

/**
 * The bytes of a regular file of at most `maxBytes`, or the first `atMost` of them. Throws
 * `failed to open text file for read <path>: <system's text>`.
 */
export async function readTextFile(path: string, maxBytes: number, atMost?: number): Promise<Buffer> {
  try {
    return await readRegularFile(path, maxBytes, atMost);
  } catch (cause) {
    throw new TritonError('INTERNAL', `failed to open text file for read ${path}: ${systemText(cause)}`, { cause });
  }
}

/** Links that lead to a directory above would never end; deeper than this nothing is looked at. */
const DEPTH_LIMIT = 32;

/** The first dangling link below a directory; Triton cannot poll a model that has one. */
export async function findBrokenLink(directory: string, depth = 0): Promise<string | undefined> {
  if (depth > DEPTH_LIMIT) return undefined;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = joinPath(directory, entry.name);
    let isDirectory = entry.isDirectory();
    if (entry.isSymbolicLink()) {
      const kind = await kindOf(path);
      if (kind === undefined) return path;
      isDirectory = kind === 'directory';
    }
    const found = isDirectory ? await findBrokenLink(path, depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
