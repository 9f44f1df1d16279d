import { invalidArg, TritonError } from '../../base/error.js';
import type { Log } from '../../base/log.js';
import type { TraceOptions } from '../options/trace-options.js';
import { TraceFile } from './trace-file.js';
import { type TraceLevel, TraceSetting, type TraceValues } from './trace-setting.js';

/** Settings that an update may name; null = back to the global (or start) value. Absent = untouched. */
export interface TraceUpdate {
  trace_level?: readonly string[] | null;
  trace_rate?: string | null;
  trace_count?: string | null;
  log_frequency?: string | null;
}

/** How messages are worded: those of HTTP and gRPC differ by a blank. */
export type TraceDialect = 'http' | 'grpc';

type ValueName = keyof TraceValues;
type Change = { -readonly [Name in ValueName]?: TraceValues[Name] | null };

const VALUE_NAMES: readonly ValueName[] = ['level', 'rate', 'count', 'logFrequency'];
const NOTHING_SPECIFIED = { level: false, rate: false, count: false, logFrequency: false } as const;
const INT32 = { low: -2147483648n, high: 2147483647n };

/**
 * The trace settings: start values, global ones, and those of models. A
 * model without settings of its own uses the global object, counters included; one that has some follows the global
 * values in the others.
 */
export class TraceSettings {
  readonly #start: TraceOptions;
  readonly #file: TraceFile | undefined;
  #global: TraceSetting;
  readonly #models = new Map<string, TraceSetting>();
  #active = false;

  constructor(start: TraceOptions, log: Log) {
    this.#start = start;
    this.#file = start.mode === 'triton' ? new TraceFile(start.file, log) : undefined;
    this.#global = new TraceSetting(start, NOTHING_SPECIFIED, this.#file);
    this.#lookForActive();
  }

  /** False while no request can be traced. */
  get active(): boolean {
    return this.#active;
  }

  /** What holds for requests to a model. */
  of(model: string): TraceSetting {
    return this.#models.get(model) ?? this.#global;
  }

  /** Names and values in the order of the response; `model` '' = the global settings. Names may come more than once. */
  view(model: string): [name: string, values: string | readonly string[]][] {
    const { level, rate, count, logFrequency } = this.of(model);
    const { mode } = this.#start;
    return [
      ['trace_level', level.length === 0 ? ['OFF'] : level],
      ['trace_rate', String(rate)],
      ['trace_count', String(count)],
      ...(mode === 'triton'
        ? ([
            ['log_frequency', String(logFrequency)],
            ['trace_file', this.#start.file],
          ] as [string, string][])
        : []),
      ['trace_mode', mode],
      ...this.#start.others[mode].map(([name, value]): [string, string] => [name, value]),
    ];
  }

  /** Checks the whole update, then applies it. Throws INVALID_ARG. */
  update(model: string, update: TraceUpdate, dialect: TraceDialect): void {
    const change = parseUpdate(update, dialect);
    if (Object.keys(change).length === 0) return;
    this.#apply(model, change);
    if (model === '') for (const name of [...this.#models.keys()]) this.#apply(name, {});
    this.#lookForActive();
  }

  /** Writes what has been collected and completes the file. */
  close(): void {
    this.#active = false;
    for (const setting of [...this.#models.values(), this.#global]) setting.retire(true);
    this.#file?.close();
  }

  /** The error for any attempt to set `trace_file`. */
  static fileRefused(): TritonError {
    return new TritonError('UNSUPPORTED', 'trace file location can not be updated through network protocol');
  }

  #apply(model: string, change: Change): void {
    const current = model === '' ? this.#global : this.#models.get(model);
    const above: TraceValues = model === '' ? this.#start : this.#global.values;
    const specified = { ...NOTHING_SPECIFIED } as Record<ValueName, boolean>;
    const values = { ...above } as Record<ValueName, unknown>;
    for (const name of VALUE_NAMES) {
      const wanted = change[name];
      specified[name] = wanted !== null && (wanted !== undefined || (current?.specified[name] ?? false));
      if (specified[name]) values[name] = wanted ?? current?.values[name];
    }
    if (model !== '' && VALUE_NAMES.every((name) => !specified[name])) {
      this.#models.delete(model);
      current?.retire();
      return;
    }
    const next = new TraceSetting(values as unknown as TraceValues, specified, this.#file);
    if (next.level.length > 0 && next.invalid !== undefined) {
      throw invalidArg(`Attempting to set invalid trace setting :${next.invalid}`);
    }
    if (model === '') this.#global = next;
    else this.#models.set(model, next);
    current?.retire();
  }

  #lookForActive(): void {
    this.#active = [this.#global, ...this.#models.values()].some(
      ({ level }) => level.length > 0 && this.#file?.path !== '',
    );
  }
}

function parseUpdate(update: TraceUpdate, dialect: TraceDialect): Change {
  const { trace_level, trace_rate, trace_count, log_frequency } = update;
  const change: Change = {};
  if (trace_level !== undefined) change.level = trace_level === null ? null : parseLevels(trace_level);
  if (trace_rate !== undefined) change.rate = trace_rate === null ? null : parseUnsigned('trace_rate', trace_rate);
  if (trace_count !== undefined) change.count = trace_count === null ? null : parseCount(trace_count, dialect);
  if (log_frequency !== undefined) {
    change.logFrequency = log_frequency === null ? null : parseUnsigned('log_frequency', log_frequency);
  }
  return change;
}

/** OFF alone switches off; unknown names are ignored. */
function parseLevels(names: readonly string[]): readonly TraceLevel[] {
  if (names.includes('OFF')) {
    if (names.length > 1) throw invalidArg("Expect only one trace level 'OFF' is specified");
    return [];
  }
  return (['TIMESTAMPS', 'TENSORS'] as const).filter((level) => names.includes(level));
}

/** Read as an int32, shown as a uint32, like Triton does. */
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
