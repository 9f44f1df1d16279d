/** What the files of a model were like: shows whether a model was modified since it was loaded. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import { joinPath, listDirectory, statError } from '../../../repository/files/local.js';

/**
 * For each entry of a model's directory (`''` = the directory itself) a number that stands for the times, inodes and
 * sizes of it and of everything below it. Only equality means something: a roll-back brings older times.
 */
export type ModificationTimes = ReadonlyMap<string, bigint>;

/** Looks at the files. Paths that cannot be examined count as absent. */
export async function modificationTimes(directory: string, log: Log): Promise<ModificationTimes> {
  const times = new Map<string, bigint>();
  times.set('', await stateOf(directory, log));
  let names: string[] = [];
  try {
    const { directories, files } = await listDirectory(directory);
    names = [...directories, ...files];
  } catch {
    return times; // polling the model reports the directory
  }
  for (const name of names) times.set(name, await deepStateOf(joinPath(directory, name), log));
  return times;
}

/** Modified means: anything differs, whether newer or older. */
export function isModified(before: ModificationTimes, after: ModificationTimes): boolean {
  if (before.size !== after.size) return true;
  for (const [name, value] of after) if (before.get(name) !== value) return true;
  return false;
}

/** Entries that hold the configuration, whichever of its files counts. */
const CONFIG_ENTRIES: ReadonlySet<string> = new Set(['config.pbtxt', 'configs']);

/**
 * Of which versions the files are as they were, when the configuration alone may have changed: those whose own
 * directory is unchanged, and none when anything else of the model (labels, warm-up data) was touched, added or removed.
 */
export function unchangedVersions(before: ModificationTimes, after: ModificationTimes): (version: string) => boolean {
  const isOther = (name: string): boolean => name !== '' && !CONFIG_ENTRIES.has(name) && !/^[0-9]+$/.test(name);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (isOther(name) && before.get(name) !== after.get(name)) return () => false;
  }
  return (version) => before.has(version) && before.get(version) === after.get(version);
}

async function stateOf(path: string, log: Log): Promise<bigint> {
  const state = new FileState(log);
  await state.addEntry(path, '');
  return state.digest();
}

async function deepStateOf(path: string, log: Log): Promise<bigint> {
  const state = new FileState(log);
  await state.addTree(path, '', 0);
  return state.digest();
}

/** Links that lead to a directory above would never end; deeper than this nothing is looked at. */
const DEPTH_LIMIT = 32;

/** Makes one number of what is known about files. */
class FileState {
  readonly #hash = createHash('sha1');
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  async addTree(path: string, name: string, depth: number): Promise<void> {
    const isDirectory = await this.addEntry(path, name);
    if (!isDirectory || depth > DEPTH_LIMIT) return;
    let content: { directories: string[]; files: string[] };
    try {
      content = await listDirectory(path);
    } catch {
      return; // polling the model reports the directory
    }
    for (const child of content.directories) await this.addTree(joinPath(path, child), child, depth + 1);
    for (const child of content.files) await this.addEntry(joinPath(path, child), child);
  }

  /** Adds one file or directory; returns true for a directory. Sizes of directories say nothing. */
  async addEntry(path: string, name: string): Promise<boolean> {
    try {
      const stats = await stat(path, { bigint: true });
      const { mtimeNs, ctimeNs, ino, dev, size } = stats;
      const isDirectory = stats.isDirectory();
      this.#hash.update(`${JSON.stringify(name)} ${mtimeNs} ${ctimeNs} ${dev} ${ino} ${isDirectory ? '' : size}\n`);
      return isDirectory;
    } catch (reason) {
      const error = reason instanceof TritonError ? reason : statError(path);
      this.#log.error(`Failed to determine modification time for '${path}': ${error.toStatusText()}`);
      return false;
    }
  }

  digest(): bigint {
    return BigInt(`0x${this.#hash.digest('hex')}`);
  }
}
