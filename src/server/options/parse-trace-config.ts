import { BadOption, parseInt32 } from './parse-value.js';
import type { OptionsDraft, TraceOptions } from './server-options.js';

type TraceDraft = OptionsDraft['trace'];

/** One `--trace-config [<mode>,]<setting>=<value>`. */
export function parseTraceConfig(trace: TraceDraft, mode: string, setting: string, value: string): void {
  if (mode !== '' && mode !== 'triton' && mode !== 'opentelemetry') throw modeError(mode.toLowerCase());
  const name = `trace-config ${mode === '' ? '' : `${mode},`}${setting}`;
  if (setting === 'level') parseTraceLevel(trace, value, 'trace-config level');
  else if (setting === 'mode') trace.mode = parseMode(value);
  else if (setting === 'rate') trace.rate = integer(value, 'trace-config rate');
  else if (setting === 'count') trace.count = integer(value, 'trace-config count');
  else if (mode === 'triton' && setting === 'file') trace.file = value;
  else if (mode === 'triton' && setting === 'log-frequency') trace.logFrequency = integer(value, name);
  else trace.others = [...trace.others.filter(([key]) => key !== setting), [setting, value]];
}

/** Adds a trace level; OFF clears. Levels of the first releases stand for TIMESTAMPS. */
export function parseTraceLevel(trace: TraceDraft, value: string, option: string): void {
  const level = value.toLowerCase();
  if (level === 'off' || level === 'false') trace.level = [];
  else if (['timestamps', 'true', 'on', 'min', 'max'].includes(level)) trace.level = add(trace.level, 'TIMESTAMPS');
  else if (level === 'tensors') trace.level = add(trace.level, 'TENSORS');
  else throw new BadOption(`invalid value for trace level option: ${level}`, option);
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
