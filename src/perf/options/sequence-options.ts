import { text } from '../../base/options/parse-value.js';
import { usageError } from '../error/perf-error.js';
import { atLeast, double, flag, int32, option, type PerfOption } from './perf-option.js';

/** Sequences of a model that keeps state. */
export interface SequenceOptions {
  readonly numOfSequences: number;
  readonly serialSequences: boolean;
  readonly sequenceLength: number;
  readonly sequenceLengthGiven: boolean;
  readonly sequenceLengthVariation: number;
  readonly startSequenceId: number;
  /** How many ids; the default is all that 32 bits hold. */
  readonly sequenceIdRange: number;
  readonly sequenceIdRangeGiven: boolean;
}

/** The values that hold when an option is not given. */
export const SEQUENCE_DEFAULTS: SequenceOptions = {
  numOfSequences: 4,
  serialSequences: false,
  sequenceLength: 20,
  sequenceLengthGiven: false,
  sequenceLengthVariation: 20,
  startSequenceId: 1,
  sequenceIdRange: 2 ** 32 - 1,
  sequenceIdRangeGiven: false,
};

const group = 'Sequences';

/** The options of sequences. */
export const SEQUENCE_OPTIONS: readonly PerfOption[] = [
  option({
    name: 'num-of-sequences',
    group,
    argument: 'count',
    help: 'Concurrent sequences in rate and interval modes.',
    parse: atLeast(1, 'Failed to parse --num-of-sequences. The value must be > 0.'),
    into: ['sequence', 'numOfSequences'],
  }),
  flag({
    name: 'serial-sequences',
    group,
    help: 'Never send to a sequence that has a request outstanding (rate and interval modes).',
    into: ['sequence', 'serialSequences'],
  }),
  option({
    name: 'sequence-length',
    group,
    argument: 'length',
    help: 'Base length of a sequence.',
    default: '20',
    parse: int32,
    set({ options: { sequence }, warn }, length) {
      sequence.sequenceLengthGiven = true;
      if (length > 0) sequence.sequenceLength = length;
      else {
        warn(
          'WARNING: The sequence length must be > 0. Perf Analyzer will use default value if it is measuring on sequence model.',
        );
      }
    },
  }),
  option({
    name: 'sequence-length-variation',
    group,
    argument: 'percent',
    help: 'How far a sequence may be longer or shorter than the base length.',
    parse: double,
    into: ['sequence', 'sequenceLengthVariation'],
  }),
  option({
    name: 'sequence-id-range',
    group,
    argument: 'start:end',
    help: 'Range of the sequence ids, the end excluded.',
    default: 'from 1, 2^32-1 of them',
    parse: text,
    set({ options: { sequence } }, value, given) {
      const parts = value.split(':');
      if (parts.length > 2) {
        throw usageError('Failed to parse --sequence-id-range. The value does not match <start:end>.');
      }
      const [start = 0, end] = parts.map((part) => int32(part, given));
      if (start < 0 || (end ?? 0) < 0) {
        throw usageError('Failed to parse --sequence-id-range. The range values must be >= 0.');
      }
      sequence.startSequenceId = start;
      if (end === undefined) return;
      if (start > end) {
        throw usageError("Failed to parse --sequence-id-range. The 'end' value must be greater than 'start' value.");
      }
      sequence.sequenceIdRange = end - start;
      sequence.sequenceIdRangeGiven = true;
    },
  }),
];
