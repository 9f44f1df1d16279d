/** What loading an ensemble does otherwise than loading a model of a backend: the loader is the same. */
import type { LoadedBackend } from '../../backends/registry.js';
import type { Log } from '../../base/log.js';
import type { Backend, BackendModel } from '../../contract/backend.js';
import { throwFirst } from '../../contract/fault.js';
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { cacheFaults } from '../../modelconfig/rules/model.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import { compileEnsemblePlan } from './ensemble-plan.js';
import { EnsembleScheduler } from './ensemble-scheduler.js';
import type { FindMember } from './member.js';
import { StepLimiter } from './step-limiter.js';

const NO_FILES: BackendModel = {
  createInstance(): never {
    throw new Error('an ensemble has no instances');
  },
  async unload(): Promise<void> {},
};

const backend: Backend = { load: async () => NO_FILES };

/** The built-in backend of ensembles: it has neither files nor instances, the models of the steps do the work. */
export const ENSEMBLE_BACKEND: LoadedBackend = {
  backend,
  traits: { name: 'ensemble', formats: [], codeFile: '', optionalInputs: true, load: async () => backend },
};

/**
 * An ensemble's configuration as its members make it: an ensemble is decoupled when one of them is, whatever the
 * configuration says. Throws the TritonError of a member that does not serve, and of a response cache that a decoupled
 * model cannot have.
 */
export function completeEnsemble(config: ModelConfig, find: FindMember): ModelConfig {
  const steps = config.ensemble_scheduling?.step ?? [];
  const decoupled = steps.some((step) => find(step.model_name, versionOf(step)).decoupled);
  const completed = { ...config, model_transaction_policy: { decoupled } };
  throwFirst(cacheFaults(completed));
  return completed;
}

/** The labels of an ensemble's outputs: `own`, and for outputs without labels those of the members that make them. */
export function ensembleLabels(
  config: ModelConfig,
  own: ReadonlyMap<string, readonly string[]>,
  find: FindMember,
): ReadonlyMap<string, readonly string[]> {
  const labels = new Map(own);
  for (const step of config.ensemble_scheduling?.step ?? []) {
    const member = find(step.model_name, versionOf(step));
    for (const [output, tensor] of step.output_map) {
      const lent = member.labels(output);
      if (lent === undefined || (labels.get(tensor)?.[0] ?? '') !== '') continue;
      if (config.output.some(({ name }) => name === tensor)) labels.set(tensor, lent);
    }
  }
  return labels;
}

/** What the scheduler of an ensemble works with. */
export interface EnsembleParts {
  /** Completed by `completeEnsemble`. */
  readonly config: ModelConfig;
  readonly plan: ModelPlan;
  readonly statistics: ModelStatistics;
  readonly log: Log;
}

/** The scheduler of an ensemble. */
export function createEnsembleScheduler(parts: EnsembleParts, find: FindMember): EnsembleScheduler {
  const { config, plan, statistics, log } = parts;
  return new EnsembleScheduler({
    plan: compileEnsemblePlan(config),
    allNames: plan.outputNames,
    decoupled: plan.decoupled,
    statistics,
    find,
    limiters: stepLimiters(config, log),
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

function versionOf({ model_version }: { readonly model_version: bigint }): string {
  return model_version === -1n ? '' : String(model_version);
}
