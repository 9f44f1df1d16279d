import { invalidArg, TritonError } from '../protocol/error.js';
import type { TraceOptions } from './options/server-options.js';

/** Names of trace levels. */
export type TraceLevel = 'TIMESTAMPS' | 'TENSORS';

/** Settings that an update may name; null = back to the global (or start) value. Absent = untouched. */
export interface TraceUpdate {
  trace_level?: readonly string[] | null;
  trace_rate?: string | null;
  trace_count?: string | null;
  log_frequency?: string | null;
}

/** One scope's own values; undefined = follows the scope above. */
interface Scope {
  level: readonly TraceLevel[] | undefined;
  rate: number | undefined;
  count: number | undefined;
  logFrequency: number | undefined;
}

/** How numbers are told apart in texts: HTTP and gRPC differ by a blank. */
export type TraceDialect = 'http' | 'grpc';

const INT32 = { low: -2147483648n, high: 2147483647n };

/** The trace settings: start values, global ones, and those of models (spec: wire protocol, section 2.9). */
export class TraceSettings {
  readonly #start: TraceOptions;
  readonly #global: Scope = emptyScope();
  readonly #models = new Map<string, Scope>();

  constructor(start: TraceOptions) {
    this.#start = start;
  }

  /** Name and values in the order of the answer; `model` '' = the global settings. */
  view(model: string): [name: string, values: string | readonly string[]][] {
    const { level, rate, count, logFrequency } = this.#effective(model);
    const triton = this.#start.mode === 'triton';
    return [
      ['trace_level', level.length === 0 ? ['OFF'] : level],
      ['trace_rate', String(rate)],
      ['trace_count', String(count)],
      ...(triton
        ? ([
            ['log_frequency', String(logFrequency)],
            ['trace_file', this.#start.file],
          ] as [string, string][])
        : []),
      ['trace_mode', this.#start.mode],
      ...this.#start.others.map(([name, value]): [string, string] => [name, value]),
    ];
  }

  /** Checks the whole update, then applies it. Throws INVALID_ARG. */
  update(model: string, update: TraceUpdate, dialect: TraceDialect): void {
    const scope = this.#scope(model);
    const next: Scope = { ...scope };
    if (update.trace_level !== undefined) {
      next.level = update.trace_level === null ? undefined : parseLevels(update.trace_level);
    }
    if (update.trace_rate !== undefined) {
      next.rate = update.trace_rate === null ? undefined : parseUnsigned('trace_rate', update.trace_rate);
    }
    if (update.trace_count !== undefined) {
      next.count = update.trace_count === null ? undefined : parseCount(update.trace_count, dialect);
    }
    if (update.log_frequency !== undefined) {
      next.logFrequency =
        update.log_frequency === null ? undefined : parseUnsigned('log_frequency', update.log_frequency);
    }
    const level = next.level ?? [];
    if (level.length > 0 && this.#start.mode === 'triton' && this.#start.file === '') {
      throw invalidArg('Attempting to set invalid trace setting :trace file name is not given');
    }
    Object.assign(scope, next);
  }

  /** The answer to any attempt to set `trace_file`. */
  static fileRefused(): TritonError {
    return new TritonError('UNSUPPORTED', 'trace file location can not be updated through network protocol');
  }

  #scope(model: string): Scope {
    if (model === '') return this.#global;
    let scope = this.#models.get(model);
    if (scope === undefined) {
      scope = emptyScope();
      this.#models.set(model, scope);
    }
    return scope;
  }

  #effective(model: string): { level: readonly string[]; rate: number; count: number; logFrequency: number } {
    const own = this.#models.get(model);
    const above = this.#global;
    return {
      level: own?.level ?? above.level ?? this.#start.level,
      rate: own?.rate ?? above.rate ?? this.#start.rate,
      count: own?.count ?? above.count ?? this.#start.count,
      logFrequency: own?.logFrequency ?? above.logFrequency ?? this.#start.logFrequency,
    };
  }
}

function emptyScope(): Scope {
  return { level: undefined, rate: undefined, count: undefined, logFrequency: undefined };
}

/** OFF alone switches off; unknown names are passed over. */
function parseLevels(names: readonly string[]): readonly TraceLevel[] {
  if (names.includes('OFF')) {
    if (names.length > 1) throw invalidArg("Expect only one trace level 'OFF' is specified");
    return [];
  }
  return (['TIMESTAMPS', 'TENSORS'] as const).filter((level) => names.includes(level));
}

/** Read as an int32, shown as a uint32, like the original. */
function parseUnsigned(name: string, text: string): number {
  return parseInt32(name, text, '[ 0, 4294967295 ]') >>> 0;
}

function parseCount(text: string, dialect: TraceDialect): number {
  const count = parseInt32('trace_count', text, '[ -1, 2147483647 ]');
  if (count < -1) {
    throw invalidArg(
      `Unable to parse 'trace_count'. Expecting value >= -1, got:${dialect === 'grpc' ? ' ' : ''}${text}`,
    );
  }
  return count;
}

function parseInt32(name: string, text: string, range: string): number {
  const match = /^\s*([+-]?\d+)/.exec(text);
  if (match === null) throw invalidArg(`Unable to parse '${name}', got: ${text}`);
  const value = BigInt(match[1] as string);
  if (value < INT32.low || value > INT32.high) {
    throw invalidArg(`Unable to parse '${name}', value is out of range ${range}, got: ${text}`);
  }
  return Number(value);
}
