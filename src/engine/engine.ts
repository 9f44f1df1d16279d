import os from 'node:os';
import { BackendRegistry } from '../backends/registry.js';
import { compareBytes } from '../base/compare-bytes.js';
import { invalidArg, TritonError } from '../base/error.js';
import { endNow, exitIsHindered } from '../base/process-end.js';
import type { InferenceEngine, ModelMetrics, ReadyModel } from '../contract/engine.js';
import type { CustomFamily } from '../contract/metrics.js';
import type { IndexEntry, LoadParameters, ModelState, ModelStatistics } from '../protocol/management.js';
import { cacheMetrics } from './cache/cache-metrics.js';
import { createCache } from './cache/create-cache.js';
import type { LocalCache } from './cache/local-cache.js';
import { loadAtStart } from './load-at-start.js';
import { checkModelName, parseVersionArgument } from './model-arguments.js';
import { ModelManager } from './models/model-manager.js';
import { PollLoop } from './models/poll/poll-loop.js';
import { stopEngine } from './models/stop.js';
import { findReady, type ModelRecord, modelMetrics, requireReady, UNLOADED } from './models/table/model-record.js';
import { backendDirectory } from './models/version/backend-settings.js';
import { cancellable } from './models/version/load-cancelled.js';
import type { LoadContext } from './models/version/load-version.js';
import type { LoadedModel } from './models/version/loaded-model.js';
import { ThreadBudget } from './models/version/thread-budget.js';
import type { EngineOptions } from './options/engine-options.js';
import { RateLimiter } from './schedule/rate-limiter.js';
import { type BackendRow, backendRows, type ModelRow, modelRows } from './start-tables.js';
import { CustomMetrics } from './statistics/custom-metrics.js';

const MODE_TEXT = 'explicit model load / unload is not allowed if polling is enabled';

/** The engine: repositories, models and everything that runs them, without any front end. */
export class Engine implements InferenceEngine {
  readonly #options: EngineOptions;
  readonly #registry: BackendRegistry;
  readonly #threads: ThreadBudget;
  readonly #customMetrics = new CustomMetrics();
  #cache: LocalCache | undefined;
  #manager: ModelManager | undefined;
  #state: 'starting' | 'ready' | 'failed' | 'exiting' = 'starting';
  #startError: TritonError | undefined;
  #leaving = false;
  #managing = 0;
  #polling: PollLoop | undefined;

  private constructor(options: EngineOptions) {
    this.#options = options;
    this.#registry = new BackendRegistry(backendDirectory(options), options.catalogue);
    this.#threads = new ThreadBudget(options.threadBudget ?? os.availableParallelism());
  }

  /**
   * Opens the repositories and loads what is to be loaded at start. Never rejects for models: see `startError`. When it is
   * `cancelled` it resolves soon: loads that can be ended have ended, nothing waits for the others.
   */
  static async start(options: EngineOptions, cancelled?: AbortSignal): Promise<Engine> {
    const engine = new Engine(options);
    const cancel = (): void => engine.#manager?.cancelLoads();
    cancelled?.addEventListener('abort', cancel, { once: true });
    try {
      const starting = engine.#start(cancelled);
      await (cancelled === undefined ? starting : cancellable(starting, cancelled, () => {}));
    } catch (reason) {
      if (!cancelled?.aborted) throw reason;
    } finally {
      cancelled?.removeEventListener('abort', cancel);
    }
    return engine;
  }

  /** What went wrong while starting; with --exit-on-error it ends the server (`creating server: <code> - <message>`). */
  get startError(): TritonError | undefined {
    return this.#startError;
  }

  /** False when the repositories could not be opened: nothing can be served then, only the options are shown. */
  get hasRepository(): boolean {
    return this.#manager !== undefined;
  }

  /** Cores, and how many instances share them. */
  get threads(): { readonly cores: number; readonly instances: number; readonly share: number } {
    return this.#threads;
  }

  /** Rows of the models' table. */
  modelRows(): ModelRow[] {
    return modelRows(this.#records());
  }

  /** Rows of the backends' table. */
  backendRows(): BackendRow[] {
    return backendRows(this.#registry, this.#options);
  }

  /** State and reason of a version, for tests and tables; undefined when it is not known. */
  versionState(name: string, version: string): { readonly state: ModelState; readonly reason: string } | undefined {
    return this.#manager?.record(name)?.find(version);
  }

  isLive(): boolean {
    if (this.#state === 'exiting' || this.#leaving) throw new TritonError('UNAVAILABLE', 'Server exiting');
    return this.#state === 'ready';
  }

  isReady(): boolean | Promise<boolean> {
    if (!this.isLive()) return false;
    if (!this.#options.strictReadiness) return true;
    const asked: Promise<boolean>[] = [];
    for (const { versions } of this.#records()) {
      if (versions.length === 0) return false;
      for (const { state, reason, model } of versions) {
        if (state === 'UNAVAILABLE' && reason === UNLOADED) continue;
        const ready = state === 'READY' && model !== undefined && model.checkReady();
        if (ready === false) return false;
        if (ready !== true) asked.push(ready);
      }
    }
    return asked.length === 0 ? true : Promise.all(asked).then((answers) => answers.every(Boolean));
  }

  isModelReady(name: string, version: string): boolean | Promise<boolean> {
    const wanted = parseVersionArgument(version);
    const manager = this.#readyManager();
    // With namespaces a name may be ambiguous: then it is not ready either.
    if (manager.readyVersions(name).length === 0 || !manager.isUnambiguous(name)) return false;
    return findReady(manager.record(name), wanted)?.checkReady() ?? false;
  }

  model(name: string, version: string): ReadyModel {
    // Also while stopping: sequences that have begun go on, their schedulers refuse everything else.
    const manager = this.#state === 'exiting' ? this.#manager : this.#readyManager();
    if (manager === undefined) throw new TritonError('UNAVAILABLE', 'Server not ready');
    return requireReady(manager.record(name), name, parseVersionArgument(version));
  }

  readyVersions(name: string): readonly string[] {
    return this.#manager?.readyVersions(name) ?? [];
  }

  readyModels(): readonly ReadyModel[] {
    return this.#loaded();
  }

  metrics(): readonly ModelMetrics[] {
    return this.#records().flatMap(modelMetrics);
  }

  customMetrics(): readonly CustomFamily[] {
    const own = this.#cache === undefined ? [] : cacheMetrics(this.#cache);
    return [...own, ...this.#customMetrics.families()];
  }

  statistics(name: string, version: string): readonly ModelStatistics[] {
    const manager = this.#readyManager();
    const wanted = parseVersionArgument(version);
    const models = name === '' ? this.#allCounted() : manager.counted(name, wanted);
    return models.map((model) => model.statistics.snapshot(model.name, model.version));
  }

  async index(onlyReady: boolean): Promise<readonly IndexEntry[]> {
    return await this.#readyManager().index(onlyReady);
  }

  async load(name: string, parameters: LoadParameters): Promise<void> {
    const manager = this.#controlledManager();
    checkModelName(name);
    await this.#managed(() => manager.load([name], parameters));
  }

  async unload(name: string, unloadDependents: boolean): Promise<void> {
    const manager = this.#controlledManager();
    await this.#managed(() => manager.unload(name, unloadDependents));
    const left = this.readyVersions(name);
    if (left.length > 0) {
      throw new TritonError(
        'INTERNAL',
        `failed to unload '${name}', versions that are still available: ${left.join()}`,
      );
    }
  }

  /** Begins to follow the repositories, in mode poll. To be called once the server listens; `stop` ends it. */
  beginPolling(): void {
    const { modelControlMode, repositoryPollSeconds = 0 } = this.#options;
    const manager = this.#manager;
    if (modelControlMode !== 'poll' || repositoryPollSeconds <= 0 || manager === undefined) return;
    this.#polling = new PollLoop(
      () => this.#managed(() => manager.poll()),
      repositoryPollSeconds,
      () => manager.cancelOutdatedLoads(),
    );
    this.#polling.start();
  }

  /**
   * The first step of a stop: the server is live and ready no more, new sequences are refused, everything else goes on.
   */
  leave(): void {
    this.#leaving = true;
    this.#polling?.stop();
    for (const { config, scheduler } of this.#loaded()) if (config.sequence_batching !== undefined) scheduler.stop();
  }

  /** Requests that are accepted and have not had their last response. */
  get inFlight(): number {
    return this.#loaded().reduce((sum, { outstanding }) => sum + outstanding, 0);
  }

  /** Sequences that have begun and not ended. */
  get liveSequences(): number {
    let count = 0;
    for (const { config, scheduler } of this.#loaded()) {
      if (config.sequence_batching !== undefined) count += scheduler.inFlight;
    }
    return count;
  }

  /**
   * Stops: nothing is accepted any more, what is on its way gets its responses, models are unloaded. Rejects with INTERNAL
   * `Exit timeout expired. Exiting immediately.` when that takes longer than the grace time; then `exitNow` is the way.
   */
  async stop(graceMs: number): Promise<void> {
    this.#state = 'exiting';
    this.#polling?.stop();
    await stopEngine({
      graceMs,
      log: this.#options.log,
      models: () => this.#loaded(),
      manager: this.#manager,
      managementCalls: () => this.#managing,
    });
  }

  /**
   * Ends the process without waiting. While a model runs in a thread of native code an ordinary exit would abort the
   * process (and leave a core file): it is then killed by a signal, after saying so.
   */
  exitNow(code: number): never {
    if (exitIsHindered()) {
      this.#options.log.error('a model is still running and cannot be interrupted: the process ends itself by SIGKILL');
    }
    endNow(code);
  }

  async #start(cancelled?: AbortSignal): Promise<void> {
    const { rateLimit, log } = this.#options;
    let manager: ModelManager;
    try {
      this.#cache = createCache(this.#options.cacheConfig ?? [], this.#options.cacheDirectory);
      const context: LoadContext = {
        options: this.#options,
        registry: this.#registry,
        threads: this.#threads,
        limiter: rateLimit === undefined ? undefined : new RateLimiter(rateLimit.resources, log),
        host: { engine: this, metrics: this.#customMetrics },
        cache: this.#cache,
      };
      manager = await ModelManager.create(context);
    } catch (reason) {
      this.#startError = TritonError.from(reason);
      this.#state = 'failed';
      return;
    }
    this.#manager = manager;
    if (cancelled?.aborted) manager.cancelLoads();
    this.#startError = await loadAtStart(manager, this.#options);
    // A start that was cancelled may end after the stop has begun.
    if (this.#state === 'starting') this.#state = 'ready';
  }

  #records(): readonly ModelRecord[] {
    const records = [...(this.#manager?.records() ?? [])];
    return records.sort((a, b) => compareBytes(a.id, b.id));
  }

  /** The models of a statistics call for all of them. */
  #allCounted(): readonly LoadedModel[] {
    // Triton looks every model up again by what it is called, which with namespaces is not a name.
    const [first] = this.#options.modelNamespacing === true ? this.#records() : [];
    if (first !== undefined) throw invalidArg(`Request for unknown model: '${first.id}' is not found`);
    return this.#loaded();
  }

  #loaded(): LoadedModel[] {
    return this.#records().flatMap((record) => record.ready);
  }

  #readyManager(): ModelManager {
    if (this.#state !== 'ready' || this.#manager === undefined)
      throw new TritonError('UNAVAILABLE', 'Server not ready');
    return this.#manager;
  }

  #controlledManager(): ModelManager {
    const manager = this.#readyManager();
    if (this.#leaving) throw new TritonError('UNAVAILABLE', 'Server not ready');
    if (this.#options.modelControlMode !== 'explicit') throw new TritonError('UNAVAILABLE', MODE_TEXT);
    return manager;
  }

  async #managed(operation: () => Promise<void>): Promise<void> {
    this.#managing++;
    try {
      await operation();
    } finally {
      this.#managing--;
    }
  }
}
