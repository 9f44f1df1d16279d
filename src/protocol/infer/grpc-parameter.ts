import type { ParameterMessage } from '../proto/infer-codec.js';
import type { ParameterValue } from '../tensor.js';

/** The message of a parameter: integers as int64, beyond its range as uint64. */
export function parameterMessage(value: ParameterValue): ParameterMessage {
  switch (typeof value) {
    case 'boolean':
      return { kind: 'bool', value };
    case 'string':
      return { kind: 'string', value };
    case 'number':
      return { kind: 'double', value };
    default:
      return value > 0x7fff_ffff_ffff_ffffn ? { kind: 'uint64', value } : { kind: 'int64', value };
  }
}
