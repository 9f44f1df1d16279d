/** Defaults that Triton writes into configurations. */
import type { KnownBackends } from '../../contract/backend-traits.js';
import {
  InstanceKind,
  type ModelConfig,
  ModelInstanceGroup,
  ModelOptimizationPolicy,
  VersionPolicyLatest,
} from '../../protocol/proto/model-config.js';
import { create } from '../../protocol/proto/schema.js';

/** Platform of ensembles. */
export const ENSEMBLE_PLATFORM = 'ensemble';

const DEFAULT_SEQUENCE_IDLE_MICROSECONDS = 1_000_000n;

/** Fills the defaults that hold for every model; returns a new configuration that shares what did not change. */
export function normalizeModelConfig(config: ModelConfig): ModelConfig {
  const result = { ...config };
  const latest = { ...create(VersionPolicyLatest), num_versions: 1 };
  result.version_policy ??= { latest, all: undefined, specific: undefined };
  const preferred = (sizes: number[]) =>
    sizes.length === 0 && config.max_batch_size > 0 ? [config.max_batch_size] : sizes;

  const dynamic = config.dynamic_batching;
  if (dynamic !== undefined) {
    result.dynamic_batching = { ...dynamic, preferred_batch_size: preferred(dynamic.preferred_batch_size) };
  }
  const sequence = config.sequence_batching;
  if (sequence !== undefined) {
    result.sequence_batching = {
      ...sequence,
      max_sequence_idle_microseconds: sequence.max_sequence_idle_microseconds || DEFAULT_SEQUENCE_IDLE_MICROSECONDS,
      oldest: sequence.oldest && {
        ...sequence.oldest,
        preferred_batch_size: preferred(sequence.oldest.preferred_batch_size),
      },
    };
  }
  if (config.platform !== ENSEMBLE_PLATFORM) {
    const optimization = { ...(config.optimization ?? create(ModelOptimizationPolicy)) };
    optimization.input_pinned_memory ??= { enable: true };
    optimization.output_pinned_memory ??= { enable: true };
    result.optimization = optimization;
  }
  return result;
}

/** What the defaults of instance groups depend on. */
export interface InstanceGroupHost {
  /** Ids of the GPUs that can be used; empty on a machine without any. */
  readonly gpus: readonly number[];
  readonly backends: KnownBackends;
}

/** Fills instance groups: names, kinds, counts, GPUs. Not for ensembles. Returns a new configuration. */
export function normalizeInstanceGroups(config: ModelConfig, host: InstanceGroupHost): ModelConfig {
  const given =
    config.instance_group.length > 0 ? config.instance_group : [{ ...create(ModelInstanceGroup), name: config.name }];
  const groups = given.map((group, index) => normalizeGroup(group, index, config, host));
  return { ...config, instance_group: groups };
}

const KIND_NAMES = ['KIND_CPU', 'KIND_GPU', 'KIND_MODEL'] as const;

function normalizeGroup(
  given: ModelInstanceGroup,
  index: number,
  config: ModelConfig,
  host: InstanceGroupHost,
): ModelInstanceGroup {
  const { KIND_AUTO, KIND_CPU, KIND_GPU } = InstanceKind.values;
  const group = { ...given, name: given.name || `${config.name}_${index}` };
  if (group.kind === KIND_AUTO) {
    const onGpu = host.gpus.length > 0 && group.gpus.every((gpu) => host.gpus.includes(gpu));
    group.kind = onGpu ? KIND_GPU : KIND_CPU;
  }
  if (group.count < 1) {
    const defaults = host.backends.find(({ name }) => name === config.backend)?.defaultCounts;
    group.count = defaults?.[KIND_NAMES.find((name) => InstanceKind.values[name] === group.kind) ?? 'KIND_CPU'] ?? 1;
  }
  if (group.kind === KIND_GPU && group.gpus.length === 0) group.gpus = [...host.gpus];
  return group;
}

/** Name of instance `index` of a group. For a group on several GPUs the same name is used on each. */
export function instanceName(group: ModelInstanceGroup, index: number): string {
  return `${group.name}_${index}`;
}

/** The kind of a normalised group's instances, by name. */
export function instanceKind({ kind }: ModelInstanceGroup): 'KIND_CPU' | 'KIND_GPU' | 'KIND_MODEL' {
  if (kind === InstanceKind.values.KIND_GPU) return 'KIND_GPU';
  return kind === InstanceKind.values.KIND_MODEL ? 'KIND_MODEL' : 'KIND_CPU';
}

/** Most instances that a version of a model may have. */
export const MAX_INSTANCES = 1024;

/** Instances that normalised groups ask for. */
export function instanceCount({ instance_group: groups }: ModelConfig): number {
  const devices = (group: ModelInstanceGroup): number =>
    group.kind === InstanceKind.values.KIND_GPU ? group.gpus.length : 1;
  return groups.reduce((count, group) => count + group.count * devices(group), 0);
}
