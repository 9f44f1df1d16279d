import type { ModelStatistics, StatisticDuration } from '../../../protocol/management.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { sendJson } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

/** `/v2/models/stats`, `/v2/models/M[/versions/V]/stats` */
export function statistics(context: ServerContext, route: HttpRoute, _request: Http1Request, reply: Http1Reply): void {
  const entries = context.engine.statistics(route.model, route.version);
  sendJson(reply, `{"model_stats":[${entries.map(entryJson).join(',')}]}`);
}

const INFER_KEYS = [
  'success',
  'fail',
  'queue',
  'compute_input',
  'compute_infer',
  'compute_output',
  'cache_hit',
  'cache_miss',
] as const;
const RESPONSE_KEYS = ['compute_infer', 'compute_output', 'success', 'fail', 'empty_response', 'cancel'] as const;
const BATCH_KEYS = ['compute_input', 'compute_infer', 'compute_output'] as const;

/** Keys in Triton's order. Counts are bigint, written as numbers. */
function entryJson(entry: ModelStatistics): string {
  const responses = [...entry.response_stats].map(
    ([index, durations]) => `${JSON.stringify(index)}:{${durationList(RESPONSE_KEYS, durations)}}`,
  );
  const batches = entry.batch_stats.map(
    (batch) => `{"batch_size":${batch.batch_size},${durationList(BATCH_KEYS, batch)}}`,
  );
  const memory = entry.memory_usage.map(
    ({ type, id, byte_size }) => `{"type":${JSON.stringify(type)},"id":${id},"byte_size":${byte_size}}`,
  );
  return (
    `{"name":${JSON.stringify(entry.name)},"version":${JSON.stringify(entry.version)},` +
    `"last_inference":${entry.last_inference},"inference_count":${entry.inference_count},` +
    `"execution_count":${entry.execution_count},"inference_stats":{${durationList(INFER_KEYS, entry.inference_stats)}},` +
    `"response_stats":{${responses.join(',')}},"batch_stats":[${batches.join(',')}],"memory_usage":[${memory.join(',')}]}`
  );
}

function durationList<K extends string>(keys: readonly K[], durations: Readonly<Record<K, StatisticDuration>>): string {
  return keys.map((key) => `"${key}":{"count":${durations[key].count},"ns":${durations[key].ns}}`).join(',');
}
