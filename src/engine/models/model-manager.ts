import { Semaphore } from '../../base/semaphore.js';
import type { IndexEntry, LoadParameters } from '../../protocol/management.js';
import { applyChange } from './load/apply-change.js';
import { cancelOutdated, followRepositories, loadAll } from './load/follow-repositories.js';
import { loadNamed } from './load/load-named.js';
import { removeAll } from './load/served-files.js';
import { Operations } from './operations.js';
import { Repositories } from './poll/repositories.js';
import { countedVersions, findRecord, isUnambiguous, listModels, readyVersions } from './table/find-models.js';
import { LiveVersions } from './table/live-versions.js';
import type { ModelRecord } from './table/model-record.js';
import { ModelTable } from './table/model-table.js';
import type { Models } from './table/models.js';
import { LoadCancelled } from './version/load-cancelled.js';
import type { LoadContext } from './version/load-version.js';
import type { LoadedModel } from './version/loaded-model.js';

/** Loads at the same time when the options do not say. */
const DEFAULT_LOAD_THREADS = 4;

/** Stands for all models where operations wait for each other; no model is called so. */
const ANY_MODEL = '*';

/**
 * All models of a server: finds, polls, loads and unloads them by name, keeps ensembles and their members together, and
 * lists all. What it does is done by functions over the entries of one table; it sees to their order.
 */
export class ModelManager {
  readonly #models: Models;
  readonly #operations = new Operations();

  private constructor(context: LoadContext, repositories: Repositories) {
    const { options, threads } = context;
    this.#models = {
      context,
      repositories,
      table: new ModelTable(),
      versions: new LiveVersions(threads, options.log),
      loadSlots: new Semaphore(options.modelLoadThreads ?? DEFAULT_LOAD_THREADS),
      stopped: undefined,
    };
  }

  /** Throws when a repository is not a directory that can be listed. */
  static async create(context: LoadContext): Promise<ModelManager> {
    return new ModelManager(context, await Repositories.open(context.options));
  }

  /** What is known of the versions of all models that were ever loaded or tried. */
  records(): readonly ModelRecord[] {
    return this.#models.table.entries().flatMap(({ record }) => record ?? []);
  }

  /** Loaded versions that are not completely gone. */
  get liveVersions(): number {
    return this.#models.versions.count;
  }

  /** As `findRecord`. */
  record(name: string): ModelRecord | undefined {
    return findRecord(this.#models, name);
  }

  /** As the function of the same name. */
  isUnambiguous(name: string): boolean {
    return isUnambiguous(this.#models, name);
  }

  /** As the function of the same name. */
  readyVersions(name: string): string[] {
    return readyVersions(this.#models, name);
  }

  /** As `countedVersions`. */
  counted(name: string, version: string): readonly LoadedModel[] {
    return countedVersions(this.#models, name, version);
  }

  /** As `listModels`. */
  index(onlyReady: boolean): Promise<IndexEntry[]> {
    return listModels(this.#models, onlyReady);
  }

  /** As the function of the same name; before any other operation. */
  loadAll(): Promise<boolean> {
    return loadAll(this.#models);
  }

  /** Follows what has changed in the repositories. Never rejects. */
  poll(): Promise<void> {
    return this.#operations.exclusive([ANY_MODEL], () => followRepositories(this.#models));
  }

  /**
   * Loads models by name, ensembles together with their members; `parameters` only for a single one. Throws Triton's
   * errors. No other operation works on these models meanwhile, nor on those that ensembles connect with them: a call that
   * finds that it concerns more of them starts again, holding all.
   */
  async load(names: readonly string[], parameters: LoadParameters = {}): Promise<void> {
    const { table } = this.#models;
    await this.#operations.load(names, async (cancelled) => {
      const replaces = parameters.config !== undefined || (parameters.files?.size ?? 0) > 0;
      for (const entry of names.flatMap((name) => table.named(name))) {
        void cancelOutdated(this.#models, entry, replaces);
      }
      let held = table.relatedTo(names);
      for (;;) {
        const call = { names, parameters, held, cancelled };
        const { more, error } = await this.#operations.exclusive(held, () => loadNamed(this.#models, call));
        if (error !== undefined) throw error;
        if (more.length === 0) return;
        held = table.relatedTo([...held, ...more]);
      }
    });
  }

  /** Gives up loads that hang on files which have been changed since; for the time while a poll waits for them. */
  async cancelOutdatedLoads(): Promise<void> {
    for (const entry of this.#models.table.present()) await cancelOutdated(this.#models, entry, false);
  }

  /**
   * Takes the models of a name out of service, and the ensembles that need them; unknown names are not an error. Loads of the
   * models that are on their way are given up.
   * `withMembers`: also the members of ensembles that serve just because of them.
   */
  unload(name: string, withMembers = false): Promise<void> {
    const { table } = this.#models;
    const reason = new LoadCancelled('the model was unloaded', true);
    this.#operations.cancelLoads(reason, name);
    for (const { loads } of table.named(name)) for (const load of loads) load.cancel(reason);
    return this.#operations.exclusive(table.relatedTo([name]), async () => {
      const named = table.named(name);
      const members = withMembers ? table.neededOnlyBy(named) : [];
      await applyChange(this.#models, { gone: [...named, ...members] });
    });
  }

  /** Takes everything out of service and waits until it is gone. */
  async unloadAll(): Promise<void> {
    const { versions, repositories } = this.#models;
    this.cancelLoads();
    await this.#operations.settled();
    for (const record of this.records()) versions.unload(record);
    await versions.settled();
    await removeAll(this.#models);
    await repositories.close();
  }

  /** Gives up every load that is on its way or comes later: the server stops. */
  cancelLoads(): void {
    const reason = new LoadCancelled('the server stops', true);
    this.#operations.cancelLoads(reason);
    this.#models.stopped ??= reason;
    for (const { loads } of this.#models.table.entries()) for (const load of loads) load.cancel(reason);
  }
}
