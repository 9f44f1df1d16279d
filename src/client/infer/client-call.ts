/** Checks and small conversions that both protocols do with a call before encoding it. */

import { invalidArg } from '../../base/error.js';
import { isReservedParameter } from '../../protocol/infer/parameters.js';
import type { ParameterValue } from '../../protocol/tensor.js';
import type { InferCall, InferInput } from '../api/client.js';

/** The custom parameters of a call. Throws INVALID_ARG for reserved names. */
export function customParameters(call: InferCall): [string, ParameterValue][] {
  if (call.parameters === undefined) return [];
  const entries = Object.entries(call.parameters);
  for (const [name] of entries) {
    if (isReservedParameter(name)) {
      throw invalidArg(`Parameter "${name}" is a reserved parameter and cannot be specified.`);
    }
  }
  return entries;
}

/** The sequence id of a call; undefined for none (absent, 0 or empty). */
export function sequenceIdOf(call: InferCall): bigint | string | undefined {
  const { sequenceId } = call;
  if (sequenceId === undefined || sequenceId === '') return undefined;
  const id = typeof sequenceId === 'number' ? BigInt(sequenceId) : sequenceId;
  return id === 0n ? undefined : id;
}

/** The data of an input that is not in shared memory. */
export function dataOf(input: InferInput): Uint8Array {
  if (input.data === undefined)
    throw invalidArg(`input '${input.name}' has neither data nor a shared memory reference`);
  return input.data;
}
