import { ENSEMBLE_PLATFORM } from '../../modelconfig/normalize.js';
import { TritonError } from '../../protocol/error.js';
import { checkRepository, compareBytes, joinPath, listModels } from '../../repository/local.js';
import { type PolledModel, pollModel } from '../../repository/poll-model.js';
import type { IndexEntry, LoadParameters } from '../engine-api.js';
import type { EngineOptions } from '../options.js';
import { checkMembers, type GraphNode, membersFirst, membersOf } from './ensemble-loads.js';
import { removeFileOverride, writeFileOverride } from './file-override.js';
import { type EngineContext, ModelLifecycle } from './model-lifecycle.js';
import { isModified, type ModificationTimes, modificationTimes } from './modification-times.js';

/** What was polled of a model when it was loaded last. */
interface ModelInfo {
  readonly directory: string;
  readonly times: ModificationTimes;
  /** A later load of unchanged files keeps an override of the configuration. */
  readonly override: string | undefined;
  readonly temporary: boolean;
}

const DUPLICATE_REASON = 'model appears in two or more repositories';

/** Knows the repositories: finds, polls, loads and unloads models by name, and lists them. */
export class ModelManager {
  readonly lifecycle: ModelLifecycle;
  readonly #options: EngineOptions;
  readonly #repositories: readonly string[];
  readonly #infos = new Map<string, ModelInfo>();
  /** Models that are to serve, as they were polled. */
  readonly #nodes = new Map<string, GraphNode>();
  /** The last load or unload of each model: those of one model follow each other. */
  readonly #operations = new Map<string, Promise<unknown>>();

  private constructor(context: EngineContext, repositories: readonly string[]) {
    this.#options = context.options;
    this.#repositories = repositories;
    this.lifecycle = new ModelLifecycle(context);
  }

  /** Throws when a repository is no directory that can be listed. */
  static async create(context: EngineContext): Promise<ModelManager> {
    const repositories = [...new Set(context.options.repositories)].sort(compareBytes);
    if (repositories.length === 0) throw new TritonError('INVALID_ARG', '--model-repository must be specified');
    for (const repository of repositories) await checkRepository(repository);
    return new ModelManager(context, repositories);
  }

  /** Loads everything that the repositories hold. Returns false when anything could not be polled or loaded. */
  async loadAll(): Promise<boolean> {
    let complete = true;
    const found = new Map<string, string[]>();
    for (const repository of this.#repositories) {
      try {
        for (const name of await listModels(repository)) {
          found.set(name, [...(found.get(name) ?? []), joinPath(repository, name)]);
        }
      } catch (reason) {
        const { message } = TritonError.from(reason);
        this.#options.log.error(`failed to poll model repository '${repository}': ${message}`);
        complete = false;
      }
    }
    const names = [...found.keys()].sort(compareBytes);
    const polled = await Promise.all(
      names.map(async (name) => {
        const directories = found.get(name)!;
        if (directories.length === 1) return await this.#poll(name, directories[0]!, undefined);
        this.#options.log.error(`failed to poll model '${name}': not unique across all model repositories`);
        return undefined;
      }),
    );
    const good = polled.filter((result) => result !== undefined);
    if (good.length < names.length) complete = false;
    await Promise.all(good.map(({ model }) => this.lifecycle.reserve({ ...model, filesUnchanged: false })));
    for (const { model } of good) this.#nodes.set(model.name, model);
    const plain = good.filter(({ model }) => model.config.platform !== ENSEMBLE_PLATFORM);
    const loads = await Promise.allSettled(plain.map((result) => this.#loadPolled(result, undefined, false)));
    const ensembles = new Map(
      good.filter((result) => !plain.includes(result)).map((result) => [result.model.name, result]),
    );
    for (const name of membersFirst(ensembles.keys(), this.#nodes)) {
      loads.push(...(await Promise.allSettled([this.#loadPolled(ensembles.get(name)!, undefined, false)])));
    }
    return complete && loads.every((load) => load.status === 'fulfilled');
  }

  /** Loads one model by name. Throws the server's errors (spec: model repository, section 8.3). */
  load(name: string, parameters: LoadParameters): Promise<void> {
    return this.#serialise(name, () => this.#load(name, parameters));
  }

  /** Takes a model out of service; unknown names are no error. */
  unload(name: string): Promise<void> {
    return this.#serialise(name, async () => {
      this.lifecycle.unload(name);
      const info = this.#infos.get(name);
      this.#infos.delete(name);
      if (info?.temporary) await this.lifecycle.settled().then(() => removeFileOverride(info.directory));
    });
  }

  /** Lists the repositories' directories with what is known of each (spec: model repository, section 8.5). */
  async index(onlyReady: boolean): Promise<IndexEntry[]> {
    const counts = new Map<string, number>();
    for (const repository of this.#repositories) {
      for (const name of await listModels(repository)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const entries: IndexEntry[] = [];
    for (const name of [...counts.keys()].sort(compareBytes)) {
      const record = this.lifecycle.records.get(name);
      if (counts.get(name)! > 1) {
        entries.push({ name, state: 'UNAVAILABLE', reason: DUPLICATE_REASON });
      } else if (record === undefined) {
        if (!onlyReady) entries.push({ name });
      } else {
        for (const { version, state, reason } of record.versions) {
          if (onlyReady && state !== 'READY') continue;
          entries.push({ name, version, state, ...(reason === '' ? {} : { reason }) });
        }
      }
    }
    return entries;
  }

  /** Takes everything out of service and waits until it is gone. */
  async unloadAll(): Promise<void> {
    await Promise.allSettled(this.#operations.values());
    for (const name of this.lifecycle.records.keys()) this.lifecycle.unload(name);
    await this.lifecycle.settled();
    for (const info of this.#infos.values()) if (info.temporary) await removeFileOverride(info.directory);
  }

  #serialise<T>(name: string, operation: () => Promise<T>): Promise<T> {
    const before = this.#operations.get(name) ?? Promise.resolve();
    const result = before.then(operation, operation);
    this.#operations.set(name, result);
    const forget = (): void => {
      if (this.#operations.get(name) === result) this.#operations.delete(name);
    };
    result.then(forget, forget);
    return result;
  }

  async #load(name: string, parameters: LoadParameters): Promise<void> {
    const pollFailed = new TritonError('INTERNAL', `failed to load '${name}', failed to poll from model repository`);
    if (parameters.files !== undefined && parameters.files.size > 0) {
      let directory: string;
      try {
        directory = await writeFileOverride(parameters);
      } catch (reason) {
        this.#options.log.error(`failed to poll model '${name}': ${TritonError.from(reason).message}`);
        throw pollFailed;
      }
      const polled = await this.#poll(name, directory, parameters.config);
      if (polled === undefined) {
        await removeFileOverride(directory);
        throw pollFailed;
      }
      try {
        await this.#loadPolled(polled, parameters.config, true);
      } catch (reason) {
        await removeFileOverride(directory);
        throw reason;
      }
      return;
    }
    const directory = await this.#find(name);
    if (directory === undefined) throw pollFailed;
    const before = this.#infos.get(name);
    const unchanged =
      before !== undefined &&
      before.directory === directory &&
      !isModified(before.times, await modificationTimes(directory, this.#options.log));
    if (unchanged && parameters.config === undefined && this.#isServing(name)) return;
    const override = parameters.config ?? (unchanged ? before.override : undefined);
    const polled = await this.#poll(name, directory, override);
    if (polled === undefined) throw pollFailed;
    for (const member of membersOf(polled.model.config)) {
      if (!this.#isServing(member)) await this.load(member, {}).catch(() => {});
    }
    await this.#loadPolled(polled, override, false, before);
    if ((this.lifecycle.records.get(name)?.ready.length ?? 0) === 0) {
      throw new TritonError('INTERNAL', `failed to load '${name}', no version is available`);
    }
  }

  #isServing(name: string): boolean {
    return (this.lifecycle.records.get(name)?.ready.length ?? 0) > 0;
  }

  /** The directory of a model; undefined (and logged) when no repository or more than one has it. */
  async #find(name: string): Promise<string | undefined> {
    const directories: string[] = [];
    for (const repository of this.#repositories) {
      try {
        if ((await listModels(repository)).includes(name)) directories.push(joinPath(repository, name));
      } catch (reason) {
        const { message } = TritonError.from(reason);
        this.#options.log.error(`failed to poll model repository '${repository}': ${message}`);
      }
    }
    if (directories.length === 1) return directories[0];
    if (directories.length > 1) {
      this.#options.log.error(`failed to poll model '${name}': not unique across all model repositories`);
    }
    this.#options.log.error(`failed to poll model '${name}': model not found in any model repository.`);
    return undefined;
  }

  async #poll(name: string, directory: string, override: string | undefined) {
    const { log, autoComplete, modelConfigName, repoAgentDirectory } = this.#options;
    let model: PolledModel;
    let times: ModificationTimes;
    try {
      times = await modificationTimes(directory, log);
      model = await pollModel(directory, name, {
        autoComplete,
        ...(modelConfigName === undefined ? {} : { configName: modelConfigName }),
        ...(repoAgentDirectory === undefined ? {} : { repoAgentDirectory }),
        ...(override === undefined ? {} : { override }),
      });
    } catch (reason) {
      log.error(`Poll failed for model directory '${name}': ${TritonError.from(reason).message}`);
      return undefined;
    }
    for (const { position, message } of model.parseErrors) {
      const place = `${position.line}:${position.column}`;
      log.plain?.(`Error parsing text-format inference.ModelConfig: ${place}: ${message}`);
    }
    const [fault] = model.faults;
    if (fault !== undefined) {
      log.error(`Poll failed for model directory '${name}': ${fault.message}`);
      return undefined;
    }
    return { model, times };
  }

  async #loadPolled(
    { model, times }: { model: PolledModel; times: ModificationTimes },
    override: string | undefined,
    temporary: boolean,
    before?: ModelInfo,
  ): Promise<void> {
    const { name, directory } = model;
    const filesUnchanged =
      before !== undefined && before.directory === directory && otherFilesUnchanged(before.times, times);
    this.#nodes.set(name, model);
    if (model.config.platform === ENSEMBLE_PLATFORM) {
      checkMembers(model, this.#nodes, this.lifecycle.records, this.#options.log);
    }
    await this.lifecycle.load({ ...model, filesUnchanged });
    const previous = this.#infos.get(name);
    this.#infos.set(name, { directory, times: temporary ? new Map() : times, override, temporary });
    if (previous?.temporary && previous.directory !== directory) {
      void this.lifecycle.settled().then(() => removeFileOverride(previous.directory));
    }
  }
}

/** True when nothing but the configuration's file and the directory's own time changed. */
function otherFilesUnchanged(before: ModificationTimes, after: ModificationTimes): boolean {
  for (const [name, time] of after) {
    if (name !== '' && name !== 'config.pbtxt' && before.has(name) && before.get(name) !== time) return false;
  }
  return true;
}
