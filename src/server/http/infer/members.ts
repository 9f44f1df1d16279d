/** Members of JSON objects with the name of the member in the error (`Unable to parse '<name>': ...`). */

import type { SharedMemoryPlace } from '../../../protocol/infer/shared-memory.js';
import { prefixed } from '../../../protocol/json/json-error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';

/** A required string. */
export function stringMember(object: JsonValue, name: string): string {
  try {
    return object.required(name).asString();
  } catch (error) {
    throw prefixed(`Unable to parse '${name}': `, error);
  }
}

/** A required array. */
export function arrayMember(object: JsonValue, name: string): readonly JsonValue[] {
  try {
    return object.required(name).asArray();
  } catch (error) {
    throw prefixed(`Unable to parse '${name}': `, error);
  }
}

/** An optional unsigned integer; 0 when absent. */
export function uintMember(object: JsonValue, name: string): number {
  try {
    return object.member(name)?.asUint() ?? 0;
  } catch (error) {
    throw prefixed(`Unable to parse '${name}': `, error);
  }
}

/** The shared memory range in an input's or output's parameters; undefined when they do not name a region. */
export function readHttpPlace(parameters: JsonValue | undefined): SharedMemoryPlace | undefined {
  if (parameters?.member('shared_memory_region') === undefined) return undefined;
  return {
    region: stringMember(parameters, 'shared_memory_region'),
    offset: uint64Member(parameters, 'shared_memory_offset'),
    byteSize: uint64Member(parameters, 'shared_memory_byte_size'),
  };
}

function uint64Member(object: JsonValue, name: string): bigint {
  try {
    return object.member(name)?.asUint64() ?? 0n;
  } catch (error) {
    throw prefixed(`Unable to parse '${name}': `, error);
  }
}
