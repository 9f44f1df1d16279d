/** A model repository in an object store: its models are fetched into temporary directories before they are loaded. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { compareBytes } from '../../base/compare-bytes.js';
import { invalidArg } from '../../base/error.js';
import { statError } from '../files/local.js';
import type { Environment, ObjectStore, StoredObject } from './common/object-store.js';
import { fetchObjects } from './fetch-objects.js';
import { makeFetchedFolder, removeFetchedFolder } from './fetched-folders.js';
import { openStore } from './open-store.js';

/** A model that was fetched. */
export interface FetchedModel {
  readonly folder: string;
  /** Differs when any object of the model was changed, added or removed. */
  readonly signature: string;
}

interface Kept extends FetchedModel {
  /** Somebody will say when it is not needed any more. */
  owned: boolean;
}

/** Lists, watches and fetches the models below a path such as `s3://bucket/models`. */
export class RemoteRepository {
  readonly path: string;
  readonly #store: ObjectStore;
  readonly #environment: Environment;
  /** Directories of models as they were fetched last, by model. */
  readonly #kept = new Map<string, Kept>();
  /** What was listed last. */
  #names: readonly string[] = [];

  private constructor(path: string, store: ObjectStore, environment: Environment) {
    this.path = path;
    this.#store = store;
    this.#environment = environment;
  }

  /** Throws when the store cannot be used or has nothing under that path. */
  static async open(path: string, environment: Environment = process.env): Promise<RemoteRepository> {
    const store = await openStore(path, environment);
    await store.check();
    const repository = new RemoteRepository(path, store, environment);
    await repository.#checkRoot();
    return repository;
  }

  /** Names of the models, byte-wise ascending. */
  async listModels(): Promise<readonly string[]> {
    const { folders } = await this.#store.list(this.#prefix(''), true);
    this.#names = folders.filter((name) => name !== '').sort(compareBytes);
    for (const [name, { owned, folder }] of this.#kept) {
      if (owned || this.#names.includes(name)) continue;
      this.#kept.delete(name);
      await removeFetchedFolder(folder);
    }
    return this.#names;
  }

  /** What the last successful look found. */
  get lastNames(): readonly string[] {
    return this.#names;
  }

  async hasModel(name: string): Promise<boolean> {
    return (await this.#objects(name)).length > 0;
  }

  /** Differs between a changed model and an unchanged one; '' when there is none. */
  async signature(name: string): Promise<string> {
    return signatureOf(await this.#objects(name));
  }

  /**
   * Fetches a model into a directory of its own, or gives the one of the last time where nothing has changed since.
   * `report`: gets a line when something is fetched.
   */
  async fetch(name: string, report: (line: string) => void = () => {}): Promise<FetchedModel> {
    const objects = await this.#objects(name);
    if (objects.length === 0) throw statError(`${this.path.replace(/\/+$/, '')}/${name}`);
    const signature = signatureOf(objects);
    const kept = this.#kept.get(name);
    if (kept?.signature === signature) return kept;
    const folder = await makeFetchedFolder(this.#environment[this.#store.mountVariable]);
    const bytes = objects.reduce((sum, { size }) => sum + size, 0);
    report(`fetching model '${name}' from ${this.path}: ${objects.length} objects, ${bytes} bytes, into ${folder}`);
    try {
      await fetchObjects(this.#store, this.#prefix(name), objects, folder);
    } catch (reason) {
      await removeFetchedFolder(folder);
      throw reason;
    }
    if (kept !== undefined && !kept.owned) await removeFetchedFolder(kept.folder);
    const fetched = { folder, signature, owned: false };
    this.#kept.set(name, fetched);
    return fetched;
  }

  /** Fetches a model into a directory that the caller looks after. */
  async fetchInto(name: string, folder: string): Promise<void> {
    await fetchObjects(this.#store, this.#prefix(name), await this.#objects(name), folder);
  }

  /** Takes a directory over: it stays until `forget` was called and it is removed. */
  own(folder: string): void {
    for (const kept of this.#kept.values()) if (kept.folder === folder) kept.owned = true;
  }

  /** The directory will not be given out again; whoever calls this removes it. */
  forget(folder: string): void {
    for (const [name, kept] of this.#kept) if (kept.folder === folder) this.#kept.delete(name);
  }

  /** Removes the directories that nobody has taken over. */
  async close(): Promise<void> {
    for (const { folder } of this.#kept.values()) await removeFetchedFolder(folder);
    this.#kept.clear();
  }

  /** A path names a directory when anything lies below it. The top of a bucket is always there. */
  async #checkRoot(): Promise<void> {
    const { root } = this.#store;
    if (root === '') return;
    const { folders, objects } = await this.#store.list(`${root}/`, true);
    if (folders.length > 0 || objects.length > 0) return;
    const same = await this.#store.list(root, true);
    if (same.objects.some(({ key }) => key === root)) throw invalidArg('repository path is not a valid directory');
    throw statError(this.path);
  }

  #prefix(name: string): string {
    const whole = path.posix.join(this.#store.root, name);
    return whole === '.' ? '' : `${whole}/`;
  }

  async #objects(name: string): Promise<readonly StoredObject[]> {
    const prefix = this.#prefix(name);
    const { objects } = await this.#store.list(prefix, false);
    return objects.filter(({ key }) => key !== prefix);
  }
}

function signatureOf(objects: readonly StoredObject[]): string {
  if (objects.length === 0) return '';
  const lines = objects.map(({ key, size, version }) => JSON.stringify([key, size, version])).sort(compareBytes);
  return createHash('sha256').update(lines.join('\n')).digest('base64');
}
