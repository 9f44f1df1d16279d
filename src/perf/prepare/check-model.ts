import { freezeGroups, type OptionsDraft } from '../../base/options/option.js';
import { PerfError } from '../error/perf-error.js';
import type { PerfModel } from '../model/perf-model.js';
import { isSequenceModel } from '../model/perf-model.js';
import { draftOf, type PerfOptions } from '../options/perf-options.js';

/** Checks that need the model; returns the options with what follows from it. Throws a PerfError. */
export function settleForModel(given: PerfOptions, model: PerfModel, warn: (line: string) => void): PerfOptions {
  const options = draftOf(given);
  const sequence = isSequenceModel(model);
  if (model.maxBatchSize === 0 && options.input.batchSize > 1) {
    throw new PerfError('can not specify batch size > 1 as the model does not support batching');
  }
  if (sequence) {
    if (options.input.batchSize > 1) throw new PerfError('can not specify batch size > 1 when using a sequence model');
    if (!options.load.forceSync) options.load.async = true;
  }
  if (options.load.streaming && options.load.forceSync) {
    throw new PerfError('can not use streaming with synchronous API');
  }
  if (model.decoupled && !(options.load.async && options.load.streaming)) {
    throw new PerfError(
      'Decoupled models must be run with `--async` and `--streaming` and either `-i grpc` or `--service-kind=triton_c_api`',
      { emptyLines: 0 },
    );
  }
  if (options.load.loadMode === 'Concurrency') checkConcurrency(options, sequence, warn);
  else if (options.load.loadMode === 'RequestRate' || options.load.loadMode === 'CustomIntervals') {
    if (options.sequence.sequenceIdRangeGiven && options.sequence.sequenceIdRange < options.sequence.numOfSequences) {
      throw new PerfError(
        'sequence id range specified is smaller than the maximum possible number of sequences, sequence id collision may occur.',
      );
    }
  }
  return freezeGroups(options);
}

function checkConcurrency(options: OptionsDraft<PerfOptions>, sequence: boolean, warn: (line: string) => void): void {
  const range = options.load.concurrency;
  if (options.load.async) {
    if (sequence && range.end === 0) {
      throw new PerfError("The 'end' concurrency can not be 0 for sequence models when using asynchronous API.");
    }
  } else if (range.end === 0) {
    warn('WARNING: The maximum attainable concurrency will be limited by max_threads specification.');
    options.load.concurrency = { ...range, end: options.load.maxThreads };
  } else {
    if (options.load.maxThreadsGiven) {
      warn('WARNING: Overriding max_threads specification to ensure requested concurrency range.');
    }
    options.load.maxThreads = Math.max(range.start, range.end);
  }
  const { start, end } = options.load.concurrency;
  const most = Math.max(start, end);
  if (
    options.sequence.sequenceIdRangeGiven &&
    options.sequence.sequenceIdRange !== 0 &&
    options.sequence.sequenceIdRange < most
  ) {
    throw new PerfError(
      'sequence id range specified is smaller than the maximum possible concurrency, sequence id collision may occur.',
    );
  }
}
