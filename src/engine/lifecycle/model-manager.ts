import { ENSEMBLE_PLATFORM } from '../../modelconfig/normalize.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { checkRepository, compareBytes, joinPath, listModels } from '../../repository/local.js';
import { type PolledModel, pollModel } from '../../repository/poll-model.js';
import type { IndexEntry, LoadParameters } from '../engine-api.js';
import type { EngineOptions } from '../options.js';
import { removeFileOverride, writeFileOverride } from './file-override.js';
import { ModelGraph, membersOf } from './model-graph.js';
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

/** A model that was polled without a fault, to be loaded. */
interface Polled {
  readonly model: PolledModel;
  readonly times: ModificationTimes;
  readonly override: string | undefined;
  /** Its files came with a load call. */
  readonly temporary: boolean;
  /** By its own name, not just because an ensemble needs it. */
  readonly asked: boolean;
}

const DUPLICATE_REASON = 'model appears in two or more repositories';

/** Knows the repositories: finds, polls, loads and unloads models by name, and lists them. */
export class ModelManager {
  readonly lifecycle: ModelLifecycle;
  readonly #options: EngineOptions;
  readonly #repositories: readonly string[];
  readonly #infos = new Map<string, ModelInfo>();
  readonly #graph: ModelGraph;
  /** The models of the graph as they were polled last. */
  readonly #polled = new Map<string, Polled>();
  /** The last load or unload of each model: those of models that ensembles connect follow each other. */
  readonly #operations = new Map<string, Promise<unknown>>();

  private constructor(context: EngineContext, repositories: readonly string[]) {
    this.#options = context.options;
    this.#repositories = repositories;
    this.lifecycle = new ModelLifecycle(context);
    this.#graph = new ModelGraph(this.lifecycle.records);
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
    const good = polled.filter((entry) => entry !== undefined);
    if (good.length < names.length) complete = false;
    await Promise.all(good.map(({ model }) => this.lifecycle.reserve({ ...model, filesUnchanged: false })));
    const errors = await this.#apply(good, []);
    return complete && errors.size === 0;
  }

  /**
   * Loads one model by name, an ensemble together with its members. Throws the server's errors (spec: model repository,
   * section 8.3).
   */
  load(name: string, parameters: LoadParameters): Promise<void> {
    const held = this.#graph.relatedTo(name);
    return this.#exclusive(held, () => this.#load(name, parameters, new Set(held)));
  }

  /**
   * Takes a model out of service, and the ensembles that need it; unknown names are no error. `withMembers`: also the
   * members of an ensemble that serve just because of it.
   */
  unload(name: string, withMembers = false): Promise<void> {
    return this.#exclusive(this.#graph.relatedTo(name), async () => {
      await this.#apply([], [name, ...(withMembers ? this.#graph.neededOnlyBy(name) : [])]);
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

  /** Runs an operation when all earlier ones on any of these models have ended. */
  #exclusive<T>(names: readonly string[], operation: () => Promise<T>): Promise<T> {
    const before = names.flatMap((name) => this.#operations.get(name) ?? []);
    const result = before.length === 0 ? operation() : Promise.allSettled(before).then(operation);
    for (const name of names) this.#operations.set(name, result);
    const forget = (): void => {
      for (const name of names) if (this.#operations.get(name) === result) this.#operations.delete(name);
    };
    result.then(forget, forget);
    return result;
  }

  async #load(name: string, parameters: LoadParameters, held: ReadonlySet<string>): Promise<void> {
    if (parameters.files !== undefined && parameters.files.size > 0) {
      await this.#loadFiles(name, parameters);
      return;
    }
    const directory = await this.#find(name);
    if (directory === undefined) throw pollFailed(name);
    const entries: Polled[] = [];
    const unchanged = await this.#isUnchanged(name, directory);
    if (!unchanged || parameters.config !== undefined || !this.#isServing(name)) {
      const override = parameters.config ?? (unchanged ? this.#infos.get(name)?.override : undefined);
      const polled = await this.#poll(name, directory, override);
      if (polled === undefined) throw pollFailed(name);
      entries.push(polled);
    }
    const config = entries[0]?.model.config ?? this.#graph.model(name)?.config;
    const complete = config === undefined || (await this.#pollMembers(config, new Set([name]), entries));
    this.#graph.ask(name);
    if (entries.length > 0) {
      const more = entries.flatMap(({ model }) => (held.has(model.name) ? [] : [model.name]));
      const apply = () =>
        this.#apply(
          entries.filter((entry) => entry.asked || !this.#isCurrent(entry)),
          [],
        );
      const errors = await (more.length === 0 ? apply() : this.#exclusive(more, apply));
      const error = errors.get(name);
      if (error !== undefined) throw error;
    }
    if (!complete) throw pollFailed(name);
    if (!this.#isServing(name)) {
      throw new TritonError('INTERNAL', `failed to load '${name}', no version is available`);
    }
  }

  /** Loads a model whose files came with the call. */
  async #loadFiles(name: string, parameters: LoadParameters): Promise<void> {
    let directory: string;
    try {
      directory = await writeFileOverride(parameters);
    } catch (reason) {
      this.#options.log.error(`failed to poll model '${name}': ${TritonError.from(reason).message}`);
      throw pollFailed(name);
    }
    const polled = await this.#poll(name, directory, parameters.config);
    const error =
      polled === undefined ? pollFailed(name) : (await this.#apply([{ ...polled, temporary: true }], [])).get(name);
    if (error === undefined) return;
    await removeFileOverride(directory);
    throw error;
  }

  /**
   * Polls what has changed among the members of an ensemble, also of ensembles in it, into `entries`. Returns false when
   * one could not be polled.
   */
  async #pollMembers(config: ModelConfig, seen: Set<string>, entries: Polled[]): Promise<boolean> {
    let complete = true;
    for (const name of membersOf(config)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const directory = await this.#find(name);
      if (directory === undefined) {
        complete = false;
        continue;
      }
      let member = this.#graph.model(name)?.config;
      if (!(await this.#isUnchanged(name, directory)) || !this.#isServing(name)) {
        const polled = await this.#poll(name, directory, undefined);
        if (polled === undefined) complete = false;
        else entries.push({ ...polled, asked: false });
        member = polled?.model.config;
      }
      if (member !== undefined && !(await this.#pollMembers(member, seen, entries))) complete = false;
    }
    return complete;
  }

  /**
   * Loads what was polled, takes out of service what is gone, and loads or unloads the ensembles that any of it touches.
   * Returns the errors of the models that could not be loaded.
   */
  async #apply(polled: readonly Polled[], gone: readonly string[]): Promise<ReadonlyMap<string, TritonError>> {
    const entries = new Map(polled.map((entry) => [entry.model.name, entry]));
    for (const name of gone) {
      this.#graph.delete(name);
      this.#polled.delete(name);
    }
    for (const [name, entry] of entries) {
      this.#graph.set(entry.model, entry.asked);
      this.#polled.set(name, entry);
    }
    const isEnsemble = ({ model }: Polled): boolean => model.config.platform === ENSEMBLE_PLATFORM;
    const ensembles = this.#graph.membersFirst([
      ...polled.filter(isEnsemble).map(({ model }) => model.name),
      ...this.#graph.usersOf([...gone, ...entries.keys()]),
    ]);
    const errors = new Map<string, TritonError>();
    const refuse = (name: string, fault: TritonError): void => {
      this.#options.log.error(fault.toStatusText());
      this.lifecycle.unload(name);
      errors.set(name, new TritonError('INVALID_ARG', `load failed for model '${name}': ${fault.message}\n`));
    };
    const load = async (entry: Polled): Promise<void> => {
      const { name } = entry.model;
      try {
        await this.#loadPolled(entry);
        this.#graph.loadEnded(name, undefined);
      } catch (reason) {
        const error = TritonError.from(reason);
        errors.set(name, error);
        this.#graph.loadEnded(name, error);
      }
    };
    // What no member can mend is reported before the members are loaded.
    for (const name of ensembles) {
      const fault = this.#graph.checkPlace(name);
      if (fault !== undefined) refuse(name, fault);
    }
    await Promise.all(polled.filter((entry) => !isEnsemble(entry)).map(load));
    for (const name of ensembles) {
      if (errors.has(name)) continue;
      const fault = this.#graph.check(name);
      if (fault === undefined) await load(this.#polled.get(name)!);
      else refuse(name, fault);
    }
    for (const name of gone) {
      this.lifecycle.unload(name);
      const info = this.#infos.get(name);
      this.#infos.delete(name);
      if (info?.temporary) void this.lifecycle.settled().then(() => removeFileOverride(info.directory));
    }
    return errors;
  }

  async #isUnchanged(name: string, directory: string): Promise<boolean> {
    const info = this.#infos.get(name);
    if (info === undefined || info.directory !== directory) return false;
    return !isModified(info.times, await modificationTimes(directory, this.#options.log));
  }

  /** True when the model serves from files that are as old as the polled ones. */
  #isCurrent({ model, times }: Polled): boolean {
    const info = this.#infos.get(model.name);
    return info?.directory === model.directory && this.#isServing(model.name) && !isModified(info.times, times);
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

  async #poll(name: string, directory: string, override: string | undefined): Promise<Polled | undefined> {
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
    return { model, times, override, temporary: false, asked: true };
  }

  async #loadPolled({ model, times, override, temporary }: Polled): Promise<void> {
    const { name, directory } = model;
    const before = this.#infos.get(name);
    const filesUnchanged =
      before !== undefined &&
      !temporary &&
      before.directory === directory &&
      model.config.platform !== ENSEMBLE_PLATFORM &&
      otherFilesUnchanged(before.times, times);
    await this.lifecycle.load({ ...model, filesUnchanged });
    this.#infos.set(name, { directory, times: temporary ? new Map() : times, override, temporary });
    if (before?.temporary && before.directory !== directory) {
      void this.lifecycle.settled().then(() => removeFileOverride(before.directory));
    }
  }
}

function pollFailed(name: string): TritonError {
  return new TritonError('INTERNAL', `failed to load '${name}', failed to poll from model repository`);
}

/** True when nothing but the configuration's file and the directory's own time changed. */
function otherFilesUnchanged(before: ModificationTimes, after: ModificationTimes): boolean {
  for (const [name, time] of after) {
    if (name !== '' && name !== 'config.pbtxt' && before.has(name) && before.get(name) !== time) return false;
  }
  return true;
}
