import { freezeGroups } from '../../base/options/option.js';
import { helpHint, OptionError, usageLine } from '../../base/options/option-error.js';
import { type ReadOutcome, readOptions } from '../../base/options/read-options.js';
import { PerfError } from '../error/perf-error.js';
import { checkOptions } from '../options/check-options.js';
import type { ParseContext } from '../options/perf-option.js';
import { draftOf, OPTION_TABLE, type PerfOptions } from '../options/perf-options.js';
import { readSchedule } from './read-schedule.js';

const COMMAND = 'triton perf';

/** What the command line asks for. */
export type ParsedArgs =
  | { readonly kind: 'measure'; readonly options: PerfOptions }
  | { readonly kind: 'version' }
  | { readonly kind: 'help' };

/**
 * Parses a command line from left to right and checks it. Throws the PerfError of the first offending option; warnings
 * go to `warn` as lines.
 */
export function parseArgs(args: readonly string[], warn: (line: string) => void): ParsedArgs {
  const context: ParseContext = {
    options: draftOf(),
    chosenMode: undefined,
    deprecatedConcurrency: false,
    warn,
  };
  const outcome = readOptions(args, OPTION_TABLE, context);
  if (outcome.kind === 'standard') return { kind: outcome.name };
  if (outcome.kind === 'refused') throw ownError(`${outcome.label}: ${outcome.error.message}`);
  if (outcome.kind === 'malformed') throw malformed(outcome);
  try {
    completeOptions(context);
    checkOptions(context);
  } catch (reason) {
    throw reason instanceof OptionError ? ownError(reason.message) : reason;
  }
  return { kind: 'measure', options: freezeGroups(context.options) };
}

/** An error of ours, which perf_analyzer does not have. */
function ownError(what: string): PerfError {
  return new PerfError(usageLine(COMMAND, what), { emptyLines: 0 });
}

/**
 * perf_analyzer's message, to the letter, because scripts compare it. On a terminal a second line says which option
 * was probably meant.
 */
function malformed({ error, near }: Extract<ReadOutcome, { kind: 'malformed' }>): PerfError {
  const { kind, text } = error;
  const hint = `${near === undefined ? '' : `Did you mean '${near}'? `}${helpHint(COMMAND)}`;
  const unknown = kind === 'unknown' || kind === 'ambiguous';
  const what =
    kind === 'short'
      ? `Invalid short option '${text}'`
      : unknown
        ? `Invalid long option '${text}'`
        : `Missing value for option '${text}'`;
  return new PerfError(`Error: ${what}`, { emptyLines: 0, hint });
}

/** What follows from the options together, once all are read. */
function completeOptions(context: ParseContext): void {
  const { options } = context;
  options.load.loadMode = context.deprecatedConcurrency ? 'Concurrency' : (context.chosenMode ?? 'Concurrency');
  if (!options.connection.urlGiven) {
    if (options.connection.protocol === 'grpc')
      options.connection.url = options.connection.serviceKind === 'tfserving' ? 'localhost:8500' : 'localhost:8001';
    else options.connection.url = 'localhost:8000';
  }
  if (!options.load.maxThreadsGiven && options.load.loadMode === 'Concurrency') {
    options.load.maxThreads = Math.max(16, options.load.concurrency.end);
  }
  if (options.load.loadMode === 'CustomIntervals') options.load.search = 'none';
  if (options.load.loadMode === 'FixedSchedule') {
    options.load.requestCount = readSchedule(options).length - options.load.warmupRequestCount;
  }
  if (options.load.requestCount > 0) {
    options.measure.measurementMode = 'count_windows';
    options.measure.measurementRequestCount = options.load.requestCount;
  }
  if (options.connection.metricsUrl === '') {
    // perf_analyzer looks for the host before the first colon, which a scheme would spoil.
    const address = options.connection.url.replace(/^[A-Za-z]+:\/\//, '');
    const colon = address.indexOf(':');
    options.connection.metricsUrl = `${colon < 0 ? 'localhost' : address.slice(0, colon)}:8002/metrics`;
  }
}
