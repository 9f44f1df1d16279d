/**
 * Directories that appear complete or not at all: they are filled under a temporary name and moved into place at the end.
 * An error, a full disk or a signal removes what was begun.
 */
import { createReadStream, createWriteStream, renameSync, rmdirSync, rmSync } from 'node:fs';
import { access, constants, copyFile, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TritonError } from '../../base/error.js';
import { makeDirectories } from '../../base/files/make-directories.js';

/** Thrown when a signal ended the work; nothing was left behind. */
export class Interrupted extends TritonError {
  override readonly name = 'Interrupted';
  constructor(readonly signalName: NodeJS.Signals) {
    super('CANCELLED', `interrupted by ${signalName}; nothing was made`);
  }
}

/** Fills the temporary directory; stops when `signal` is aborted. */
export type Fill = (staging: string, signal: AbortSignal) => Promise<void>;

/** Beginning of the temporary directories' names. */
const PREFIX = '.triton-unfinished-';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Makes the directory `target`, which must not exist or be empty, with what `fill` puts into it. Missing parents are made
 * too. Throws what `fill` throws, Interrupted after a signal, and the system's errors.
 */
export async function makeFolder(target: string, fill: Fill): Promise<void> {
  const final = resolve(target);
  const exists = await isDirectory(final);
  const parent = exists ? final : dirname(final);
  // An existing directory may be a mount point or somebody's working directory: it is filled, not replaced.
  await withParents(parent, () => stage(join(parent, PREFIX), fill, exists ? moveEntries : moveFolder, final));
}

/**
 * Makes the directory `name` in the directory `parent`, which is made too when it is missing. The temporary directory lies beside
 * `parent` where that is the same file system, so that a server which watches `parent` never sees it.
 */
export function makeFolderIn(parent: string, name: string, fill: Fill): Promise<void> {
  return stageIn(parent, name, fill, moveFolder);
}

/** The same for a directory that exists: it is replaced when the new one is complete, and stays as it is otherwise. */
export function replaceFolderIn(parent: string, name: string, fill: Fill): Promise<void> {
  return stageIn(parent, name, fill, swapFolders);
}

type Move = (staging: string, target: string, entries: readonly string[]) => void;

async function stageIn(parent: string, name: string, fill: Fill, move: Move): Promise<void> {
  const home = resolve(parent);
  await withParents(home, async () => {
    const outside = dirname(home);
    await stage(join((await isUsable(outside, home)) ? outside : home, PREFIX), fill, move, join(home, name));
  });
}

/** True when one may write into `folder` and it lies on the same file system as `other`. */
async function isUsable(folder: string, other: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK);
    return (await stat(folder)).dev === (await stat(other)).dev;
  } catch (reason) {
    if (isCode(reason, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw reason;
  }
}

/** Copies a file; shares its blocks where the file system can. */
export async function copyInto(source: string, target: string, signal: AbortSignal): Promise<void> {
  await makeDirectories(dirname(target));
  try {
    await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
  } catch (reason) {
    if (isCode(reason, 'EEXIST', 'ENOENT', 'EACCES', 'ENOSPC')) throw reason;
    await rm(target, { force: true });
    await pipeline(createReadStream(source), createWriteStream(target, { flags: 'wx' }), { signal });
  }
}

/** Copies a directory's files and sub-directories; `.gitkeep` files, which only keep empty directories, are left out. */
export async function copyTree(source: string, target: string, signal: AbortSignal): Promise<void> {
  await makeDirectories(target);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    signal.throwIfAborted();
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory()) await copyTree(from, to, signal);
    else if (entry.name !== '.gitkeep') await copyInto(from, to, signal);
  }
}

async function stage(prefix: string, fill: Fill, move: Move, target: string): Promise<void> {
  const abort = new AbortController();
  let received: NodeJS.Signals | undefined;
  const onSignal = (name: NodeJS.Signals): void => {
    received ??= name;
    abort.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  let staging: string | undefined;
  try {
    staging = await mkdtemp(prefix);
    const content = join(staging, 'content');
    await mkdir(content);
    await fill(content, abort.signal);
    const entries = await readdir(content);
    abort.signal.throwIfAborted();
    move(content, target, entries);
  } catch (reason) {
    throw received === undefined ? reason : new Interrupted(received);
  } finally {
    if (staging !== undefined) rmSync(staging, { recursive: true, force: true });
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

function moveFolder(staging: string, target: string): void {
  renameSync(staging, target);
}

/** The old directory goes into the temporary one, which is removed afterwards. */
function swapFolders(staging: string, target: string): void {
  const old = join(dirname(staging), 'replaced');
  renameSync(target, old);
  try {
    renameSync(staging, target);
  } catch (reason) {
    renameSync(old, target);
    throw reason;
  }
}

/** Synchronous, so that no signal is handled between the first and the last entry. */
function moveEntries(staging: string, target: string, entries: readonly string[]): void {
  const moved: string[] = [];
  try {
    for (const entry of entries) {
      renameSync(join(staging, entry), join(target, entry));
      moved.push(entry);
    }
  } catch (reason) {
    for (const entry of moved) rmSync(join(target, entry), { recursive: true, force: true });
    throw reason;
  }
}

/** Makes a directory with its parents for the time of `work`; those that were missing stay only when it succeeds. */
async function withParents(folder: string, work: () => Promise<void>): Promise<void> {
  const made = await makeDirectories(folder);
  try {
    await work();
  } catch (reason) {
    for (const each of made) tryRemove(each);
    throw reason;
  }
}

function tryRemove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // not empty: somebody else uses it
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (reason) {
    if (isCode(reason, 'ENOENT', 'ENOTDIR')) return false;
    throw reason;
  }
}

/** True when a system call failed with one of these codes. */
export function isCode(reason: unknown, ...codes: string[]): boolean {
  return reason instanceof Error && codes.includes((reason as NodeJS.ErrnoException).code ?? '');
}
