import { TritonError } from '../../base/error.js';

/** Exit statuses of `triton perf`: those of perf_analyzer (perf_analyzer_exception.h), and INCOMPLETE. */
export const PerfExit = {
  SUCCESS: 0,
  /** The only level of a sweep was not stable. */
  STABILITY: 2,
  /** A window held no completed request. */
  OPTION: 3,
  /** A sweep stopped before its last level, or rows are not stable, and --strict was given. Not one of perf_analyzer's. */
  INCOMPLETE: 4,
  /** Everything else: usage, connection, configuration, input data, load. */
  GENERIC: 99,
} as const;

/** A failure that ends a measurement. `message` is what is printed to stderr (a line end follows it). */
export class PerfError extends TritonError {
  override readonly name = 'PerfError';
  /** Exit status of the program. */
  readonly exit: number;
  /** True for a wrong command line: where help is stands before the message. */
  readonly usage: boolean;
  /** Number of empty lines behind the message: perf_analyzer's error objects print their own. */
  readonly emptyLines: number;

  /** A line of help for who reads the message on a terminal. */
  readonly hint: string | undefined;

  constructor(message: string, options: { exit?: number; usage?: boolean; emptyLines?: number; hint?: string } = {}) {
    super('INTERNAL', message);
    this.exit = options.exit ?? PerfExit.GENERIC;
    this.usage = options.usage ?? false;
    this.emptyLines = options.emptyLines ?? 1;
    this.hint = options.hint;
  }
}

/** A wrong command line, with perf_analyzer's message: `Error: <message>`, an empty line. */
export function usageError(message: string): PerfError {
  return new PerfError(`Error: ${message}`, { usage: true });
}

/** A failure while starting up: `error: <what>: <message>` and an empty line. */
export function startUpError(what: string, message: string): PerfError {
  return new PerfError(`error: ${what}: ${message}`);
}

/** Unusable input data: like a start-up failure, with one more empty line. */
export function inputDataError(message: string): PerfError {
  return new PerfError(`error: Failed to init manager inputs: ${message}`, { emptyLines: 2 });
}
