import { existsSync } from 'node:fs';
import { text } from '../../base/options/parse-value.js';
import { usageError } from '../error/perf-error.js';
import { atLeast, deprecation, flag, int64, option, type PerfOption, word } from './perf-option.js';

/** What the requests contain. */
export interface InputOptions {
  readonly batchSize: number;
  readonly batchSizeGiven: boolean;
  /** Files or directories of `--input-data`; empty = generated data. */
  readonly inputPaths: readonly string[];
  readonly zeroInput: boolean;
  readonly stringLength: number;
  readonly stringData: string;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  readonly sharedMemory: 'none' | 'system' | 'cuda';
  readonly outputSharedMemorySize: number;
  readonly inputTensorFormat: 'binary' | 'json';
  readonly outputTensorFormat: 'binary' | 'json';
  readonly requestParameters: readonly { readonly name: string; readonly value: string; readonly type: string }[];
}

/** The values that hold when an option is not given. */
export const INPUT_DEFAULTS: InputOptions = {
  batchSize: 1,
  batchSizeGiven: false,
  inputPaths: [],
  zeroInput: false,
  stringLength: 128,
  stringData: '',
  shapes: new Map(),
  sharedMemory: 'none',
  outputSharedMemorySize: 102400,
  inputTensorFormat: 'binary',
  outputTensorFormat: 'binary',
  requestParameters: [],
};

const group = 'Input data';

/** The options of the input data. */
export const INPUT_OPTIONS: readonly PerfOption[] = [
  option({
    name: '',
    short: 'b',
    group,
    argument: 'batch size',
    help: 'Batch size of every request.',
    default: '1',
    parse: atLeast(1, 'Failed to parse -b (batch size). The value must be > 0.'),
    set({ options: { input } }, size) {
      input.batchSize = size;
      input.batchSizeGiven = true;
    },
  }),
  option({
    name: 'input-data',
    group,
    argument: '"zero"|"random"|path',
    help: 'Generated data, a directory with one file per input, or JSON files (may be given several times).',
    default: 'random',
    repeatable: true,
    parse: text,
    set({ options: { input } }, value, { label }) {
      if (existsSync(value)) input.inputPaths = [...input.inputPaths, value];
      else if (value === 'zero') input.zeroInput = true;
      else if (value !== 'random') {
        throw usageError(
          `Failed to parse ${label}. Unsupported type provided: '${value}'. The available options are 'zero', 'random', path to a directory, or a json file.`,
        );
      }
    },
  }),
  option({
    name: 'shared-memory',
    group,
    argument: '"system"|"cuda"|"none"',
    help: 'Pass tensors through shared memory.',
    default: 'none',
    parse: word<InputOptions['sharedMemory']>(
      ['none', 'system', 'cuda'],
      "The available options are 'system', 'cuda', or 'none'.",
    ),
    set({ options }, kind) {
      if (kind === 'cuda') {
        throw usageError(
          'CUDA shared memory is not supported when building with `cmake -D TRITON_ENABLE_GPU=OFF ...`. Install CUDA runtime library (e.g. `apt install nvidia-cuda-toolkit`) then recompile with `cmake -D TRITON_ENABLE_GPU=ON ...`.',
        );
      }
      options.input.sharedMemory = kind;
    },
  }),
  option({
    name: 'output-shared-memory-size',
    group,
    argument: 'bytes',
    help: 'Bytes per element of the batch for outputs of unknown size in shared memory.',
    parse: atLeast(0, 'Failed to parse --output-shared-memory-size. The value must be >= 0.', int64),
    into: ['input', 'outputSharedMemorySize'],
  }),
  option({
    name: 'shape',
    group,
    argument: 'name:d1,d2,...',
    help: 'Shape of an input with variable dimensions, without the batch (may be given several times).',
    repeatable: true,
    parse: text,
    set({ options: { input } }, value, given) {
      const colon = value.lastIndexOf(':');
      if (colon < 0) throw usageError('Failed to parse --shape. There must be a colon after input name.');
      const dims = value
        .slice(colon + 1)
        .split(',')
        .map((part) => {
          const dim = int64(part, given);
          if (dim <= 0) throw usageError('Failed to parse --shape. The dimensions of input tensor must be > 0.');
          return dim;
        });
      input.shapes = new Map([...input.shapes, [value.slice(0, colon), dims]]);
    },
  }),
  option({
    name: 'string-length',
    group,
    argument: 'length',
    help: 'Length of generated strings.',
    parse: atLeast(1, 'Failed to parse --string-length. The value must be > 0'),
    into: ['input', 'stringLength'],
  }),
  option({
    name: 'string-data',
    group,
    argument: 'string',
    help: 'Every generated string instead of a random one.',
    parse: text,
    into: ['input', 'stringData'],
  }),
  ...(['input', 'output'] as const).map((side) =>
    option({
      name: `${side}-tensor-format`,
      group,
      argument: 'binary|json',
      help: `How ${side}s travel over HTTP.`,
      parse: word<'binary' | 'json'>(['binary', 'json'], "The available options are 'binary' or 'json'.", true),
      into: ['input', `${side}TensorFormat`],
    }),
  ),
  option({
    name: 'request-parameter',
    group,
    argument: 'name:value:type',
    help: 'Parameter of every gRPC request; type string, int or bool (may be given several times).',
    repeatable: true,
    parse: text,
    set({ options: { input } }, parameter) {
      const [name = '', value = '', type, ...rest] = parameter.split(':');
      if (type === undefined || rest.length > 0) {
        throw usageError('Failed to parse --request-parameter. The value does not match <name:value:type>.');
      }
      input.requestParameters = [...input.requestParameters, { name, value, type: type.toLowerCase() }];
    },
  }),
  flag({
    name: '',
    short: 'z',
    deprecated: true,
    help: 'Same as --input-data zero.',
    set({ options, warn }) {
      warn(deprecation('-z', '--input-data=zero'));
      options.input.zeroInput = true;
    },
  }),
  option({
    name: 'data-directory',
    argument: 'path',
    deprecated: true,
    help: 'Same as --input-data.',
    parse: text,
    set({ options: { input }, warn }, path) {
      warn(deprecation('--data-directory', '--input-data'));
      input.inputPaths = [...input.inputPaths, path];
    },
  }),
];
