/** The second stage of a model's way into the server: loading one version (spec: model repository, section 4.1 C). */

import type { BackendRegistry } from '../../../backends/registry.js';
import { nowNs } from '../../../base/clock.js';
import type { Backend, BackendHost, BackendOptions, ModelLocation } from '../../../contract/backend.js';
import { throwFirst } from '../../../contract/fault.js';
import {
  ENSEMBLE_PLATFORM,
  instanceCount,
  MAX_INSTANCES,
  normalizeInstanceGroups,
} from '../../../modelconfig/complete/normalize.js';
import { compileModelPlan } from '../../../modelconfig/plan/model-plan.js';
import { TritonError } from '../../../protocol/error.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { joinPath } from '../../../repository/files/local.js';
import { readInitialStates } from '../../../repository/load/initial-states.js';
import { readLabels } from '../../../repository/load/labels.js';
import { initFileFaults } from '../../../repository/load/model-file-faults.js';
import {
  backendLibraryFaults,
  type CheckedConfig,
  finishConfig,
  optionalInputFaults,
  prepareInstances,
} from '../../../repository/load/prepare-load.js';
import { behindCache } from '../../cache/caching-scheduler.js';
import type { LocalCache } from '../../cache/local-cache.js';
import type { FindModel } from '../../ensemble/ensemble-scheduler.js';
import { loadEnsemble } from '../../ensemble/load-ensemble.js';
import { type EngineOptions, unloadTimeoutMs } from '../../options/engine-options.js';
import type { RateLimiter } from '../../schedule/rate-limiter.js';
import { newSeries } from '../../statistics/latencies.js';
import { ModelStatistics } from '../../statistics/model-statistics.js';
import type { VersionCounters } from '../../statistics/version-counters.js';
import { backendDirectory, backendSettings } from './backend-settings.js';
import { createScheduler } from './create-scheduler.js';
import { cancellable } from './load-cancelled.js';
import { LoadedModel, nextLoadNumber } from './loaded-model.js';
import {
  activeRunners,
  discardInstances,
  killWhenCancelled,
  type ModelInstance,
  makeInstances,
  planInstances,
} from './model-instances.js';
import type { ThreadBudget } from './thread-budget.js';
import { warmUp } from './warm-up.js';

/** How long the completion of a configuration may take when the options do not say, in seconds. */
const DEFAULT_COMPLETION_SECONDS = 120;

/** What a load needs of the engine. */
export interface LoadContext {
  /** The READY version that a step of an ensemble means; throws the errors of a request for it. */
  readonly find: FindModel;
  readonly options: EngineOptions;
  readonly registry: BackendRegistry;
  readonly threads: ThreadBudget;
  /** Absent when the rate limiter is off. */
  readonly limiter: RateLimiter | undefined;
  readonly host: BackendHost;
  /** The response cache of all models, where the server has one. */
  readonly cache: LocalCache | undefined;
}

/** What is to be loaded. */
export interface VersionRequest {
  /** `<repository>/<model>` */
  readonly directory: string;
  readonly version: string;
  /** As polled: backend fields completed, defaults filled in. */
  readonly config: ModelConfig;
  readonly configProvided: boolean;
  /** Counters of the version, which outlive a load. */
  readonly counters: VersionCounters;
  /** Aborted when the load is given up. */
  readonly cancelled?: AbortSignal;
}

/** Loads one version. Throws the TritonError that becomes the version's reason; nothing stays behind then. */
export async function loadVersion(context: LoadContext, request: VersionRequest): Promise<LoadedModel> {
  const start = nowNs();
  const { options } = context;
  const { log } = options;
  if (request.config.platform === ENSEMBLE_PLATFORM) return await loadEnsemble(request, context, log);
  const location: ModelLocation = {
    modelDirectory: request.directory,
    versionDirectory: joinPath(request.directory, request.version),
    name: request.config.name,
    version: request.version,
  };
  const backend = await findBackend(context, request.config, location);
  const backendOptions: BackendOptions = {
    config: new Map([
      ...(backend.settingsOf === undefined ? [] : backendSettings(options, backend.settingsOf)),
      ...backendSettings(options, backend.name),
    ]),
    autoComplete: options.autoComplete,
    threadBudget: context.threads.cores,
    log,
    host: context.host,
    ...(request.cancelled === undefined ? {} : { cancelled: request.cancelled }),
  };
  const host = { gpus: backend.gpus?.() ?? [] };
  let config = passed(prepareInstances(request.config, host));
  const completes = options.autoComplete && backend.autoComplete !== undefined;
  if (options.autoComplete && backend.autoComplete !== undefined) {
    const autoComplete = backend.autoComplete.bind(backend);
    config = mergeCompleted(config, await complete(autoComplete, location, config, backendOptions, options));
  }
  config = passed(finishConfig(config, request.configProvided || completes));
  throwFirst(await initFileFaults(request.directory, config));
  throwFirst(optionalInputFaults(config, backend.supportsOptionalInputs ?? false));
  const plan = compileModelPlan(config, request.version);
  const labels = await readLabels(request.directory, config);

  const planned = planInstances(config, context.threads.share);
  const backendModel = await backend.load(location, config, backendOptions);
  const { counters } = request;
  const series = counters.acquire(config, () => newSeries(options.latencies, config, log));
  const statistics = new ModelStatistics(counters.failures, series);
  const { limiter } = context;
  let instances: readonly ModelInstance[] = [];
  try {
    const { cancelled } = request;
    const { decoupled } = plan;
    instances = await makeInstances({ backendModel, statistics, decoupled, limiter, log, cancelled }, planned);
    const runners = activeRunners(instances);
    const warm = killWhenCancelled(instances, cancelled);
    await warmUp({ config, plan, runners, statistics, modelDirectory: request.directory, log }).finally(warm);
    cancelled?.throwIfAborted();
    const initialStates = await readInitialStates(request.directory, config);
    const batcher = createScheduler({ config, plan, runners, statistics, initialStates, log });
    const loadNumber = nextLoadNumber();
    const scheduler = behindCache(batcher, config, context.cache, { load: loadNumber, statistics, log });
    series.loadSeconds = (nowNs() - start) / 1e9;
    return new LoadedModel({
      config,
      polledConfig: request.config,
      plan,
      labels,
      statistics,
      backendModel,
      instances,
      scheduler,
      log,
      loadNumber,
      cache: context.cache,
      requestMemory: options.requestMemory,
      unloadTimeoutMs: unloadTimeoutMs(options),
    });
  } catch (reason) {
    counters.release(series);
    await discardInstances(instances, log);
    await backendModel.unload();
    throw reason;
  }
}

/** Has the backend complete a configuration, within the time that this may take. */
async function complete(
  autoComplete: NonNullable<Backend['autoComplete']>,
  location: ModelLocation,
  config: ModelConfig,
  backendOptions: BackendOptions,
  options: EngineOptions,
): Promise<ModelConfig> {
  const seconds = options.modelCompletionSeconds ?? DEFAULT_COMPLETION_SECONDS;
  const late = new AbortController();
  const text =
    `the configuration of model '${config.name}' was not completed within ${seconds} s: complete it in config.pbtxt, or ` +
    'allow more time with --model-completion-timeout';
  const end = (): void => late.abort(new TritonError('UNAVAILABLE', text));
  const timer = seconds === 0 ? undefined : setTimeout(end, seconds * 1000);
  const { cancelled: load } = backendOptions;
  const cancelled = load === undefined ? late.signal : AbortSignal.any([load, late.signal]);
  try {
    return await cancellable(autoComplete(location, config, { ...backendOptions, cancelled }), cancelled, () => {});
  } finally {
    clearTimeout(timer);
  }
}

/** Number of instances that a polled configuration will get, for the division of the cores. */
export async function countInstances(context: LoadContext, config: ModelConfig): Promise<number> {
  try {
    const { backend } = await context.registry.find(config.backend);
    const count = instanceCount(normalizeInstanceGroups(config, { gpus: backend.gpus?.() ?? [] }));
    // More are refused by the load.
    return count > MAX_INSTANCES ? 0 : count;
  } catch {
    return 0; // the load itself reports the backend
  }
}

async function findBackend(context: LoadContext, config: ModelConfig, location: ModelLocation) {
  const { registry, options } = context;
  if (config.runtime !== '') {
    const host = { hasBackend: (name: string) => registry.has(name), backendDirectory: backendDirectory(options) };
    throwFirst(await backendLibraryFaults(config, location.modelDirectory, location.version, host));
  }
  try {
    return (await registry.find(config.backend)).backend;
  } catch (reason) {
    const hint = registry.hint(config.backend);
    if (hint !== undefined) options.log.warning(`model '${config.name}' cannot run here: ${hint}`);
    throw reason;
  }
}

/** The configuration, unless there are faults: then the first is thrown. */
function passed({ config, faults }: CheckedConfig): ModelConfig {
  throwFirst(faults);
  return config;
}

/** What a backend may change when it completes a configuration (spec: model repository, section 6.1). */
function mergeCompleted(config: ModelConfig, completed: ModelConfig): ModelConfig {
  const merged = { ...config };
  merged.max_batch_size = completed.max_batch_size;
  merged.input = completed.input;
  merged.output = completed.output;
  const scheduled = config.dynamic_batching ?? config.sequence_batching ?? config.ensemble_scheduling;
  if (scheduled === undefined) {
    merged.dynamic_batching = completed.dynamic_batching;
    merged.sequence_batching = completed.sequence_batching;
  }
  if (completed.model_transaction_policy !== undefined) {
    merged.model_transaction_policy = completed.model_transaction_policy;
  }
  return merged;
}
