import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { selectVersions } from '../../repository/versions.js';
import type { FindModel } from '../ensemble/ensemble-scheduler.js';
import type { LoadedModel } from '../loaded-model.js';
import { requireReady } from './find-ready.js';
import { countInstances, type LoadContext, loadVersion } from './load-version.js';
import { ModelRecord, UNLOADED } from './model-record.js';
import { Semaphore } from './semaphore.js';
import { updatableInPlace, updateInstances } from './update-instances.js';

/** Loads at the same time when the options do not say. */
const DEFAULT_LOAD_THREADS = 4;

/** What loads need that the lifecycle does not know itself. */
export type EngineContext = Omit<LoadContext, 'find'>;

/** A model that is to be loaded, as polling found it. */
export interface LoadRequest {
  /** What logs call it; differs from the name only with namespaces. */
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly directory: string;
  readonly config: ModelConfig;
  readonly configProvided: boolean;
  /** Whether the files of a version are as they were when it was loaded; absent = they are not. */
  readonly filesUnchanged?: (version: string) => boolean;
  /** How the steps of an ensemble find their models; absent = by name. */
  readonly find?: FindModel;
}

/** What became of loading one version: the model, or why there is none. */
interface Attempt {
  readonly version: string;
  readonly model: LoadedModel | undefined;
  readonly error: TritonError | undefined;
}

/** Loads and unloads versions and keeps their states (spec: model repository, section 8.4). */
export class ModelLifecycle {
  readonly #context: LoadContext;
  readonly #records = new Map<string, ModelRecord>();
  readonly #semaphore: Semaphore;
  /** Versions (`id:version`) whose instances were counted in before their load. */
  readonly #reserved = new Set<string>();
  /** Objects that are being ended. */
  readonly #closing = new Set<Promise<void>>();
  #live = 0;

  constructor(context: EngineContext) {
    this.#context = { ...context, find: (name, version) => requireReady(this.#records.get(name), name, version) };
    this.#semaphore = new Semaphore(context.options.modelLoadThreads ?? DEFAULT_LOAD_THREADS);
  }

  /** Models that were ever loaded or tried, by id. */
  get records(): ReadonlyMap<string, ModelRecord> {
    return this.#records;
  }

  /** Loaded versions that are not completely gone. */
  get liveModels(): number {
    return this.#live;
  }

  /**
   * Loads the versions that the policy selects. Throws INVALID_ARG `load failed for model ...`; the versions that served
   * before then serve on.
   */
  async load(request: LoadRequest): Promise<void> {
    const { log } = this.#context.options;
    const { id } = request;
    const selection = await selectVersions(request.directory, request.config);
    for (const { message } of selection.ignored) log.warning(message);
    for (const { message } of selection.missing) log.error(message);
    const record = this.#record(request);
    if (selection.error !== undefined) {
      log.error(`failed to load model '${id}': ${selection.error.message}`);
      throw new TritonError(selection.error.code, `load failed for model '${id}': ${selection.error.message}\n`);
    }
    const kept = this.#keptVersions(record, request, selection.versions);
    const updates: Promise<string | undefined>[] = [];
    const loads: Promise<Attempt>[] = [];
    for (const version of selection.versions) {
      const model = kept.get(version);
      if (model === undefined) loads.push(this.#attempt(record, request, version));
      else updates.push(this.#update(record, request, model));
    }
    const results = await Promise.all(loads);
    const notUpdated = (await Promise.all(updates)).filter((text) => text !== undefined);
    const failed = results.filter((result) => result.error !== undefined);
    if (failed.length > 0 || notUpdated.length > 0) {
      for (const { version, model } of results) {
        if (model !== undefined) this.#discard(record, version, model);
      }
      log.info(`failed to load '${id}'`);
      record.refresh();
      const texts = failed.map((f) => `version ${f.version} is at UNAVAILABLE state: ${f.error!.toStatusText()};`);
      throw new TritonError('INVALID_ARG', `load failed for model '${id}': ${[...notUpdated, ...texts].join('')}\n`);
    }
    this.#swap(record, results, kept);
    log.info(`successfully loaded '${id}'`);
  }

  /** Takes all versions of a model out of service; they end when their last request is answered. */
  unload(id: string): void {
    const record = this.#records.get(id);
    if (record === undefined) return;
    for (const version of record.versions) {
      if (version.state === 'READY' && version.model !== undefined) this.#retire(record, version.version);
    }
    record.refresh();
  }

  /** Resolves when every object that was taken out of service is gone. */
  async settled(): Promise<void> {
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  #record({ id, name, namespace }: LoadRequest): ModelRecord {
    let record = this.#records.get(id);
    if (record === undefined) {
      record = new ModelRecord(id, name, namespace);
      this.#records.set(id, record);
    }
    return record;
  }

  /** READY versions that need not be loaded again: nothing but the version policy and the instances changed. */
  #keptVersions(
    record: ModelRecord,
    request: LoadRequest,
    versions: readonly string[],
  ): ReadonlyMap<string, LoadedModel> {
    const kept = new Map<string, LoadedModel>();
    for (const model of record.ready) {
      const { version } = model;
      if (!versions.includes(version) || request.filesUnchanged?.(version) !== true) continue;
      if (updatableInPlace(model, request.config)) kept.set(version, model);
    }
    return kept;
  }

  /** Updates a version that serves on; returns what the load's error says of it when that fails. */
  async #update(record: ModelRecord, request: LoadRequest, model: LoadedModel): Promise<string | undefined> {
    const { id, directory, config } = request;
    const { version } = model;
    this.#context.options.log.info(`loading: ${id}:${version}`);
    const state = record.version(version);
    try {
      await updateInstances(this.#context, model, directory, config);
    } catch (reason) {
      state.set('READY', TritonError.from(reason).toStatusText());
      return `version ${version} is at READY state: ${state.reason};`;
    }
    state.set('READY');
    return undefined;
  }

  async #attempt(record: ModelRecord, request: LoadRequest, version: string): Promise<Attempt> {
    const { log, modelLoadRetries } = this.#context.options;
    const state = record.version(version);
    if (state.state !== 'READY') state.set('LOADING');
    log.info(`loading: ${request.id}:${version}`);
    return await this.#semaphore.run(async () => {
      for (let retries = modelLoadRetries ?? 0; ; retries--) {
        try {
          return { version, model: await this.#load(request, version, record), error: undefined };
        } catch (reason) {
          const error = TritonError.from(reason);
          log.error(`failed to load '${request.id}' version ${version}: ${error.toStatusText()}`);
          if (retries > 0) continue;
          if (state.state !== 'READY') state.set('UNAVAILABLE', error.toStatusText());
          return { version, model: undefined, error };
        }
      }
    });
  }

  async #load(request: LoadRequest, version: string, record: ModelRecord): Promise<LoadedModel> {
    const { threads } = this.#context;
    const instances = await countInstances(this.#context, request.config);
    // Instances of models loaded at start are reserved before the first load, so that all get the same share.
    if (!this.#reserved.delete(`${request.id}:${version}`)) threads.reserve(instances);
    try {
      const { directory, config, configProvided, find } = request;
      const { counters } = record.version(version);
      const model = await loadVersion(find === undefined ? this.#context : { ...this.#context, find }, {
        directory,
        version,
        config,
        configProvided,
        counters,
      });
      model.instanceCount = instances;
      this.#live++;
      return model;
    } catch (reason) {
      threads.release(instances);
      throw reason;
    }
  }

  /** Counts the instances of a model in before any of its versions is loaded. */
  async reserve(request: LoadRequest): Promise<void> {
    const { versions } = await selectVersions(request.directory, request.config);
    const instances = await countInstances(this.#context, request.config);
    for (const version of versions) {
      this.#reserved.add(`${request.id}:${version}`);
      this.#context.threads.reserve(instances);
    }
  }

  #swap(
    record: ModelRecord,
    results: readonly { version: string; model: LoadedModel | undefined }[],
    kept: ReadonlyMap<string, LoadedModel>,
  ): void {
    const replaced: LoadedModel[] = [];
    for (const { version, model } of results) {
      const state = record.version(version);
      if (state.model !== undefined) replaced.push(state.model);
      state.model = model;
      state.set('READY');
    }
    const loaded = new Set(results.map(({ version }) => version));
    for (const { version, state, model } of record.versions) {
      if (state === 'READY' && model !== undefined && !loaded.has(version) && !kept.has(version)) {
        this.#retire(record, version);
      }
    }
    record.refresh();
    for (const model of replaced) this.#close(record, model, () => {});
  }

  /** Ends a version that was loaded beside one that failed. */
  #discard(record: ModelRecord, version: string, model: LoadedModel): void {
    const state = record.version(version);
    const serves = state.state === 'READY';
    if (!serves) state.set('UNLOADING');
    this.#close(record, model, () => {
      if (!serves && state.state === 'UNLOADING') state.set('UNAVAILABLE', UNLOADED);
    });
  }

  #retire(record: ModelRecord, version: string): void {
    const state = record.version(version);
    const model = state.model!;
    state.model = undefined;
    state.set('UNLOADING');
    this.#close(record, model, () => {
      if (state.state === 'UNLOADING') state.set('UNAVAILABLE', UNLOADED);
    });
  }

  #close(record: ModelRecord, model: LoadedModel, done: () => void): void {
    const { id } = record;
    const { log } = this.#context.options;
    const closing = model
      .close()
      .catch((reason: unknown) => {
        log.error(`failed to unload '${id}' version ${model.version}: ${TritonError.from(reason).message}`);
      })
      .then(() => {
        this.#live--;
        record.version(model.version).counters.release(model.statistics.series);
        this.#context.threads.release(model.instanceCount);
        log.info(`successfully unloaded '${id}' version ${model.version}`);
        done();
        this.#closing.delete(closing);
      });
    this.#closing.add(closing);
  }
}
