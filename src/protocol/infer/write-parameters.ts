import { jsonDouble, jsonString } from '../json/write-json.js';
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
