/** The second stage of a model's way into the server, after its configuration was polled: loading one version. */

import type { BackendRegistry } from '../../../backends/registry.js';
import { nowNs } from '../../../base/clock.js';
import type { Backend, BackendHost, BackendOptions, ModelLocation } from '../../../contract/backend.js';
import type { BackendTraits } from '../../../contract/backend-traits.js';
import { throwFirst } from '../../../contract/fault.js';
import {
  ENSEMBLE_PLATFORM,
  instanceCount,
  MAX_INSTANCES,
  normalizeInstanceGroups,
} from '../../../modelconfig/complete/normalize.js';
import { compileModelPlan, type ModelPlan } from '../../../modelconfig/plan/model-plan.js';
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
import {
  completeEnsemble,
  createEnsembleScheduler,
  ENSEMBLE_BACKEND,
  ensembleLabels,
} from '../../ensemble/ensemble-backend.js';
import type { FindMember } from '../../ensemble/member.js';
import { type EngineOptions, unloadTimeoutMs } from '../../options/engine-options.js';
import type { RateLimiter } from '../../schedule/rate-limiter.js';
import type { Scheduler } from '../../schedule/scheduler.js';
import { newSeries } from '../../statistics/latencies.js';
import { ModelStatistics } from '../../statistics/model-statistics.js';
import type { VersionCounters } from '../../statistics/version-counters.js';
import { backendDirectory, backendSettings, defaultSettingText } from './backend-settings.js';
import { completeByBackend } from './complete-by-backend.js';
import { createScheduler, type SchedulerParts } from './create-scheduler.js';
import { LoadedModel, nextLoadNumber } from './loaded-model.js';
import {
  activeRunners,
  discardInstances,
  type ModelInstance,
  makeInstances,
  planInstances,
} from './model-instances.js';
import type { ThreadBudget } from './thread-budget.js';
import { warmUp } from './warm-up.js';

/** What a load needs of the engine. */
export interface LoadContext {
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
  /** How the steps of an ensemble find their models. */
  readonly find: FindMember;
  /** Counters of the version, which outlive a load. */
  readonly counters: VersionCounters;
  /** Aborted when the load is given up. */
  readonly cancelled?: AbortSignal;
}

/** Loads one version. Throws the TritonError that becomes the version's reason; nothing stays behind then. */
export async function loadVersion(context: LoadContext, request: VersionRequest): Promise<LoadedModel> {
  const start = nowNs();
  const { options, limiter, cache } = context;
  const { log } = options;
  const { counters, cancelled } = request;
  const { backend, location, backendOptions, config, plan, labels } = await prepareVersion(context, request);
  const { decoupled } = plan;
  const planned = planInstances(config, context.threads.share);
  const backendModel = await backend.load(location, config, backendOptions);
  const series = counters.acquire(config, () => newSeries(options.latencies, config, log));
  const statistics = new ModelStatistics(counters.failures, series);
  let instances: readonly ModelInstance[] = [];
  try {
    instances = await makeInstances({ backendModel, statistics, decoupled, limiter, log, cancelled }, planned);
    await warmUp(instances, { config, plan, statistics, modelDirectory: request.directory, log }, cancelled);
    cancelled?.throwIfAborted();
    const own = await schedulerFor(context, request, { config, plan, runners: activeRunners(instances), statistics });
    const loadNumber = nextLoadNumber();
    const scheduler = behindCache(own, config, cache, { load: loadNumber, statistics, log });
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
      cache,
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

/** A version whose configuration is complete and without faults. */
interface PreparedVersion {
  readonly backend: Backend;
  readonly location: ModelLocation;
  readonly backendOptions: BackendOptions;
  readonly config: ModelConfig;
  readonly plan: ModelPlan;
  readonly labels: ReadonlyMap<string, readonly string[]>;
}

/** Finds the backend, and completes and checks the configuration. */
async function prepareVersion(context: LoadContext, request: VersionRequest): Promise<PreparedVersion> {
  const { options } = context;
  const { directory, version, find } = request;
  const location: ModelLocation = {
    modelDirectory: directory,
    versionDirectory: joinPath(directory, version),
    name: request.config.name,
    version,
  };
  const { backend, traits } = isEnsemble(request.config)
    ? ENSEMBLE_BACKEND
    : await findBackend(context, request.config, location);
  const backends = context.registry.catalogue;
  const backendOptions = optionsFor(context, traits, request.cancelled);
  if (!isEnsemble(request.config)) options.log.verbose(1, defaultSettingText(backendOptions.config));
  let config = passed(prepareInstances(request.config, { gpus: traits.gpus?.() ?? [], backends }));
  const completes = options.autoComplete && backend.autoComplete !== undefined;
  const { modelCompletionSeconds } = options;
  if (completes) {
    config = await completeByBackend(backend, location, config, { ...backendOptions, modelCompletionSeconds });
  }
  config = passed(finishConfig(config, request.configProvided || completes, backends));
  throwFirst(await initFileFaults(directory, config));
  throwFirst(optionalInputFaults(config, traits.optionalInputs ?? false));
  if (isEnsemble(config)) config = completeEnsemble(config, find);
  const plan = compileModelPlan(config, version);
  const ownLabels = await readLabels(directory, config);
  const labels = isEnsemble(config) ? ensembleLabels(config, ownLabels, find) : ownLabels;
  return { backend, location, backendOptions, config, plan, labels };
}

function isEnsemble({ platform }: ModelConfig): boolean {
  return platform === ENSEMBLE_PLATFORM;
}

function optionsFor(context: LoadContext, traits: BackendTraits, cancelled: AbortSignal | undefined): BackendOptions {
  const { options, threads, host } = context;
  const config = new Map([
    ...(traits.settingsOf === undefined ? [] : backendSettings(options, traits.settingsOf)),
    ...backendSettings(options, traits.name),
  ]);
  return {
    config,
    autoComplete: options.autoComplete,
    threadBudget: threads.cores,
    log: options.log,
    host,
    ...(cancelled === undefined ? {} : { cancelled }),
  };
}

/** The scheduler that a configuration asks for. */
async function schedulerFor(
  { options }: LoadContext,
  { directory, find }: VersionRequest,
  parts: Pick<SchedulerParts, 'config' | 'plan' | 'runners' | 'statistics'>,
): Promise<Scheduler> {
  const { log } = options;
  if (isEnsemble(parts.config)) return createEnsembleScheduler({ ...parts, log }, find);
  const initialStates = await readInitialStates(directory, parts.config);
  return createScheduler({ ...parts, initialStates, log });
}

/** Number of instances that a polled configuration will get, for the division of the cores. */
export async function countInstances(context: LoadContext, config: ModelConfig): Promise<number> {
  try {
    const { registry } = context;
    const { traits } = await registry.find(config.backend);
    const host = { gpus: traits.gpus?.() ?? [], backends: registry.catalogue };
    const count = instanceCount(normalizeInstanceGroups(config, host));
    // More are refused by the load.
    return count > MAX_INSTANCES ? 0 : count;
  } catch {
    return 0; // the load itself reports the backend
  }
}

async function findBackend(context: LoadContext, config: ModelConfig, location: ModelLocation) {
  const { registry, options } = context;
  if (config.runtime !== '') {
    const host = {
      backends: registry.catalogue,
      hasBackend: (name: string) => registry.traits(name) !== undefined,
      backendDirectory: backendDirectory(options),
    };
    throwFirst(await backendLibraryFaults(config, location.modelDirectory, location.version, host));
  }
  try {
    return await registry.find(config.backend);
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
