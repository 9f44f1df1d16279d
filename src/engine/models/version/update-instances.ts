import { throwFirst } from '../../../contract/fault.js';
import { configToJson } from '../../../modelconfig/json/config-json.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { prepareInstances } from '../../../repository/load/prepare-load.js';
import type { LoadContext } from './load-version.js';
import type { LoadedModel } from './loaded-model.js';
import { discardInstances, type ModelInstance, makeInstances, planInstances } from './model-instances.js';
import { warmUp } from './warm-up.js';

/** An update of the instances. */
export interface InstanceUpdate {
  /** Directory of this machine that holds the model's files. */
  readonly directory: string;
  /** The new configuration, as polled. */
  readonly config: ModelConfig;
  /** Aborted when the update is given up. */
  readonly cancelled: AbortSignal;
}

/**
 * True when a loaded version can serve a new configuration without being loaded again: nothing differs but the version
 * policy and, where the scheduler can change them, the instances.
 */
export function updatableInPlace(model: LoadedModel, config: ModelConfig): boolean {
  if (withoutInstances(model.polledConfig) !== withoutInstances(config)) return false;
  return model.scheduler.setRunners !== undefined || !instancesDiffer(model, config);
}

/**
 * Gives a loaded version the instances of a new configuration. Instances that match (whatever their names) stay as they
 * are, the others are made or end; requests, statistics and the metrics of the model's own code go on. Resolves when
 * those that are not needed any more have ended. Throws the TritonError of an instance that cannot be made; then
 * everything is as before.
 */
export async function updateInstances(
  context: LoadContext,
  model: LoadedModel,
  { directory, config: polled, cancelled }: InstanceUpdate,
): Promise<void> {
  if (!instancesDiffer(model, polled)) {
    model.polledConfig = polled;
    model.config = { ...model.config, version_policy: polled.version_policy };
    return;
  }
  const { limiter, options, registry, threads } = context;
  const { log } = options;
  const { traits } = await registry.find(polled.backend);
  const { config: prepared, faults } = prepareInstances(
    { ...model.config, instance_group: polled.instance_group },
    { gpus: traits.gpus?.() ?? [], backends: registry.catalogue },
  );
  throwFirst(faults);
  const { instance_group } = prepared;
  const config = { ...model.config, instance_group, version_policy: polled.version_policy };
  const planned = planInstances(config, threads.share);
  const existing = [...model.instances];
  const slots = planned.map((instance) => {
    const index = existing.findLastIndex(({ signature }) => signature === instance.signature);
    return index < 0 ? instance : existing.splice(index, 1)[0]!;
  });
  const missing = slots.flatMap((slot) => ('spec' in slot ? [slot] : []));
  const { backendModel, statistics, plan } = model;
  const { decoupled } = plan;
  const made = await makeInstances({ backendModel, statistics, decoupled, limiter, log, cancelled }, missing);
  try {
    await warmUp(made, { config, plan, statistics, modelDirectory: directory, log }, cancelled);
  } catch (reason) {
    await discardInstances(made, log);
    throw reason;
  }
  const fresh = made[Symbol.iterator]();
  const instances = slots.map((slot): ModelInstance => ('spec' in slot ? fresh.next().value! : slot));
  threads.release(model.instanceCount);
  threads.reserve(instances.length);
  model.instanceCount = instances.length;
  await model.setInstances(config, polled, instances);
}

function instancesDiffer(model: LoadedModel, config: ModelConfig): boolean {
  return (
    configToJson({ ...model.polledConfig, version_policy: undefined }) !==
    configToJson({ ...config, version_policy: undefined })
  );
}

function withoutInstances(config: ModelConfig): string {
  return configToJson({ ...config, instance_group: [], version_policy: undefined });
}
