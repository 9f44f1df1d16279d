/** The `parameters` of a request over HTTP. */
import { invalidArg } from '../../base/error.js';
import { jsonError, prefixed } from '../json/json-error.js';
import { JsonKind, type JsonValue } from '../json/json-value.js';
import type { ParameterValue } from '../tensor.js';
import { checkCorrelationId, NO_SETTINGS, type RequestSettings } from './parameters.js';

/** What `parameters` set, and the form of outputs that are not listed. */
export interface HttpSettings {
  readonly settings: Readonly<RequestSettings>;
  readonly binaryDataOutput: boolean;
}

const NOTHING: HttpSettings = { settings: NO_SETTINGS, binaryDataOutput: false };

/** Reads the member `parameters` of a request. */
export function readHttpSettings(parameters: JsonValue | undefined): HttpSettings {
  if (parameters === undefined) return NOTHING;
  if (!parameters.isObject) throw jsonError('failed to get request params.: attempt to get members for non-object');
  const custom: (readonly [string, ParameterValue])[] = [];
  const settings: RequestSettings = { ...NO_SETTINGS, parameters: custom };
  let binaryDataOutput = false;
  const first = new Map<string, JsonValue>();
  for (const [key, given] of parameters.members()) {
    const name = key.asString();
    // A repeated name is visited again, but every look-up finds the first value.
    const value = first.get(name) ?? given;
    first.set(name, value);
    switch (name) {
      case 'sequence_id':
        settings.correlationId = parse(name, value, readSequenceId);
        break;
      case 'sequence_start':
        settings.sequenceStart = parse(name, value, readBool);
        break;
      case 'sequence_end':
        settings.sequenceEnd = parse(name, value, readBool);
        break;
      case 'priority':
        settings.priority = parse(name, value, readUint64);
        break;
      case 'timeout':
        settings.timeoutMicroseconds = parse(name, value, readUint64);
        break;
      case 'binary_data_output':
        binaryDataOutput = parse(name, value, readBool);
        break;
      default:
        if (name.startsWith('triton_')) {
          throw invalidArg(
            "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
          );
        }
        custom.push([name, readCustomParameter(name, value)]);
    }
  }
  return { settings, binaryDataOutput };
}

/** A custom parameter: string, boolean, integer of the int64 range, or double. */
export function readCustomParameter(name: string, value: JsonValue): ParameterValue {
  switch (value.kind) {
    case JsonKind.STRING:
      return value.asString();
    case JsonKind.TRUE:
      return true;
    case JsonKind.FALSE:
      return false;
    case JsonKind.INTEGER: {
      const integer = value.integer()!;
      return BigInt.asIntN(64, integer) === integer ? integer : Number(integer);
    }
    case JsonKind.REAL:
      return value.asDouble();
    default:
      throw invalidArg(`parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.`);
  }
}

const readBool = (value: JsonValue): boolean => value.asBool();
const readUint64 = (value: JsonValue): bigint => value.asUint64();

function readSequenceId(value: JsonValue): bigint | string {
  const integer = value.integer();
  if (integer !== undefined && integer >= 0n && BigInt.asUintN(64, integer) === integer) return integer;
  // Negative ones are refused as Triton refuses them: as a string that is not one.
  if (value.isNumber && (integer === undefined || integer > 0n)) {
    const got = value.text;
    throw invalidArg(
      `Unable to parse 'sequence_id': expected a string or an integer from 0 to 18446744073709551615, got ${got}`,
    );
  }
  return checkCorrelationId(value.asString());
}

function parse<T>(name: string, value: JsonValue, read: (value: JsonValue) => T): T {
  try {
    return read(value);
  } catch (error) {
    throw prefixedUnlessOwn(name, error);
  }
}

/** Only errors of the JSON layer get the name of the member in front; ours are complete. */
function prefixedUnlessOwn(name: string, error: unknown): unknown {
  const isOwn = (error as { code?: string }).code !== 'INTERNAL';
  return isOwn ? error : prefixed(`Unable to parse '${name}': `, error);
}
