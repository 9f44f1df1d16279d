import { PerfError } from '../error/perf-error.js';
import type { PerfModel } from '../model/perf-model.js';
import { isSequenceModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';

/** Checks that need the model, and what follows from it (spec of the load generator, section 4.3). */
export function checkModel(options: PerfOptions, model: PerfModel, warn: (line: string) => void): void {
  const sequence = isSequenceModel(model);
  if (model.maxBatchSize === 0 && options.batchSize > 1) {
    throw new PerfError('can not specify batch size > 1 as the model does not support batching');
  }
  if (sequence) {
    if (options.batchSize > 1) throw new PerfError('can not specify batch size > 1 when using a sequence model');
    if (!options.forceSync) options.async = true;
  }
  if (options.streaming && options.forceSync) {
    throw new PerfError('can not use streaming with synchronous API');
  }
  if (model.decoupled && !(options.async && options.streaming)) {
    throw new PerfError(
      'Decoupled models must be run with `--async` and `--streaming` and either `-i grpc` or `--service-kind=triton_c_api`',
      { emptyLines: 0 },
    );
  }
  if (options.loadMode === 'Concurrency') checkConcurrency(options, sequence, warn);
  else if (options.loadMode === 'RequestRate' || options.loadMode === 'CustomIntervals') {
    if (options.sequenceIdRangeGiven && options.sequenceIdRange < options.numOfSequences) {
      throw new PerfError(
        'sequence id range specified is smaller than the maximum possible number of sequences, sequence id collision may occur.',
      );
    }
  }
}

function checkConcurrency(options: PerfOptions, sequence: boolean, warn: (line: string) => void): void {
  const range = options.concurrency;
  if (options.async) {
    if (sequence && range.end === 0) {
      throw new PerfError("The 'end' concurrency can not be 0 for sequence models when using asynchronous API.");
    }
  } else if (range.end === 0) {
    warn('WARNING: The maximum attainable concurrency will be limited by max_threads specification.');
    range.end = options.maxThreads;
  } else {
    if (options.maxThreadsGiven) {
      warn('WARNING: Overriding max_threads specification to ensure requested concurrency range.');
    }
    options.maxThreads = Math.max(range.start, range.end);
  }
  const most = Math.max(range.start, range.end);
  if (options.sequenceIdRangeGiven && options.sequenceIdRange !== 0 && options.sequenceIdRange < most) {
    throw new PerfError(
      'sequence id range specified is smaller than the maximum possible concurrency, sequence id collision may occur.',
    );
  }
}
