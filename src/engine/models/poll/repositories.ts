import { compareBytes } from '../../../base/compare-bytes.js';
import { invalidArg, TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import { checkRepository, joinPath, kindOf, listModels } from '../../../repository/files/local.js';
import { isCode } from '../../../repository/files/staged-folder.js';
import { storeScheme } from '../../../repository/stores/common/store-path.js';
import { RemoteRepository } from '../../../repository/stores/remote-repository.js';
import type { EngineOptions } from '../../options/engine-options.js';
import { type ModelPlace, modelId } from './model-place.js';

/** What a look at all repositories found. */
export interface Listing {
  /** Every model that is there once, by repository, then name. */
  readonly places: readonly ModelPlace[];
  /** False when a repository could not be listed or a name is there twice; the log says which. */
  readonly complete: boolean;
}

/** The repositories that a server was given: every directory in one of them is a model. */
export class Repositories {
  /** Sorted, each once. */
  readonly paths: readonly string[];
  /** Those in object stores, by path. */
  readonly #remotes: ReadonlyMap<string, RemoteRepository>;
  readonly #namespacing: boolean;
  readonly #log: Log;
  /** Hidden directories and dangling links that have been warned of. */
  readonly #warned = new Set<string>();
  /** What the last successful look at each local repository found. */
  readonly #lastNames = new Map<string, readonly string[]>();
  /** Repositories that could not be listed at the last look: reported once. */
  readonly #failing = new Set<string>();

  private constructor(
    paths: readonly string[],
    remotes: ReadonlyMap<string, RemoteRepository>,
    options: EngineOptions,
  ) {
    this.paths = paths;
    this.#remotes = remotes;
    this.#namespacing = options.modelNamespacing ?? false;
    this.#log = options.log;
  }

  /** Throws when there is none, or one is not a directory that can be listed. */
  static async open(options: EngineOptions): Promise<Repositories> {
    const paths = [...new Set(options.repositories)].sort(compareBytes);
    if (paths.length === 0) throw invalidArg('--model-repository must be specified');
    const remotes = new Map<string, RemoteRepository>();
    for (const path of paths) {
      if (storeScheme(path) === undefined) await checkRepository(path);
      else remotes.set(path, await RemoteRepository.open(path));
    }
    return new Repositories(paths, remotes, options);
  }

  /** Removes what was fetched and never loaded. */
  async close(): Promise<void> {
    for (const remote of this.#remotes.values()) await remote.close();
  }

  /** Lists all models. Names that are there more than once are left out, unless they have namespaces. */
  async list(): Promise<Listing> {
    let complete = true;
    const found = new Map<string, ModelPlace[]>();
    for (const path of this.paths) {
      let names: readonly string[];
      try {
        names = await this.#list(path);
        this.#failing.delete(path);
      } catch (reason) {
        if (!this.#failing.has(path)) {
          this.#log.error(`failed to poll model repository '${path}': ${TritonError.from(reason).message}`);
        }
        this.#failing.add(path);
        complete = false;
        // A repository that cannot be read for a while has not lost its models; one that was removed has.
        const isGone = isCode((reason as Error).cause, 'ENOENT');
        names = this.#remotes.get(path)?.lastNames ?? (isGone ? [] : (this.#lastNames.get(path) ?? []));
      }
      for (const name of names) {
        this.#warnOfHidden(path, name);
        const place = this.#place(path, name);
        found.set(place.id, [...(found.get(place.id) ?? []), place]);
      }
    }
    const places: ModelPlace[] = [];
    for (const [id, [first, ...others]] of found) {
      if (others.length === 0) {
        places.push(first as ModelPlace);
      } else {
        this.#log.error(`failed to poll model '${id}': not unique across all model repositories`);
        complete = false;
      }
    }
    return { places: places.sort((a, b) => compareBytes(a.id, b.id)), complete };
  }

  /**
   * Where a model lies: with namespaces in as many repositories as have it, else in one. Empty (and logged) when no
   * repository has it, or several have.
   */
  async find(name: string): Promise<ModelPlace[]> {
    const places: ModelPlace[] = [];
    for (const path of this.paths) {
      const place = this.#place(path, name);
      if (staysInside(name) && (await this.#isThere(place))) places.push(place);
    }
    if (places.length === 1 || (this.#namespacing && places.length > 1)) return places;
    if (places.length > 1) {
      this.#log.error(`failed to poll model '${name}': not unique across all model repositories`);
    }
    this.#log.error(`failed to poll model '${name}': model not found in any model repository.`);
    return [];
  }

  /** Names by repository for the index; `many`: in how many repositories it is, where that is a fault. Throws when one cannot be listed. */
  async names(): Promise<{ readonly id: string; readonly name: string; readonly many: number }[]> {
    const found = new Map<string, { id: string; name: string; many: number }>();
    for (const path of this.paths) {
      // A dangling link costs no model, but the index reports it, as Triton's does.
      if (!this.#remotes.has(path)) await listModels(path);
      for (const name of await this.#list(path)) {
        const { id } = this.#place(path, name);
        found.set(id, { id, name, many: (found.get(id)?.many ?? 0) + 1 });
      }
    }
    const entries = [...found.values()];
    return this.#namespacing ? entries : entries.sort((a, b) => compareBytes(a.name, b.name));
  }

  async #list(path: string): Promise<readonly string[]> {
    const remote = this.#remotes.get(path);
    if (remote !== undefined) return await remote.listModels();
    const before = this.#lastNames.get(path) ?? [];
    const dangling: string[] = [];
    const found = await listModels(path, (name) => dangling.push(name));
    for (const name of dangling) this.#warnOfDangling(joinPath(path, name));
    // A model whose link is being switched, or leads to a disk that is away for a while, serves on.
    const names = [...found, ...dangling.filter((name) => before.includes(name))];
    this.#lastNames.set(path, names);
    return names;
  }

  /** One line for each link: editors leave such links as locks, and they say nothing about the models beside them. */
  #warnOfDangling(link: string): void {
    if (this.#warned.has(link)) return;
    this.#warned.add(link);
    this.#log.warning(`the link '${link}' leads nowhere and is passed over`);
  }

  /** False, and logged, also when a store cannot say. */
  async #isThere({ directory, name, remote }: ModelPlace): Promise<boolean> {
    if (remote === undefined) return (await kindOf(directory)) === 'directory';
    try {
      return await remote.hasModel(name);
    } catch (reason) {
      this.#log.error(`failed to poll model repository '${remote.path}': ${TritonError.from(reason).message}`);
      return false;
    }
  }

  #place(path: string, name: string): ModelPlace {
    const namespace = this.#namespacing ? path : '';
    const remote = this.#remotes.get(path);
    const place = { id: modelId(namespace, name), name, namespace, directory: joinPath(path, name) };
    return remote === undefined ? place : { ...place, remote };
  }

  /** Every directory is a model, hidden ones too: such a directory is seldom meant to be one. */
  #warnOfHidden(path: string, name: string): void {
    const directory = joinPath(path, name);
    if (!(name.startsWith('.') || name === 'lost+found') || this.#warned.has(directory)) return;
    this.#warned.add(directory);
    this.#log.warning(
      `the directory '${directory}' is taken for a model, as every directory of a model repository is, hidden ones too; ` +
        'move it out of the repository if it is not one',
    );
  }
}

/** Names may have several segments, but must not lead out of the repository. */
function staysInside(name: string): boolean {
  return !name.split('/').includes('..');
}
