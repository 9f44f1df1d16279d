/** What the generate endpoints take and answer: plain JSON values by name. */
import type { JsonValue } from '../../protocol/json/json-value.js';
import { JsonKind } from '../../protocol/json/json-value.js';
import { jsonString } from '../../protocol/json/write-json.js';

/** A single value; integers beyond 2^53 are bigint. */
export type GenerateScalar = string | number | bigint | boolean;

/** Values of one tensor: a single one, or a list. */
export type GenerateValue = GenerateScalar | readonly GenerateScalar[];

/** A request to a generate endpoint. */
export interface GenerateCall {
  readonly modelName: string;
  readonly modelVersion?: string;
  readonly id?: string;
  /** Inputs by name; what is no input of the model becomes a parameter of the request. */
  readonly values: Readonly<Record<string, GenerateValue>>;
  readonly parameters?: Readonly<Record<string, GenerateScalar>>;
}

/** One response of the model: outputs, parameters, `id`, `model_name` and `model_version` by name. */
export type GenerateResult = Readonly<Record<string, GenerateValue>>;

/** One event of a stream: a response, or an error; responses may follow an error. */
export type GenerateEvent =
  | { readonly result: GenerateResult; readonly error?: undefined }
  | { readonly error: string; readonly result?: undefined };

/** The body of a call. */
export function generateBody({ id, values, parameters }: GenerateCall): string {
  const members = Object.entries(values).map(([name, value]) => `${jsonString(name)}:${valueText(value)}`);
  if (id !== undefined && id !== '') members.unshift(`"id":${jsonString(id)}`);
  if (parameters !== undefined) {
    const inner = Object.entries(parameters).map(([name, value]) => `${jsonString(name)}:${valueText(value)}`);
    members.push(`"parameters":{${inner.join(',')}}`);
  }
  return `{${members.join(',')}}`;
}

/** Reads the object of a response; throws what the JSON layer says of anything else. */
export function readGenerateResult(json: JsonValue): GenerateResult {
  return Object.fromEntries(json.members().map(([name, value]) => [name.asString(), readValue(value)]));
}

/** The text of an object that holds nothing but an error; undefined for a response. */
export function generateError(json: JsonValue): string | undefined {
  const members = json.members();
  const error = json.member('error');
  return members.length === 1 && error?.isString ? error.asString() : undefined;
}

function valueText(value: GenerateValue): string {
  if (typeof value === 'object') return `[${value.map(valueText).join(',')}]`;
  if (typeof value === 'string') return jsonString(value);
  // -0 would be the integer 0.
  if (Object.is(value, -0)) return '-0.0';
  if (typeof value !== 'number' || Number.isFinite(value)) return String(value);
  // What JSON has no words for, the server takes bare.
  if (Number.isNaN(value)) return 'NaN';
  return value < 0 ? '-Infinity' : 'Infinity';
}

function readValue(value: JsonValue): GenerateValue {
  if (value.isArray) return value.asArray().map(readScalar);
  return readScalar(value);
}

function readScalar(value: JsonValue): GenerateScalar {
  if (value.isString) return value.asString();
  if (value.isBool) return value.asBool();
  if (value.kind !== JsonKind.INTEGER) return value.asDouble();
  const exact = value.integer() as bigint;
  const near = Number(exact);
  return Number.isSafeInteger(near) ? near : exact;
}
