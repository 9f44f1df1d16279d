/** When the parts of a model changed last: what tells a modified model from one that is loaded already. */
import { stat } from 'node:fs/promises';
import { TritonError } from '../../protocol/error.js';
import { joinPath, listDirectory, statError } from '../../repository/local.js';
import type { Log } from '../log.js';

/** Time of each entry of a model's directory in ns, '' = the directory itself. */
export type ModificationTimes = ReadonlyMap<string, bigint>;

/** Reads the times. Of a directory it is the latest of itself and everything below; unreadable paths count as 0. */
export async function modificationTimes(directory: string, log: Log): Promise<ModificationTimes> {
  const times = new Map<string, bigint>();
  times.set('', await timeOf(directory, log));
  let names: string[] = [];
  try {
    const { directories, files } = await listDirectory(directory);
    names = [...directories, ...files];
  } catch {
    return times; // polling the model reports the directory
  }
  for (const name of names) times.set(name, await deepTime(joinPath(directory, name), log));
  return times;
}

/** Modified means: the latest time grew. Deletions show in the directory's own time. */
export function isModified(before: ModificationTimes, after: ModificationTimes): boolean {
  return latest(after.values()) > latest(before.values());
}

/** Entries that hold the configuration, whichever of its files counts. */
const CONFIG_ENTRIES: ReadonlySet<string> = new Set(['config.pbtxt', 'configs']);

/**
 * Tells of which versions the files are as they were, when the configuration alone may have changed: those whose own
 * folder is unchanged, and none when anything else of the model (labels, warm-up data) was touched, added or removed.
 */
export function unchangedVersions(before: ModificationTimes, after: ModificationTimes): (version: string) => boolean {
  const isOther = (name: string): boolean => name !== '' && !CONFIG_ENTRIES.has(name) && !/^[0-9]+$/.test(name);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (isOther(name) && before.get(name) !== after.get(name)) return () => false;
  }
  return (version) => before.has(version) && before.get(version) === after.get(version);
}

function latest(times: Iterable<bigint>): bigint {
  let result = 0n;
  for (const time of times) if (time > result) result = time;
  return result;
}

async function deepTime(path: string, log: Log): Promise<bigint> {
  let result = await timeOf(path, log);
  let content: { directories: string[]; files: string[] };
  try {
    if (!(await stat(path)).isDirectory()) return result;
    content = await listDirectory(path);
  } catch {
    return result;
  }
  for (const name of content.directories) {
    const time = await deepTime(joinPath(path, name), log);
    if (time > result) result = time;
  }
  for (const name of content.files) {
    const time = await timeOf(joinPath(path, name), log);
    if (time > result) result = time;
  }
  return result;
}

async function timeOf(path: string, log: Log): Promise<bigint> {
  try {
    const { mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    if (ctimeNs > mtimeNs) return ctimeNs;
    return mtimeNs;
  } catch (reason) {
    const error = reason instanceof TritonError ? reason : statError(path);
    log.error(`Failed to determine modification time for '${path}': ${error.toStatusText()}`);
    return 0n;
  }
}
