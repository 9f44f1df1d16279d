import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** One file below a directory. */
export interface FolderFile {
  /** Relative to the directory. */
  readonly path: string;
  readonly bytes: number;
}

/** Links that lead to a directory above would never end; deeper than this nothing is looked at. */
const DEPTH_LIMIT = 32;

/** Every file below a directory with its size, links followed, by name. Dangling links are left out. */
export async function folderFiles(folder: string, below = '', depth = 0): Promise<FolderFile[]> {
  if (depth > DEPTH_LIMIT) return [];
  const files: FolderFile[] = [];
  for (const name of (await readdir(path.join(folder, below))).sort()) {
    const relative = path.join(below, name);
    const found = await stat(path.join(folder, relative)).catch(() => undefined);
    if (found?.isDirectory()) files.push(...(await folderFiles(folder, relative, depth + 1)));
    else if (found !== undefined) files.push({ path: relative, bytes: found.size });
  }
  return files;
}
