/** Parameters of a request or response in the form of each protocol. */
import { jsonDouble, jsonString } from '../json/write-json.js';
import type { ParameterMessage } from '../proto/infer/infer-codec.js';
import type { Parameters, ParameterValue } from '../tensor.js';

/** Parameters as a JSON object. */
export function jsonParameters(parameters: Parameters): string {
  return `{${parameters.map(([name, value]) => `${jsonString(name)}:${jsonParameter(value)}`).join(',')}}`;
}

/** One parameter's value as JSON. */
export function jsonParameter(value: ParameterValue): string {
  switch (typeof value) {
    case 'string':
      return jsonString(value);
    case 'number':
      return jsonDouble(value);
    default:
      return String(value);
  }
}

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
