/**
 * The files that models are loaded from: whether they have changed since, and the end of directories of files that were
 * fetched or came with a load call, once nothing serves from them any more.
 */

import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import { removeFetchedFolder } from '../../../repository/stores/fetched-folders.js';
import type { RemoteRepository } from '../../../repository/stores/remote-repository.js';
import { removeFileOverride } from '../poll/file-override.js';
import type { ModelPlace } from '../poll/model-place.js';
import type { Polled } from '../poll/model-poller.js';
import { isModified, modificationTimes } from '../poll/modification-times.js';
import type { ModelEntry } from '../table/model-entry.js';
import type { Models } from '../table/models.js';

/** Whether the files of a model have changed since it was polled last; false for one of a store. */
export async function isOutdated({ polled }: ModelEntry, log: Log): Promise<boolean> {
  if (polled === undefined || polled.place.remote !== undefined || polled.temporary) return false;
  return isModified(polled.times, await modificationTimes(polled.folder, log));
}

/** Whether the files of a model are those that it was loaded from. */
export async function isUnchanged(entry: ModelEntry | undefined, place: ModelPlace, log: Log): Promise<boolean> {
  const from = entry?.loadedFrom;
  if (from === undefined || from.place.directory !== place.directory) return false;
  if (place.remote !== undefined) return await isUnchangedIn(place.remote, place, from, log);
  return !isModified(from.times, await modificationTimes(place.directory, log));
}

/** A store that cannot be reached for a while has not changed its models. */
async function isUnchangedIn(
  remote: RemoteRepository,
  { name, directory }: ModelPlace,
  from: Polled,
  log: Log,
): Promise<boolean> {
  try {
    return (await remote.signature(name)) === from.signature;
  } catch (reason) {
    log.error(`Failed to determine modification time for '${directory}': ${TritonError.from(reason).toStatusText()}`);
    return true;
  }
}

/** A model was loaded, or refused for good, as it was polled. */
export function remember(models: Models, entry: ModelEntry, polled: Polled): void {
  const before = entry.loadedFrom;
  entry.loadedFrom = polled;
  if (before !== undefined && before.folder !== polled.folder) dispose(models, before);
}

/** A model was taken out of service. */
export function forget(models: Models, entry: ModelEntry): void {
  const before = entry.loadedFrom;
  entry.loadedFrom = undefined;
  if (before !== undefined) dispose(models, before);
}

/** Gives a fetched directory up, unless something that was polled or loaded lies in it. */
export function releaseFetched(models: Models, { place: { remote }, folder }: Polled): void {
  if (remote === undefined) return;
  const entries = models.table.entries();
  if (entries.some(({ polled, loadedFrom }) => polled?.folder === folder || loadedFrom?.folder === folder)) return;
  remote.forget(folder);
  void models.versions.settled().then(() => removeDirectory(models, folder, removeFetchedFolder));
}

/** Removes a directory of files that came with a load call. Never rejects. */
export function removeOverride(models: Models, directory: string): Promise<void> {
  return removeDirectory(models, directory, removeFileOverride);
}

/** Removes every temporary directory, at the end of the server. */
export async function removeAll(models: Models): Promise<void> {
  const entries = models.table.entries();
  const loaded = entries.flatMap(({ loadedFrom }) => loadedFrom ?? []);
  for (const { temporary, folder } of loaded) if (temporary) await removeOverride(models, folder);
  for (const { place, folder } of [...entries.flatMap(({ polled }) => polled ?? []), ...loaded]) {
    if (place.remote !== undefined) await removeDirectory(models, folder, removeFetchedFolder);
  }
}

function dispose(models: Models, before: Polled): void {
  if (before.temporary) void models.versions.settled().then(() => removeOverride(models, before.folder));
  releaseFetched(models, before);
}

/** Never rejects: a temporary directory that cannot be removed is not a reason to fail, but is reported. */
async function removeDirectory(
  { context }: Models,
  directory: string,
  remove: (directory: string) => Promise<void>,
): Promise<void> {
  try {
    await remove(directory);
  } catch (reason) {
    const { message } = reason as Error;
    context.options.log.warning(`failed to remove the temporary directory '${directory}': ${message}`);
  }
}
