import { readFileSync } from 'node:fs';
import { inputDataError } from '../error/perf-error.js';
import type { PerfModel, PerfTensor } from '../model/perf-model.js';
import type { InputData, InputStep } from './input-data.js';
import type { JsonObject, JsonValue } from './json-document.js';
import { isArray, isObject, parseJsonDocument, syntaxFault } from './json-document.js';
import { readJsonTensor } from './read-json-tensor.js';

const INCONSISTENT =
  'Inconsistency in input-data provided. Can not have a combination of objects and arrays inside of the Data array';

/** Reads JSON files of input data; several files add steps (of objects) or streams (of arrays). */
export function readJsonData(paths: readonly string[], model: PerfModel, options: { schedule: boolean }): InputData {
  const frame = { model, schedule: options.schedule };
  const streams: InputStep[][] = [];
  let nested: boolean | undefined;
  for (const path of paths) {
    const { data, validation } = readFile(path);
    const [first] = data;
    if (first === undefined) continue;
    const fileIsNested = isArray(first);
    if (data.some((entry) => isArray(entry) !== fileIsNested)) throw inputDataError(INCONSISTENT);
    if (nested !== undefined && nested !== fileIsNested) throw inputDataError(INCONSISTENT);
    nested = fileIsNested;
    if (!fileIsNested) {
      streams[0] ??= [];
      appendSteps(streams[0], { stream: 0, data, validation }, frame);
      continue;
    }
    data.forEach((entry, index) => {
      const steps: InputStep[] = [];
      const expected = validation?.[index];
      if (
        validation !== undefined &&
        (!isArray(expected) || expected.length !== (entry as readonly JsonValue[]).length)
      ) {
        throw inputDataError("The 'validation_data' field doesn't align with 'data' field in the json file");
      }
      const stream = { data: entry as readonly JsonValue[], validation: expected as readonly JsonValue[] | undefined };
      appendSteps(steps, { stream: streams.length, ...stream }, frame);
      streams.push(steps);
    });
  }
  return { streams };
}

/** The line that says how much was read. */
export function describeJsonData({ streams }: InputData): string {
  const steps = streams.length === 1 ? ` with ${streams[0]?.length} step/steps` : '';
  return ` Successfully read data for ${streams.length} stream/streams${steps}.`;
}

/** Parses a file of input data for itself; throws the messages of perf_analyzer. */
export function readFile(path: string): { data: readonly JsonValue[]; validation: readonly JsonValue[] | undefined } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    throw inputDataError('failed to open file for reading provided data');
  }
  let document: JsonValue;
  try {
    document = parseJsonDocument(bytes);
  } catch (reason) {
    const fault = syntaxFault(reason, bytes);
    if (fault === undefined) throw reason;
    const error = inputDataError('failed to parse the specified json file for reading provided data');
    error.message = `cb::Error  : ${fault.code}\nOffset : ${fault.offset}\n${error.message}`;
    throw error;
  }
  const data = isObject(document) ? document.get('data') : undefined;
  if (data === undefined) throw inputDataError("The json file doesn't contain data field");
  if (!isArray(data)) throw inputDataError("The 'data' field of the json file must be an array");
  const validation = (document as JsonObject).get('validation_data');
  if (validation !== undefined && (!isArray(validation) || validation.length !== data.length)) {
    throw inputDataError("The 'validation_data' field doesn't align with 'data' field in the json file");
  }
  return { data, validation };
}

/** What steps are read for. */
interface StepFrame {
  readonly model: PerfModel;
  /** Whether each step has a time at which it is sent. */
  readonly schedule: boolean;
}

/** Steps of one stream, and what their responses should be. */
interface StreamData {
  readonly stream: number;
  readonly data: readonly JsonValue[];
  readonly validation: readonly JsonValue[] | undefined;
}

function appendSteps(steps: InputStep[], { stream, data, validation }: StreamData, frame: StepFrame): void {
  data.forEach((entry, index) => {
    const location = ` ( Location stream id: ${stream}, step id: ${steps.length})`;
    steps.push(readStep(entry, validation?.[index], frame, location));
  });
}

const TIMESTAMP: PerfTensor = {
  name: 'timestamp',
  datatype: 'UINT64',
  shape: [1],
  optional: false,
  isShapeTensor: false,
};

function readStep(
  entry: JsonValue,
  expected: JsonValue | undefined,
  { model, schedule }: StepFrame,
  location: string,
): InputStep {
  if (!isObject(entry)) throw inputDataError('Input data file is malformed.');
  const known = new Set(['model', ...model.inputs.map((input) => input.name), ...(schedule ? ['timestamp'] : [])]);
  for (const name of entry.keys()) {
    if (!known.has(name)) {
      throw inputDataError(`The input or output '${name}' is not found in the model configuration`);
    }
  }
  const inputs = model.inputs
    .filter((input) => !input.optional || entry.has(input.name))
    .map((input) => readMember(entry, input, location));
  const step: { -readonly [K in keyof InputStep]: InputStep[K] } = { inputs };
  if (schedule) {
    const { data } = readMember(entry, TIMESTAMP, location);
    step.timestamp = Number(new DataView(data.buffer, data.byteOffset).getBigUint64(0, true));
  }
  if (expected !== undefined) {
    if (!isObject(expected)) throw inputDataError('Input data file is malformed.');
    step.expected = model.outputs.map((output) => readMember(expected, output, location));
  }
  return step;
}

function readMember(entry: JsonObject, tensor: PerfTensor, location: string) {
  const value = entry.get(tensor.name);
  if (value === undefined) throw inputDataError(`missing tensor ${tensor.name}${location}`);
  return readJsonTensor(value, tensor, location);
}
