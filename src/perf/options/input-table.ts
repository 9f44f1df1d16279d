import { existsSync } from 'node:fs';
import { usageError } from '../error/perf-error.js';
import { parseDouble, parseInt32, parseInt64 } from './numbers.js';
import type { ParseContext, PerfOption } from './option.js';
import { integer, numberOf, oneOf } from './option.js';

/** Options of the group INPUT DATA OPTIONS. */
export const INPUT_OPTIONS: readonly PerfOption[] = [
  {
    name: '',
    short: 'b',
    value: 'batch size',
    help: 'Batch size of every request. Default 1.',
    apply: ({ options }, given) => {
      options.batchSize = integer(given, 1, 'Failed to parse -b (batch size). The value must be > 0.');
      options.batchSizeGiven = true;
    },
  },
  {
    name: 'input-data',
    value: '"zero"|"random"|path',
    help: 'Generated data, a directory with one file per input, or JSON files (repeatable). Default random.',
    apply: ({ options }, { value, label }) => {
      if (existsSync(value)) options.inputPaths.push(value);
      else if (value === 'zero') options.zeroInput = true;
      else if (value !== 'random') {
        throw usageError(
          `Failed to parse ${label}. Unsupported type provided: '${value}'. The available options are 'zero', 'random', path to a directory, or a json file.`,
        );
      }
    },
  },
  {
    name: 'shared-memory',
    value: '"system"|"cuda"|"none"',
    help: 'Pass tensors through shared memory. Default none.',
    apply: ({ options }, given) => {
      const choices = "The available options are 'system', 'cuda', or 'none'.";
      options.sharedMemory = oneOf(given, ['none', 'system', 'cuda'], choices);
      if (options.sharedMemory === 'cuda') {
        throw usageError(
          'CUDA shared memory is not supported when building with `cmake -D TRITON_ENABLE_GPU=OFF ...`. Install CUDA runtime library (e.g. `apt install nvidia-cuda-toolkit`) then recompile with `cmake -D TRITON_ENABLE_GPU=ON ...`.',
        );
      }
    },
  },
  {
    name: 'output-shared-memory-size',
    value: 'bytes',
    help: 'Bytes per element of the batch for outputs of unknown size in shared memory. Default 102400.',
    apply: ({ options }, given) => {
      options.outputSharedMemorySize = numberOf(parseInt64(given.value), given);
      if (options.outputSharedMemorySize < 0) {
        throw usageError('Failed to parse --output-shared-memory-size. The value must be >= 0.');
      }
    },
  },
  {
    name: 'shape',
    value: 'name:d1,d2,...',
    help: 'Shape of an input with variable dimensions, without the batch (repeatable).',
    apply: ({ options }, given) => {
      const colon = given.value.lastIndexOf(':');
      if (colon < 0) throw usageError('Failed to parse --shape. There must be a colon after input name.');
      const dims = given.value
        .slice(colon + 1)
        .split(',')
        .map((part) => {
          const dim = numberOf(parseInt64(part), given);
          if (dim <= 0) throw usageError('Failed to parse --shape. The dimensions of input tensor must be > 0.');
          return dim;
        });
      options.shapes.set(given.value.slice(0, colon), dims);
    },
  },
  {
    name: 'sequence-length',
    value: 'length',
    help: 'Base length of a sequence. Default 20.',
    apply: ({ options, warn }, given) => {
      options.sequenceLengthGiven = true;
      const length = numberOf(parseInt32(given.value), given);
      if (length > 0) options.sequenceLength = length;
      else {
        warn(
          'WARNING: The sequence length must be > 0. Perf Analyzer will use default value if it is measuring on sequence model.',
        );
      }
    },
  },
  {
    name: 'sequence-length-variation',
    value: 'percent',
    help: 'How far a sequence may be longer or shorter than the base length. Default 20.',
    apply: ({ options }, given) => {
      options.sequenceLengthVariation = numberOf(parseDouble(given.value), given);
    },
  },
  {
    name: 'sequence-id-range',
    value: 'start:end',
    help: 'Range of the sequence ids, the end excluded. Default: from 1, 2^32-1 of them.',
    apply: ({ options }, given) => {
      const parts = given.value.split(':');
      if (parts.length > 2) {
        throw usageError('Failed to parse --sequence-id-range. The value does not match <start:end>.');
      }
      const [start = 0, end] = parts.map((part) => numberOf(parseInt32(part), given));
      if (start < 0 || (end ?? 0) < 0) {
        throw usageError('Failed to parse --sequence-id-range. The range values must be >= 0.');
      }
      options.startSequenceId = start;
      if (end === undefined) return;
      if (start > end) {
        throw usageError("Failed to parse --sequence-id-range. The 'end' value must be greater than 'start' value.");
      }
      options.sequenceIdRange = end - start;
      options.sequenceIdRangeGiven = true;
    },
  },
  {
    name: 'string-length',
    value: 'length',
    help: 'Length of generated strings. Default 128.',
    apply: ({ options }, given) => {
      options.stringLength = integer(given, 1, 'Failed to parse --string-length. The value must be > 0');
    },
  },
  {
    name: 'string-data',
    value: 'text',
    help: 'Text of every generated string instead of a random one.',
    apply: ({ options }, { value }) => {
      options.stringData = value;
    },
  },
  {
    name: 'input-tensor-format',
    value: 'binary|json',
    help: 'How inputs travel over HTTP. Default binary.',
    apply: ({ options }, given) => {
      options.inputTensorFormat = oneOf(given, ['binary', 'json'], TENSOR_FORMATS, given.value.toLowerCase());
    },
  },
  {
    name: 'output-tensor-format',
    value: 'binary|json',
    help: 'How outputs travel over HTTP. Default binary.',
    apply: ({ options }, given) => {
      options.outputTensorFormat = oneOf(given, ['binary', 'json'], TENSOR_FORMATS, given.value.toLowerCase());
    },
  },
  {
    name: '',
    short: 'z',
    deprecated: true,
    help: 'Same as --input-data zero.',
    apply: ({ options, warn }) => {
      warn(deprecation('-z', '--input-data=zero'));
      options.zeroInput = true;
    },
  },
  {
    name: 'data-directory',
    value: 'path',
    deprecated: true,
    help: 'Same as --input-data.',
    apply: ({ options, warn }: ParseContext, { value }) => {
      warn(deprecation('--data-directory', '--input-data'));
      options.inputPaths.push(value);
    },
  },
];

const TENSOR_FORMATS = "The available options are 'binary' or 'json'.";

function deprecation(old: string, instead: string): string {
  return `Warning: ${old} is deprecated and will be removed in an upcoming version. Use ${instead} instead.`;
}
