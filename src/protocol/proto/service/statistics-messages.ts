/** Messages of ModelStatistics. Names, numbers and types are those of grpc_service.proto (package `inference`). */
import { type MessageOf, mapOfSub, message, repeatedSub, scalar, sub } from '../schema.js';

export const ModelStatisticsRequest = message('inference.ModelStatisticsRequest', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
});
export type ModelStatisticsRequest = MessageOf<typeof ModelStatisticsRequest>;

export const StatisticDuration = message('inference.StatisticDuration', {
  count: scalar(1, 'uint64'),
  ns: scalar(2, 'uint64'),
});
export type StatisticDuration = MessageOf<typeof StatisticDuration>;

export const InferStatistics = message('inference.InferStatistics', {
  success: sub(1, () => StatisticDuration),
  fail: sub(2, () => StatisticDuration),
  queue: sub(3, () => StatisticDuration),
  compute_input: sub(4, () => StatisticDuration),
  compute_infer: sub(5, () => StatisticDuration),
  compute_output: sub(6, () => StatisticDuration),
  cache_hit: sub(7, () => StatisticDuration),
  cache_miss: sub(8, () => StatisticDuration),
});
export type InferStatistics = MessageOf<typeof InferStatistics>;

export const InferResponseStatistics = message('inference.InferResponseStatistics', {
  compute_infer: sub(1, () => StatisticDuration),
  compute_output: sub(2, () => StatisticDuration),
  success: sub(3, () => StatisticDuration),
  fail: sub(4, () => StatisticDuration),
  empty_response: sub(5, () => StatisticDuration),
  cancel: sub(6, () => StatisticDuration),
});
export type InferResponseStatistics = MessageOf<typeof InferResponseStatistics>;

export const InferBatchStatistics = message('inference.InferBatchStatistics', {
  batch_size: scalar(1, 'uint64'),
  compute_input: sub(2, () => StatisticDuration),
  compute_infer: sub(3, () => StatisticDuration),
  compute_output: sub(4, () => StatisticDuration),
});
export type InferBatchStatistics = MessageOf<typeof InferBatchStatistics>;

export const MemoryUsage = message('inference.MemoryUsage', {
  type: scalar(1, 'string'),
  id: scalar(2, 'int64'),
  byte_size: scalar(3, 'uint64'),
});
export type MemoryUsage = MessageOf<typeof MemoryUsage>;

export const ModelStatistics = message('inference.ModelStatistics', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
  last_inference: scalar(3, 'uint64'),
  inference_count: scalar(4, 'uint64'),
  execution_count: scalar(5, 'uint64'),
  inference_stats: sub(6, () => InferStatistics),
  batch_stats: repeatedSub(7, () => InferBatchStatistics),
  memory_usage: repeatedSub(8, () => MemoryUsage),
  response_stats: mapOfSub(9, 'string', () => InferResponseStatistics),
});
export type ModelStatistics = MessageOf<typeof ModelStatistics>;

export const ModelStatisticsResponse = message('inference.ModelStatisticsResponse', {
  model_stats: repeatedSub(1, () => ModelStatistics),
});
export type ModelStatisticsResponse = MessageOf<typeof ModelStatisticsResponse>;
