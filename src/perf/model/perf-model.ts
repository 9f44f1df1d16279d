import type { InferenceServerClient } from '../../client/api/client.js';
import type { Datatype } from '../../protocol/datatype.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { TensorMetadata } from '../../protocol/tensor.js';
import { messageOf, messageOfFirstCall } from '../error/message-of.js';
import { startUpError } from '../error/perf-error.js';

/** An input or output of the measured model. */
export interface PerfTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Without the batch dimension; -1 = variable, after `--shape` was applied. */
  readonly shape: readonly number[];
  readonly optional: boolean;
  /** Its values are a shape: it has no batch dimension. */
  readonly isShapeTensor: boolean;
}

/** A model as configurations name it; version '' = unspecified. */
export interface ModelId {
  readonly name: string;
  readonly version: string;
}

/** How the server schedules the model's requests. */
export type SchedulerKind = 'NONE' | 'DYNAMIC' | 'SEQUENCE' | 'ENSEMBLE' | 'ENSEMBLE_SEQUENCE';

/** What a measurement has to know of its model. */
export interface PerfModel extends ModelId {
  /** By name, in the order of their names. */
  readonly inputs: readonly PerfTensor[];
  readonly outputs: readonly PerfTensor[];
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  readonly scheduler: SchedulerKind;
  /** Models that each model calls (steps of ensembles, models given for BLS), by the caller's name; sorted, unique. */
  readonly composing: ReadonlyMap<string, readonly ModelId[]>;
  /** True when this model or one that it calls has a response cache. */
  readonly responseCache: boolean;
  /** True when this model itself has one. */
  readonly topLevelCache: boolean;
}

/** True for models whose requests form sequences. */
export function isSequenceModel(model: PerfModel): boolean {
  return model.scheduler === 'SEQUENCE' || model.scheduler === 'ENSEMBLE_SEQUENCE';
}

/** Models that the measured one calls directly. */
export function composingModelsOf(model: PerfModel, name = model.name): readonly ModelId[] {
  return model.composing.get(name) ?? [];
}

/** Asks the server for the model and everything it calls. Throws the start-up errors of perf_analyzer. */
export async function readPerfModel(
  client: InferenceServerClient,
  request: ModelId & {
    readonly url: string;
    readonly shapes: ReadonlyMap<string, readonly number[]>;
    readonly calls: readonly ModelId[];
  },
  headers: Readonly<Record<string, string>>,
): Promise<PerfModel> {
  const { name, version } = request;
  const options = { headers };
  const metadata = await client.modelMetadata(name, version, options).catch(async (reason: unknown) => {
    throw startUpError('failed to get model metadata', await messageOfFirstCall(reason, request.url));
  });
  const config = await client.modelConfig(name, version, options).catch((reason: unknown) => {
    throw startUpError('failed to get model config', messageOf(reason));
  });
  try {
    const configOf = (id: ModelId): Promise<ModelConfig> => client.modelConfig(id.name, id.version, options);
    const { composing, sequence, cache } = await readComposing(config, request.calls, configOf);
    const topLevelCache = config.response_cache?.enable ?? false;
    return {
      name,
      version,
      inputs: tensors('input', metadata.inputs, config, request.shapes),
      outputs: tensors('output', metadata.outputs, config, new Map()),
      maxBatchSize: config.max_batch_size,
      decoupled: config.model_transaction_policy?.decoupled ?? false,
      scheduler: schedulerOf(config, composing.size > 0, sequence),
      composing,
      responseCache: topLevelCache || cache,
      topLevelCache,
    };
  } catch (reason) {
    throw startUpError('failed to create model parser', messageOf(reason));
  }
}

function schedulerOf(config: ModelConfig, composed: boolean, composedOfSequences: boolean): SchedulerKind {
  if (composed) return composedOfSequences ? 'ENSEMBLE_SEQUENCE' : 'ENSEMBLE';
  if (config.sequence_batching !== undefined) return 'SEQUENCE';
  return config.dynamic_batching !== undefined ? 'DYNAMIC' : 'NONE';
}

/** Follows the steps of ensembles to the leaves, then looks at every model found (in the order of their callers). */
async function readComposing(
  config: ModelConfig,
  calls: readonly ModelId[],
  configOf: (id: ModelId) => Promise<ModelConfig>,
): Promise<{ composing: Map<string, ModelId[]>; sequence: boolean; cache: boolean }> {
  const found = new Map<string, Map<string, ModelId>>();
  const add = (caller: string, id: ModelId): void => {
    const ids = found.get(caller) ?? new Map<string, ModelId>();
    ids.set(`${id.name}\0${id.version}`, id);
    found.set(caller, ids);
  };
  for (const id of calls) {
    add(config.name, id);
    await configOf(id);
  }
  const follow = async (caller: ModelConfig): Promise<void> => {
    for (const step of caller.ensemble_scheduling?.step ?? []) {
      const id = { name: step.model_name, version: step.model_version < 0n ? '' : String(step.model_version) };
      add(caller.name, id);
      await follow(await configOf(id));
    }
  };
  await follow(config);

  const composing = new Map<string, ModelId[]>();
  let sequence = false;
  let cache = false;
  for (const [caller, ids] of [...found].sort(([a], [b]) => compare(a, b))) {
    const sorted = [...ids.values()].sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
    composing.set(caller, sorted);
    for (const id of sorted) {
      const each = await configOf(id);
      sequence ||= each.sequence_batching !== undefined;
      cache ||= each.response_cache?.enable ?? false;
    }
  }
  return { composing, sequence, cache };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function tensors(
  kind: 'input' | 'output',
  metadata: readonly TensorMetadata[],
  config: ModelConfig,
  shapes: ReadonlyMap<string, readonly number[]>,
): PerfTensor[] {
  const configured: readonly { name: string; is_shape_tensor: boolean; optional?: boolean }[] = config[kind];
  const batching = config.max_batch_size > 0;
  for (const { name } of configured) {
    if (!metadata.some((tensor) => tensor.name === name)) {
      throw new Error(`no metadata found for ${kind} tensor ${name}`);
    }
  }
  return metadata
    .map(({ name, datatype, shape }): PerfTensor => {
      const own = configured.find((tensor) => tensor.name === name);
      const plain = batching ? shape.slice(1) : shape;
      return {
        name,
        datatype,
        shape: plain.some((dim) => dim < 0) ? (shapes.get(name) ?? plain) : plain,
        optional: own?.optional ?? false,
        isShapeTensor: own?.is_shape_tensor ?? false,
      };
    })
    .sort((a, b) => compare(a.name, b.name));
}
