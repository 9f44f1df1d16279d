/**
 * JSON answers of the management calls, as the client interface shows them. Members that a server leaves out get the
 * empty value; members of the wrong kind are an INTERNAL error that names the call.
 */
import type { IndexEntry, ModelStatistics, StatisticDuration } from '../../engine/engine-api.js';
import { isDatatype } from '../../protocol/datatype.js';
import { TritonError } from '../../protocol/error.js';
import type { TensorMetadata } from '../../protocol/tensor.js';
import type { ModelMetadata, ServerMetadata } from '../client.js';
import { indexEntry } from '../index-entry.js';

type JsonObject = Readonly<Record<string, unknown>>;

/** Parses an answer; `what` names it in errors. */
export function parseJsonAnswer(body: Uint8Array, what: string): unknown {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TritonError('INTERNAL', `failed to parse ${what}: ${(cause as Error).message}`, { cause });
  }
}

/** Answer of `GET /v2`. */
export function readServerMetadata(json: unknown): ServerMetadata {
  const object = asObject(json, 'server metadata');
  return {
    name: text(object['name']),
    version: text(object['version']),
    extensions: list(object['extensions']).map(text),
  };
}

/** Answer of `GET /v2/models/NAME`. */
export function readModelMetadata(json: unknown): ModelMetadata {
  const object = asObject(json, 'model metadata');
  return {
    name: text(object['name']),
    versions: list(object['versions']).map(text),
    platform: text(object['platform']),
    inputs: list(object['inputs']).map(readTensorMetadata),
    outputs: list(object['outputs']).map(readTensorMetadata),
  };
}

function readTensorMetadata(json: unknown): TensorMetadata {
  const object = asObject(json, 'model metadata');
  const datatype = text(object['datatype']);
  if (!isDatatype(datatype)) {
    throw new TritonError('INTERNAL', `failed to parse model metadata: unknown datatype '${datatype}'`);
  }
  return { name: text(object['name']), datatype, shape: list(object['shape']).map(Number) };
}

/** Answer of the statistics calls. */
export function readModelStatistics(json: unknown): ModelStatistics[] {
  const what = 'model statistics';
  return list(asObject(json, what)['model_stats']).map((entry) => {
    const object = asObject(entry, what);
    return {
      name: text(object['name']),
      version: text(object['version']),
      last_inference: integer(object['last_inference']),
      inference_count: integer(object['inference_count']),
      execution_count: integer(object['execution_count']),
      inference_stats: durations(object['inference_stats'], INFERENCE_STATS),
      response_stats: new Map(
        Object.entries((object['response_stats'] ?? {}) as JsonObject).map(([index, stats]) => [
          index,
          durations(stats, RESPONSE_STATS),
        ]),
      ),
      batch_stats: list(object['batch_stats']).map((batch) => ({
        batch_size: integer((batch as JsonObject)['batch_size']),
        ...durations(batch, BATCH_STATS),
      })),
      memory_usage: list(object['memory_usage']).map((usage) => ({
        type: text((usage as JsonObject)['type']),
        id: integer((usage as JsonObject)['id']),
        byte_size: integer((usage as JsonObject)['byte_size']),
      })),
    };
  });
}

const BATCH_STATS = ['compute_input', 'compute_infer', 'compute_output'] as const;
const INFERENCE_STATS = ['success', 'fail', 'queue', ...BATCH_STATS, 'cache_hit', 'cache_miss'] as const;
const RESPONSE_STATS = ['compute_infer', 'compute_output', 'success', 'fail', 'empty_response', 'cancel'] as const;

function durations<K extends string>(json: unknown, names: readonly K[]): Record<K, StatisticDuration> {
  const object = (json ?? {}) as JsonObject;
  const result = {} as Record<K, StatisticDuration>;
  for (const name of names) {
    const duration = (object[name] ?? {}) as JsonObject;
    result[name] = { count: integer(duration['count']), ns: integer(duration['ns']) };
  }
  return result;
}

/** Answer of the repository index. */
export function readRepositoryIndex(json: unknown): IndexEntry[] {
  if (!Array.isArray(json)) throw new TritonError('INTERNAL', 'failed to parse repository index: expected an array');
  return json.map((entry) => {
    const object = asObject(entry, 'repository index');
    return indexEntry(text(object['name']), text(object['version']), text(object['state']), text(object['reason']));
  });
}

function asObject(json: unknown, what: string): JsonObject {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new TritonError('INTERNAL', `failed to parse ${what}: expected a JSON object`);
  }
  return json as JsonObject;
}

function list(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [];
}

function text(json: unknown): string {
  return typeof json === 'string' ? json : '';
}

function integer(json: unknown): bigint {
  return typeof json === 'number' && Number.isInteger(json) ? BigInt(json) : 0n;
}
