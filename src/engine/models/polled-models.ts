import type { Log } from '../../base/log.js';
import { TritonError } from '../../protocol/error.js';
import { removeFetchedFolder } from '../../repository/stores/fetched-folders.js';
import type { RemoteRepository } from '../../repository/stores/remote-repository.js';
import { removeFileOverride } from './poll/file-override.js';
import type { ModelPlace } from './poll/model-place.js';
import type { Polled } from './poll/model-poller.js';
import { isModified, type ModificationTimes, modificationTimes } from './poll/modification-times.js';

/** What was polled of a model when it was loaded last. */
export interface ModelInfo {
  readonly directory: string;
  /** Folder that it serves from; another one when its files were fetched. */
  readonly folder: string;
  readonly remote: RemoteRepository | undefined;
  readonly signature: string;
  readonly times: ModificationTimes;
  /** A later load of unchanged files keeps an override of the configuration. */
  readonly override: string | undefined;
  readonly temporary: boolean;
}

/**
 * What was polled of the models and what they were loaded from, by id: tells whether files have changed since, and
 * removes the folders of files that were fetched or came with a load call when nothing serves from them any more.
 */
export class PolledModels {
  readonly #log: Log;
  /** Resolves when nothing is being loaded or unloaded. */
  readonly #settled: () => Promise<void>;
  /** As they were polled last. */
  readonly #polled = new Map<string, Polled>();
  /** Those that were loaded, or refused for good; a model without an entry counts as changed. */
  readonly #infos = new Map<string, ModelInfo>();

  constructor(log: Log, settled: () => Promise<void>) {
    this.#log = log;
    this.#settled = settled;
  }

  /** What was polled last of a model. */
  get(id: string): Polled | undefined {
    return this.#polled.get(id);
  }

  /** What a model was loaded from. */
  info(id: string): ModelInfo | undefined {
    return this.#infos.get(id);
  }

  /** A model was polled. Its folder is in use from now on. */
  set(entry: Polled): void {
    this.#polled.set(entry.place.id, entry);
    entry.place.remote?.own(entry.folder);
  }

  /** A model is not in the repositories any more; what it was loaded from stays until `forget`. */
  delete(id: string): void {
    this.#polled.delete(id);
  }

  /** A model was loaded, or refused for good, as it was polled. */
  remember({ place, folder, signature, times, override, temporary }: Polled): void {
    const before = this.#infos.get(place.id);
    const { directory, remote } = place;
    const known = temporary ? new Map() : times;
    this.#infos.set(place.id, { directory, folder, remote, signature, times: known, override, temporary });
    if (before !== undefined && before.folder !== folder) this.#dispose(before);
  }

  /** A model was taken out of service. */
  forget(id: string): void {
    const info = this.#infos.get(id);
    this.#infos.delete(id);
    if (info !== undefined) this.#dispose(info);
  }

  /** Whether the files of a model have changed since it was polled last; false for one of a store. */
  async isOutdated(id: string): Promise<boolean> {
    const polled = this.#polled.get(id);
    if (polled === undefined || polled.place.remote !== undefined || polled.temporary) return false;
    return isModified(polled.times, await modificationTimes(polled.folder, this.#log));
  }

  /** Whether the files of a model are those that it was loaded from. */
  async isUnchanged(place: ModelPlace): Promise<boolean> {
    const info = this.#infos.get(place.id);
    if (info === undefined || info.directory !== place.directory) return false;
    if (place.remote !== undefined) return await this.#isUnchangedIn(place.remote, place, info);
    return !isModified(info.times, await modificationTimes(place.directory, this.#log));
  }

  /** A store that cannot be reached for a while has not changed its models. */
  async #isUnchangedIn(remote: RemoteRepository, { name, directory }: ModelPlace, info: ModelInfo): Promise<boolean> {
    try {
      return (await remote.signature(name)) === info.signature;
    } catch (reason) {
      const text = TritonError.from(reason).toStatusText();
      this.#log.error(`Failed to determine modification time for '${directory}': ${text}`);
      return true;
    }
  }

  /** Gives a fetched folder up, unless something that was polled or loaded lies in it. */
  releaseFetched(remote: RemoteRepository | undefined, folder: string): void {
    if (remote === undefined) return;
    for (const each of this.#polled.values()) if (each.folder === folder) return;
    for (const each of this.#infos.values()) if (each.folder === folder) return;
    remote.forget(folder);
    void this.#settled().then(() => this.#removeFolder(folder, removeFetchedFolder));
  }

  /** Removes a folder of files that came with a load call. Never rejects. */
  removeOverride(directory: string): Promise<void> {
    return this.#removeFolder(directory, removeFileOverride);
  }

  /** Removes every temporary folder, at the end of the server. */
  async removeAll(): Promise<void> {
    for (const { temporary, directory } of this.#infos.values()) if (temporary) await this.removeOverride(directory);
    const fetched = [...this.#polled.values()].map(({ place, folder }) => ({ remote: place.remote, folder }));
    for (const { remote, folder } of [...fetched, ...this.#infos.values()]) {
      if (remote !== undefined) await this.#removeFolder(folder, removeFetchedFolder);
    }
  }

  #dispose({ temporary, directory, folder, remote }: ModelInfo): void {
    if (temporary) void this.#settled().then(() => this.removeOverride(directory));
    this.releaseFetched(remote, folder);
  }

  /** Never rejects: a temporary folder that cannot be removed is no reason to fail, but is told. */
  async #removeFolder(directory: string, remove: (directory: string) => Promise<void>): Promise<void> {
    try {
      await remove(directory);
    } catch (reason) {
      this.#log.warning(`failed to remove the temporary directory '${directory}': ${(reason as Error).message}`);
    }
  }
}
