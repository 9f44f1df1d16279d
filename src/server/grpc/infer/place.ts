import { invalidArg } from '../../../base/error.js';
import type { SharedMemoryPlace } from '../../../protocol/infer/shared-memory.js';
import type { ParameterMap } from '../../../protocol/proto/infer/infer-types.js';

/** The shared memory range that the parameters of a tensor name; undefined when they do not name one. */
export function readGrpcPlace(tensor: string, parameters: ParameterMap): SharedMemoryPlace | undefined {
  if (parameters.size === 0) return undefined;
  const region = parameters.get('shared_memory_region');
  if (region !== undefined && region.kind !== 'string') {
    throw wrongShared('shared_memory_region', tensor, 'string_param');
  }
  const offset = sharedInteger('shared_memory_offset', tensor, parameters, region !== undefined);
  const byteSize = sharedInteger('shared_memory_byte_size', tensor, parameters, region !== undefined);
  if (region === undefined) return undefined;
  if (byteSize === undefined) {
    throw invalidArg(
      `'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensor}'`,
    );
  }
  return { region: region.value, offset: offset ?? 0n, byteSize };
}

function wrongShared(name: string, tensor: string, expected: string): never {
  throw invalidArg(`invalid value type for '${name}' parameter for tensor '${tensor}', expected ${expected}.`);
}

function sharedInteger(name: string, tensor: string, parameters: ParameterMap, region: boolean): bigint | undefined {
  const parameter = parameters.get(name);
  if (parameter === undefined) return undefined;
  if (!region) {
    throw invalidArg(`'${name}' can not be specified without 'shared_memory_region' parameter for tensor '${tensor}'`);
  }
  if (parameter.kind !== 'int64') return wrongShared(name, tensor, 'int64_param');
  return BigInt.asUintN(64, parameter.value);
}
