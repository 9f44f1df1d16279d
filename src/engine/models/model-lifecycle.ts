import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { selectVersions } from '../../repository/load/versions.js';
import type { FindMember } from '../ensemble/member.js';
import { requireReady } from './find-ready.js';
import { ModelRecord, UNLOADED } from './model-record.js';
import { Semaphore } from './semaphore.js';
import { cancellable, LoadCancelled } from './version/load-cancelled.js';
import { countInstances, type LoadContext, loadVersion } from './version/load-version.js';
import type { LoadedModel } from './version/loaded-model.js';
import { updatableInPlace, updateInstances } from './version/update-instances.js';

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
  /** Aborted when the load is given up. */
  readonly cancelled?: AbortSignal;
  /** How the steps of an ensemble find their models; absent = by name. */
  readonly find?: FindMember;
}

/** A load on its way. */
export interface RunningLoad {
  /** Gives it up: it rejects soon. */
  cancel(reason: LoadCancelled): void;
  /** Gives it up once it has gone on for so long, in ms. */
  cancelAfter(ms: number, reason: LoadCancelled): void;
}

type CancellableRequest = LoadRequest & { readonly cancelled: AbortSignal };

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
  /** What cancels the loads that are on their way, by id. */
  readonly #loading = new Map<string, Set<RunningLoad>>();
  /** Why nothing is loaded any more. */
  #stopped: LoadCancelled | undefined;
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
    const controller = new AbortController();
    const cancel = (): void => controller.abort(request.cancelled?.reason);
    if (request.cancelled?.aborted) cancel();
    else request.cancelled?.addEventListener('abort', cancel, { once: true });
    const loading = this.#loading.get(request.id) ?? new Set();
    const start = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const running: RunningLoad = {
      cancel: (reason) => controller.abort(reason),
      cancelAfter: (ms, reason) => {
        timer ??= setTimeout(() => controller.abort(reason), Math.max(0, start + ms - performance.now()));
      },
    };
    this.#loading.set(request.id, loading.add(running));
    if (this.#stopped !== undefined) controller.abort(this.#stopped);
    try {
      await this.#loadVersions({ ...request, cancelled: controller.signal });
    } finally {
      request.cancelled?.removeEventListener('abort', cancel);
      clearTimeout(timer);
      loading.delete(running);
      if (loading.size === 0) this.#loading.delete(request.id);
    }
  }

  /** The loads of a model that are on their way, or wait for a free thread. */
  loadsOf(id: string): readonly RunningLoad[] {
    return [...(this.#loading.get(id) ?? [])];
  }

  /** Gives up every load that is on its way or comes later; they reject soon. */
  stopLoads(reason: LoadCancelled): void {
    this.#stopped ??= reason;
    for (const loads of this.#loading.values()) for (const load of loads) load.cancel(reason);
  }

  /** Ids of the models that are being loaded. */
  get loading(): readonly string[] {
    return [...this.#loading.keys()];
  }

  async #loadVersions(request: CancellableRequest): Promise<void> {
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
      await updateInstances(this.#context, model, directory, config, request.cancelled);
    } catch (reason) {
      state.set('READY', TritonError.from(reason).toStatusText());
      return `version ${version} is at READY state: ${state.reason};`;
    }
    state.set('READY');
    return undefined;
  }

  async #attempt(record: ModelRecord, request: CancellableRequest, version: string): Promise<Attempt> {
    const { cancelled } = request;
    const { log, modelLoadRetries } = this.#context.options;
    const state = record.version(version);
    if (state.state !== 'READY') state.set('LOADING');
    log.info(`loading: ${request.id}:${version}`);
    const failed = (error: TritonError): Attempt => {
      const reason = error instanceof LoadCancelled && error.unloaded ? UNLOADED : error.toStatusText();
      if (state.state !== 'READY') state.set('UNAVAILABLE', reason);
      return { version, model: undefined, error };
    };
    const attempts = async (): Promise<Attempt> => {
      for (let retries = modelLoadRetries ?? 0; ; retries--) {
        try {
          return { version, model: await this.#cancellable(request, version, record), error: undefined };
        } catch (reason) {
          const error = TritonError.from(cancelled.aborted ? cancelled.reason : reason);
          log.error(`failed to load '${request.id}' version ${version}: ${error.toStatusText()}`);
          if (retries > 0 && !cancelled.aborted) continue;
          return failed(error);
        }
      }
    };
    try {
      return await this.#semaphore.run(attempts, cancelled);
    } catch (reason) {
      return failed(TritonError.from(reason));
    }
  }

  /** Loads a version; when that is cancelled and does not end soon, what comes of it in the end is ended at once. */
  async #cancellable(request: CancellableRequest, version: string, record: ModelRecord): Promise<LoadedModel> {
    const { cancelled } = request;
    cancelled.throwIfAborted();
    return await cancellable(this.#load(request, version, record), cancelled, (model) =>
      this.#close(record, model, () => {}),
    );
  }

  async #load(request: CancellableRequest, version: string, record: ModelRecord): Promise<LoadedModel> {
    const { threads } = this.#context;
    const instances = await countInstances(this.#context, request.config);
    // Instances of models loaded at start are reserved before the first load, so that all get the same share.
    if (!this.#reserved.delete(`${request.id}:${version}`)) threads.reserve(instances);
    try {
      const { directory, config, configProvided, find, cancelled } = request;
      const { counters } = record.version(version);
      const model = await loadVersion(find === undefined ? this.#context : { ...this.#context, find }, {
        directory,
        version,
        config,
        configProvided,
        counters,
        cancelled,
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
