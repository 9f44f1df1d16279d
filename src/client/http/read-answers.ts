/**
 * JSON answers of the management calls, as the client interface shows them. Members that a server leaves out get the
 * empty value; members of the wrong kind are an INTERNAL error that names the call.
 */

import { isDatatype } from '../../protocol/datatype.js';
import { TritonError } from '../../protocol/error.js';
import { JsonSyntaxError } from '../../protocol/json/json-error.js';
import { type JsonValue, parseJson } from '../../protocol/json/json-value.js';
import type { IndexEntry, ModelStatistics, StatisticDuration } from '../../protocol/management.js';
import type { TensorMetadata } from '../../protocol/tensor.js';
import type { ModelMetadata, ServerMetadata } from '../api/client.js';
import { indexEntry } from '../api/index-entry.js';

/** Parses an answer and reads it; `what` names it in errors. */
export function readJsonAnswer<T>(body: Uint8Array, what: string, read: (json: JsonValue) => T): T {
  try {
    return read(parseJson(body));
  } catch (cause) {
    // The parser's own text speaks of a request.
    const reason =
      cause instanceof JsonSyntaxError ? `${cause.reason} at ${cause.offset}` : TritonError.from(cause).message;
    throw new TritonError('INTERNAL', `failed to parse ${what}: ${reason}`, { cause });
  }
}

/** Answer of `GET /v2`. */
export function readServerMetadata(json: JsonValue): ServerMetadata {
  const object = json.asObject();
  return { name: text(object, 'name'), version: text(object, 'version'), extensions: texts(object, 'extensions') };
}

/** Answer of `GET /v2/models/NAME`. */
export function readModelMetadata(json: JsonValue): ModelMetadata {
  const object = json.asObject();
  return {
    name: text(object, 'name'),
    versions: texts(object, 'versions'),
    platform: text(object, 'platform'),
    inputs: list(object, 'inputs').map(readTensorMetadata),
    outputs: list(object, 'outputs').map(readTensorMetadata),
  };
}

function readTensorMetadata(json: JsonValue): TensorMetadata {
  const datatype = text(json, 'datatype');
  if (!isDatatype(datatype)) throw new TritonError('INTERNAL', `unknown datatype '${datatype}'`);
  return { name: text(json, 'name'), datatype, shape: list(json, 'shape').map((dim) => dim.asDouble()) };
}

/** Answer of the statistics calls. */
export function readModelStatistics(json: JsonValue): ModelStatistics[] {
  return list(json.asObject(), 'model_stats').map((entry) => ({
    name: text(entry, 'name'),
    version: text(entry, 'version'),
    last_inference: integer(entry, 'last_inference'),
    inference_count: integer(entry, 'inference_count'),
    execution_count: integer(entry, 'execution_count'),
    inference_stats: durations(entry.member('inference_stats'), INFERENCE_STATS),
    response_stats: new Map(
      (entry.member('response_stats')?.members() ?? []).map(([index, stats]) => [
        index.asString(),
        durations(stats, RESPONSE_STATS),
      ]),
    ),
    batch_stats: list(entry, 'batch_stats').map((batch) => ({
      batch_size: integer(batch, 'batch_size'),
      ...durations(batch, BATCH_STATS),
    })),
    memory_usage: list(entry, 'memory_usage').map((usage) => ({
      type: text(usage, 'type'),
      id: integer(usage, 'id'),
      byte_size: integer(usage, 'byte_size'),
    })),
  }));
}

const BATCH_STATS = ['compute_input', 'compute_infer', 'compute_output'] as const;
const INFERENCE_STATS = ['success', 'fail', 'queue', ...BATCH_STATS, 'cache_hit', 'cache_miss'] as const;
const RESPONSE_STATS = ['compute_infer', 'compute_output', 'success', 'fail', 'empty_response', 'cancel'] as const;

function durations<K extends string>(json: JsonValue | undefined, names: readonly K[]): Record<K, StatisticDuration> {
  const result = {} as Record<K, StatisticDuration>;
  for (const name of names) {
    const duration = json?.member(name);
    result[name] = { count: integer(duration, 'count'), ns: integer(duration, 'ns') };
  }
  return result;
}

/** Answer of the repository index. */
export function readRepositoryIndex(json: JsonValue): IndexEntry[] {
  return json
    .asArray()
    .map((entry) =>
      indexEntry(text(entry, 'name'), text(entry, 'version'), text(entry, 'state'), text(entry, 'reason')),
    );
}

function list(json: JsonValue, name: string): readonly JsonValue[] {
  return json.member(name)?.asArray() ?? [];
}

/** A member that is text; '' when absent. */
export function text(json: JsonValue, name: string): string {
  return json.member(name)?.asString() ?? '';
}

function texts(json: JsonValue, name: string): string[] {
  return list(json, name).map((element) => element.asString());
}

/** 64-bit integers come as JSON numbers: read from the text, so that none is rounded. */
export function integer(json: JsonValue | undefined, name: string): bigint {
  return json?.member(name)?.integer() ?? 0n;
}
