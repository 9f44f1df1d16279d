/** Messages of the management calls, as the client interface shows them. */

import { TritonError } from '../../base/error.js';
import { isDatatype } from '../../protocol/datatype.js';
import type { IndexEntry, ModelState, ModelStatistics, StatisticDuration } from '../../protocol/management.js';
import type {
  InferBatchStatistics,
  InferResponseStatistics,
  InferStatistics,
  ModelIndex,
  ModelMetadataResponse,
  ModelStatistics as ModelStatisticsMessage,
  StatisticDuration as StatisticDurationMessage,
} from '../../protocol/proto/service/service.js';
import type { TensorMetadata } from '../../protocol/tensor.js';
import type { ModelMetadata } from '../api/client.js';

/** Metadata of a model. */
export function readModelMetadata(message: ModelMetadataResponse): ModelMetadata {
  return {
    name: message.name,
    versions: message.versions,
    platform: message.platform,
    inputs: message.inputs.map(readTensor),
    outputs: message.outputs.map(readTensor),
  };
}

function readTensor({ name, datatype, shape }: ModelMetadataResponse['inputs'][number]): TensorMetadata {
  if (!isDatatype(datatype)) {
    throw new TritonError('INTERNAL', `failed to parse model metadata: unknown datatype '${datatype}'`);
  }
  return { name, datatype, shape: shape.map(Number) };
}

/** Statistics of one version. */
export function readModelStatistics(message: ModelStatisticsMessage): ModelStatistics {
  return {
    name: message.name,
    version: message.version,
    last_inference: message.last_inference,
    inference_count: message.inference_count,
    execution_count: message.execution_count,
    inference_stats: inferenceStats(message.inference_stats),
    response_stats: new Map([...message.response_stats].map(([index, stats]) => [index, responseStats(stats)])),
    batch_stats: message.batch_stats.map((batch) => ({ batch_size: batch.batch_size, ...batchStats(batch) })),
    memory_usage: message.memory_usage,
  };
}

function inferenceStats(stats: InferStatistics | undefined): ModelStatistics['inference_stats'] {
  return {
    success: duration(stats?.success),
    fail: duration(stats?.fail),
    queue: duration(stats?.queue),
    compute_input: duration(stats?.compute_input),
    compute_infer: duration(stats?.compute_infer),
    compute_output: duration(stats?.compute_output),
    cache_hit: duration(stats?.cache_hit),
    cache_miss: duration(stats?.cache_miss),
  };
}

function responseStats(stats: InferResponseStatistics) {
  return {
    compute_infer: duration(stats.compute_infer),
    compute_output: duration(stats.compute_output),
    success: duration(stats.success),
    fail: duration(stats.fail),
    empty_response: duration(stats.empty_response),
    cancel: duration(stats.cancel),
  };
}

function batchStats(stats: InferBatchStatistics) {
  return {
    compute_input: duration(stats.compute_input),
    compute_infer: duration(stats.compute_infer),
    compute_output: duration(stats.compute_output),
  };
}

function duration(message: StatisticDurationMessage | undefined): StatisticDuration {
  return message ?? { count: 0n, ns: 0n };
}

/** An entry of the repository index; an empty version, state or reason counts as absent. */
export function readIndexEntry({ name, version, state, reason }: ModelIndex): IndexEntry {
  return {
    name,
    ...(version === '' ? {} : { version }),
    ...(state === '' ? {} : { state: state as ModelState }),
    ...(reason === '' ? {} : { reason }),
  };
}
