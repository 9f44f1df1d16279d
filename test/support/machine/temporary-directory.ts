import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Contents of files by their paths; a path that ends in `/` is an empty directory. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A directory of a test's own, below the one for temporary files, where the ledger looks for what a test leaves behind. */
export interface TemporaryDirectory {
  readonly path: string;
  /** The path of something in it. */
  file(...names: string[]): string;
  /** Writes files, and the directories that they lie in. */
  write(files: Files): void;
  /** Removes it with all that it holds. */
  remove(): void;
}

/** Makes a directory that holds these files. */
export function temporaryDirectory(files: Files = {}): TemporaryDirectory {
  const root = mkdtempSync(path.join(tmpdir(), 'triton-test-'));
  writeFiles(root, files);
  return {
    path: root,
    file: (...names) => path.join(root, ...names),
    write: (more) => writeFiles(root, more),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Writes files into a directory, which need not exist, and the directories that they lie in. */
export function writeFiles(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const target = path.join(root, name);
    mkdirSync(name.endsWith('/') ? target : path.dirname(target), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(target, content);
  }
}
