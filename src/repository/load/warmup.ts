/** Warm-up samples against the configuration and their data files. */

import { TritonError } from '../../base/error.js';
import { MAX_DATA_BYTES } from '../../base/files/read-regular-file.js';
import { didYouMean } from '../../base/nearest-name.js';
import { type Fault, faultOf } from '../../contract/fault.js';
import { datatypeOfConfigValue, elementSize, formatShape } from '../../protocol/datatype.js';
import type { ModelConfig, ModelInput } from '../../protocol/proto/model-config.js';
import { joinPath, readTextFile } from '../files/local.js';
import { staysInside } from './stays-inside.js';

type Sample = ModelConfig['model_warmup'][number];
type SampleInput = Sample['inputs'] extends Map<string, infer I> ? I : never;

/** Directory of a model that holds the data files. */
const FOLDER = 'warmup';
/** What Triton writes in front of errors of a request without id. */
const REQUEST_PREFIX = '[request id: <id_unknown>] ';
const BATCH_NOTE =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.';

/** What fails before any sample is run: the first fault of each sample. */
export async function warmupFaults(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [i, sample] of config.model_warmup.entries()) {
    if (sample.batch_size === 0) continue;
    try {
      const data = new Map<string, Uint8Array | undefined>();
      for (const [name, input] of sample.inputs) data.set(name, await sampleData(modelDirectory, name, input));
      checkSample(config, sample, data);
    } catch (reason) {
      const unknown = [...sample.inputs.keys()].find((name) => !config.input.some((input) => input.name === name));
      faults.push(
        unknown === undefined
          ? faultOf(reason, 'warmup-sample', ['model_warmup', i])
          : faultOf(
              reason,
              'warmup-sample',
              ['model_warmup', i, 'inputs', unknown],
              unknownInputRemedy(config, unknown),
            ),
      );
    }
  }
  return faults;
}

/** A sample whose inputs are not those of the model: most often a misspelt name. */
function unknownInputRemedy(config: ModelConfig, name: string): string {
  const names = config.input.map((input) => input.name);
  const meant = didYouMean(name, names);
  return `'${name}' is not an input of this model, whose inputs are ${names.map((each) => `'${each}'`).join(', ')}.${meant === undefined ? '' : ` ${meant}`}`;
}

/** Bytes of the input's file, cut to what is needed; undefined for zero and random data. Throws what Triton refuses. */
async function sampleData(modelDirectory: string, name: string, input: SampleInput): Promise<Uint8Array | undefined> {
  if (input.dims.includes(-1n)) {
    throw refuse(`warmup setting expects all variable-size dimensions are specified for input '${name}'`);
  }
  if (input.zero_data !== undefined || input.random_data !== undefined) return undefined;
  if (input.input_data_file === undefined) {
    throw refuse(`${REQUEST_PREFIX}warmup setting expects input '${name}' to have input_data_type set`);
  }
  const datatype = datatypeOfConfigValue(input.data_type);
  const needed = elements(input) * (datatype === undefined ? 0 : elementSize(datatype));
  requireInside(name, input.input_data_file);
  const atMost = datatype === 'BYTES' ? undefined : needed;
  const data = await readTextFile(joinPath(modelDirectory, FOLDER, input.input_data_file), MAX_DATA_BYTES, atMost);
  if (datatype === 'BYTES') return data;
  if (data.length < needed) {
    throw refuse(
      `${REQUEST_PREFIX}warmup setting expects ${needed} bytes, but the data provided from ${input.input_data_file}only has ${data.length} bytes`,
    );
  }
  return data.subarray(0, needed);
}

/** Throws unless the data file of an input lies in the model's directory. */
export function requireInside(input: string, file: string): void {
  if (staysInside(file, FOLDER)) return;
  throw refuse(`${REQUEST_PREFIX}warmup data file '${file}' of input '${input}' is outside the model directory`);
}

/** The checks of an ordinary request; inputs that the model does not declare pass as control tensors. */
function checkSample(config: ModelConfig, sample: Sample, data: ReadonlyMap<string, Uint8Array | undefined>): void {
  const given = config.input.filter(({ name }) => sample.inputs.has(name));
  const required = config.input.filter(({ optional }) => !optional);
  if (given.length < required.length || given.length > config.input.length) {
    const missing = required.filter((input) => !given.includes(input));
    const expected =
      required.length === config.input.length
        ? `expected ${required.length} inputs`
        : `expected number of inputs between ${required.length} and ${config.input.length}`;
    throw refuse(
      `${REQUEST_PREFIX}${expected} but got ${given.length} inputs for model '${config.name}'. Got input(s) ${quoted(given)}, but missing required input(s) ${quoted(missing)}. Please provide all required input(s).`,
    );
  }
  for (const declared of given) {
    checkSampleInput(config, declared, sample.inputs.get(declared.name) as SampleInput, data.get(declared.name));
  }
}

function checkSampleInput(
  config: ModelConfig,
  declared: ModelInput,
  input: SampleInput,
  data: Uint8Array | undefined,
): void {
  const { name } = declared;
  const wanted = datatypeOfConfigValue(declared.data_type);
  const datatype = datatypeOfConfigValue(input.data_type);
  if (datatype !== wanted) {
    throw refuse(
      `${REQUEST_PREFIX}inference input '${name}' data-type is '${datatype ?? '<invalid>'}', but model '${config.name}' expects '${wanted ?? '<invalid>'}'`,
    );
  }
  const fits =
    input.dims.length === declared.dims.length &&
    declared.dims.every((dim, i) => dim === -1n || dim === (input.dims[i] as bigint));
  if (!fits) {
    const batches = config.max_batch_size > 0;
    const expected = formatShape([...(batches ? [-1n] : []), ...declared.dims]);
    const got = formatShape([...(batches ? [1n] : []), ...input.dims]);
    throw refuse(
      `${REQUEST_PREFIX}unexpected shape for input '${name}' for model '${config.name}'. Expected ${expected}, got ${got}. ${batches ? BATCH_NOTE : ''}`,
    );
  }
  if (data !== undefined && datatype === 'BYTES') checkStrings(config, name, elements(input), data);
}

/** Counts the length-prefixed strings of a file. */
function checkStrings(config: ModelConfig, name: string, wanted: number, data: Uint8Array): void {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let count = 0;
  let offset = 0;
  while (offset < data.length) {
    if (data.length - offset < 4) {
      throw refuse(
        `${REQUEST_PREFIX}incomplete string length indicator for inference input '${name}' for model '${config.name}', expecting 4 bytes but only ${data.length - offset} bytes available. Please make sure the string length indicator is in one buffer.`,
      );
    }
    offset += 4 + view.getUint32(offset, true);
    if (++count > wanted) {
      throw refuse(
        `${REQUEST_PREFIX}unexpected number of string elements ${count} for inference input '${name}' for model '${config.name}', expecting ${wanted}`,
      );
    }
  }
  if (count < wanted) {
    throw refuse(
      `${REQUEST_PREFIX}expected ${wanted} string elements for inference input '${name}' for model '${config.name}', got ${count}`,
    );
  }
}

function elements(input: SampleInput): number {
  return Number(input.dims.reduce((product, dim) => product * dim, 1n));
}

function quoted(inputs: readonly ModelInput[]): string {
  return `[${inputs.map(({ name }) => `'${name}'`).join(',')}]`;
}

function refuse(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}
