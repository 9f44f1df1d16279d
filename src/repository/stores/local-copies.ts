/** Copies of repositories in object stores, for tools that look at files. */
import path from 'node:path';
import { storeScheme } from './common/store-path.js';
import { makeFetchedFolder, removeFetchedFolder } from './fetched-folders.js';
import { RemoteRepository } from './remote-repository.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Repositories on this machine. */
export interface LocalCopies {
  /** The directories to look at, in the order of the paths; local paths are themselves. */
  readonly directories: readonly string[];
  /** Puts the given paths in place of those of the copies. */
  restore(text: string): string;
  remove(): Promise<void>;
}

/** Fetches all models of the repositories that lie in object stores. Throws the errors of a server's start. */
export async function localCopies(paths: readonly string[]): Promise<LocalCopies> {
  const copies = new Map<string, string>();
  // The end of the process removes the directories, but a signal would end it without that.
  const onSignal = (_: NodeJS.Signals, number: number): void => process.exit(128 + number);
  if (paths.some((each) => storeScheme(each) !== undefined)) for (const name of SIGNALS) process.on(name, onSignal);
  const remove = async (): Promise<void> => {
    for (const name of SIGNALS) process.off(name, onSignal);
    for (const folder of copies.keys()) await removeFetchedFolder(folder);
  };
  const directories: string[] = [];
  try {
    for (const each of paths) {
      if (storeScheme(each) === undefined) {
        directories.push(each);
        continue;
      }
      const remote = await RemoteRepository.open(each);
      const folder = await makeFetchedFolder(undefined);
      copies.set(folder, each.replace(/\/+$/, ''));
      directories.push(folder);
      for (const name of await remote.listModels()) await remote.fetchInto(name, path.join(folder, name));
    }
  } catch (reason) {
    await remove();
    throw reason;
  }
  return {
    directories,
    restore: (text) => [...copies].reduce((result, [folder, given]) => result.replaceAll(folder, given), text),
    remove,
  };
}
