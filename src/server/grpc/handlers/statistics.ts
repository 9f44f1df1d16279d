import { toBinary } from '../../../protocol/proto/codec.js';
import { ModelStatisticsRequest, ModelStatisticsResponse } from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { encodedMethod } from '../message/respond.js';

/** ModelStatistics; an empty name means all models. */
export function modelStatistics({ engine }: ServerContext): GrpcMethod {
  return encodedMethod(ModelStatisticsRequest, ({ name, version }) =>
    toBinary(ModelStatisticsResponse, {
      model_stats: engine.statistics(name, version).map((entry) => ({
        ...entry,
        inference_stats: { ...entry.inference_stats },
        batch_stats: entry.batch_stats.map((batch) => ({ ...batch })),
        memory_usage: entry.memory_usage.map((usage) => ({ ...usage })),
        response_stats: new Map(entry.response_stats),
      })),
    }),
  );
}
