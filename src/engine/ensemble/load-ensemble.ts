import { nowNs } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { throwFirst } from '../../contract/fault.js';
import { compileModelPlan } from '../../modelconfig/plan/model-plan.js';
import { cacheFaults } from '../../modelconfig/rules/model.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { readLabels } from '../../repository/load/labels.js';
import { initFileFaults } from '../../repository/load/model-file-faults.js';
import { finishConfig } from '../../repository/load/prepare-load.js';
import { behindCache } from '../cache/caching-scheduler.js';
import type { LocalCache } from '../cache/local-cache.js';
import { LoadedModel, nextLoadNumber } from '../models/version/loaded-model.js';
import type { EngineOptions } from '../options/engine-options.js';
import { newSeries } from '../statistics/latencies.js';
import { ModelStatistics } from '../statistics/model-statistics.js';
import type { VersionCounters } from '../statistics/version-counters.js';
import { compileEnsemblePlan } from './ensemble-plan.js';
import { EnsembleScheduler, type FindModel } from './ensemble-scheduler.js';
import { StepLimiter } from './step-limiter.js';

/** An ensemble to be loaded; its place among its members has been checked (`checkEnsembleGraph`). */
export interface EnsembleRequest {
  /** `<repository>/<model>` */
  readonly directory: string;
  readonly version: string;
  readonly config: ModelConfig;
  readonly configProvided: boolean;
  readonly counters: VersionCounters;
}

/** What an ensemble needs of the engine. */
export interface EnsembleContext {
  readonly find: FindModel;
  readonly cache: LocalCache | undefined;
  readonly options: EngineOptions;
}

/** Loads one version of an ensemble. Throws the TritonError that becomes the version's reason. */
export async function loadEnsemble(
  request: EnsembleRequest,
  { find, cache, options }: EnsembleContext,
  log: Log,
): Promise<LoadedModel> {
  const start = nowNs();
  const { directory, version } = request;
  const { config: finished, faults } = finishConfig(request.config, request.configProvided);
  throwFirst(faults);
  throwFirst(await initFileFaults(directory, finished));
  const steps = finished.ensemble_scheduling?.step ?? [];
  // Decoupled is what the members make of it, whatever the configuration says.
  const decoupled = steps.some((step) => find(step.model_name, versionOf(step)).decoupled);
  const config: ModelConfig = { ...finished, model_transaction_policy: { decoupled } };
  throwFirst(cacheFaults(config));
  const labels = new Map(await readLabels(directory, config));
  for (const step of steps) {
    const member = find(step.model_name, versionOf(step));
    for (const [output, tensor] of step.output_map) {
      const lent = member.labels(output);
      if (lent === undefined || (labels.get(tensor)?.[0] ?? '') !== '') continue;
      if (config.output.some(({ name }) => name === tensor)) labels.set(tensor, lent);
    }
  }
  const plan = compileModelPlan(config, version);
  const ensemble = compileEnsemblePlan(config);
  const { counters } = request;
  const series = counters.acquire(config, () => newSeries(options.latencies, config, log));
  const statistics = new ModelStatistics(counters.failures, series);
  const runner = new EnsembleScheduler(
    ensemble,
    plan.outputNames,
    decoupled,
    statistics,
    find,
    stepLimiters(config, log),
  );
  const loadNumber = nextLoadNumber();
  const scheduler = behindCache(runner, config, cache, { load: loadNumber, statistics, log });
  series.loadSeconds = (nowNs() - start) / 1e9;
  return new LoadedModel({
    config,
    polledConfig: request.config,
    plan,
    labels,
    statistics,
    backendModel: NO_BACKEND,
    instances: [],
    scheduler,
    log,
    loadNumber,
    cache,
    requestMemory: options.requestMemory,
    unloadTimeoutMs: 0,
  });
}

/** One limiter per step, where the configuration limits them. */
function stepLimiters({ name, ensemble_scheduling }: ModelConfig, log: Log): StepLimiter[] | undefined {
  const limit = ensemble_scheduling?.max_inflight_requests ?? 0;
  if (limit === 0) return undefined;
  log.info(`Ensemble model '${name}' configured with max_inflight_requests: ${limit}`);
  return ensemble_scheduling?.step.map((_, index) => {
    const impatient = (inFlight: number): void =>
      log.error(
        `[Internal Error] Ensemble '${name}' unable to schedule step ${index} (inflight: ${inFlight} >= limit: ${limit}) ` +
          'for 300 seconds. Proceeding to avoid deadlock.',
      );
    return new StepLimiter(limit, impatient);
  });
}

const NO_BACKEND = {
  createInstance(): never {
    throw new Error('an ensemble has no instances');
  },
  async unload(): Promise<void> {},
};

function versionOf({ model_version }: { readonly model_version: bigint }): string {
  return model_version === -1n ? '' : String(model_version);
}
