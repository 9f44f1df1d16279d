import { BadOption, parseInt32 } from './parse-value.js';
import type { OptionsDraft, TraceOptions } from './server-options.js';

type TraceDraft = OptionsDraft['trace'];

/** One `--trace-config [<mode>,]<setting>=<value>`. */
export function parseTraceConfig(trace: TraceDraft, mode: string, setting: string, value: string): void {
  if (mode !== '' && mode !== 'triton' && mode !== 'opentelemetry') throw modeError(mode.toLowerCase());
  trace.given.add(setting);
  const name = `trace-config ${mode === '' ? '' : `${mode},`}${setting}`;
  if (setting === 'level') parseTraceLevel(trace, value, 'trace-config level');
  else if (setting === 'mode') trace.mode = parseMode(value);
  else if (setting === 'rate') trace.rate = integer(value, 'trace-config rate');
  else if (setting === 'count') trace.count = integer(value, 'trace-config count');
  else if (mode === 'triton' && setting === 'file') trace.file = value;
  else if (mode === 'triton' && setting === 'log-frequency') trace.logFrequency = integer(value, name);
  else if (mode !== '') {
    const shown = setting in BATCH_DEFAULTS && mode === 'opentelemetry' ? String(integer(value, name)) : value;
    trace.others = { ...trace.others, [mode]: [...trace.others[mode], [setting, shown]] };
  }
}

/** Settings of the span processor that are numbers, with their defaults, in the order in which they are shown. */
const BATCH_DEFAULTS: Readonly<Record<string, number>> = {
  bsp_max_export_batch_size: 512,
  bsp_schedule_delay: 5000,
  bsp_max_queue_size: 2048,
};

/** Adds what the command line left out of the span processor's settings: OTEL_BSP_... of the environment, else defaults. */
export function completeTraceConfig(trace: TraceDraft, environment: NodeJS.ProcessEnv): void {
  if (trace.mode !== 'opentelemetry') return;
  const given = new Set(trace.others.opentelemetry.map(([name]) => name));
  for (const [name, fallback] of Object.entries(BATCH_DEFAULTS)) {
    if (given.has(name)) continue;
    const variable = `OTEL_${name.toUpperCase()}`;
    const value = environment[variable];
    const number = value === undefined ? fallback : integer(value, variable);
    trace.others = { ...trace.others, opentelemetry: [...trace.others.opentelemetry, [name, String(number)]] };
  }
}

/** Stands in the set of given settings for a level OFF, which counts more than any other, wherever it stands. */
const OFF = 'level=OFF';

/** Adds a trace level; OFF disables all. Levels of the first releases stand for TIMESTAMPS. */
export function parseTraceLevel(trace: TraceDraft, value: string, option: string): void {
  const level = value.toLowerCase();
  if (level === 'off' || level === 'false') trace.given.add(OFF);
  else if (['timestamps', 'true', 'on', 'min', 'max'].includes(level)) trace.level = add(trace.level, 'TIMESTAMPS');
  else if (level === 'tensors') trace.level = add(trace.level, 'TENSORS');
  else throw new BadOption(`invalid value for trace level option: ${level}`, option);
  if (trace.given.has(OFF)) trace.level = [];
}

function add(levels: TraceOptions['level'], level: 'TIMESTAMPS' | 'TENSORS'): TraceOptions['level'] {
  const both = new Set([...levels, level]);
  return (['TIMESTAMPS', 'TENSORS'] as const).filter((name) => both.has(name));
}

function parseMode(value: string): TraceOptions['mode'] {
  const mode = value.toLowerCase();
  if (mode === 'triton' || mode === 'opentelemetry') return mode;
  throw modeError(mode, 'trace-config mode');
}

function modeError(mode: string, option?: string): BadOption {
  return new BadOption(
    `invalid value for trace mode option: ${mode}. Available options are "triton" and "opentelemetry"`,
    option,
  );
}

function integer(value: string, option: string): number {
  try {
    return parseInt32(value);
  } catch (reason) {
    throw new BadOption((reason as Error).message, option);
  }
}
