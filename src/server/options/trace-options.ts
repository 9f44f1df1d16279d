import { text } from '../../base/options/parse-value.js';
import { BadOption, parseGroupedSetting, parseInt32 } from './parse-value.js';
import { deprecated, option, type ParseState, type ServerOption } from './server-option.js';

/** Start values of the trace settings. */
export interface TraceOptions {
  readonly mode: 'triton' | 'opentelemetry';
  readonly level: readonly ('TIMESTAMPS' | 'TENSORS')[];
  readonly rate: number;
  readonly count: number;
  readonly logFrequency: number;
  readonly file: string;
  /** Other settings by mode, as given; a name may come more than once. */
  readonly others: Readonly<Record<'triton' | 'opentelemetry', readonly (readonly [name: string, value: string])[]>>;
}

/** The values that hold when an option is not given. */
export const TRACE_DEFAULTS: TraceOptions = {
  mode: 'triton',
  level: [],
  rate: 1000,
  count: -1,
  logFrequency: 0,
  file: '',
  others: { triton: [], opentelemetry: [] },
};

type TraceState = Pick<ParseState, 'options' | 'traceGiven'>;

/** The options of traces. */
export const TRACE_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'trace-config',
    group: 'Tracing',
    argument: '<string>,<string>=<string>',
    help: '[MODE,]SETTING=VALUE: start values of the trace settings. May be given several times.',
    repeatable: true,
    parse: (value) =>
      parseGroupedSetting(value, {
        noGroup:
          'No trace mode specified. --trace-config option format is <trace mode>,<setting>=<value> or ' +
          '<setting>=<value>. Got ',
        format: "--trace-config option format is '<trace mode>,<setting>=<value>'. Got ",
        groupRequired: false,
      }),
    set: setTraceConfig,
  }),
];

function setTraceConfig(state: TraceState, [mode, setting, value]: [string, string, string]): void {
  if (mode !== '' && mode !== 'triton' && mode !== 'opentelemetry') throw modeError(mode.toLowerCase());
  const { trace } = state.options;
  state.traceGiven.add(setting);
  const name = `trace-config ${mode === '' ? '' : `${mode},`}${setting}`;
  if (setting === 'level') addTraceLevel(state, value, 'trace-config level');
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
export function completeTraceConfig({ options: { trace } }: TraceState, environment: NodeJS.ProcessEnv): void {
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
function addTraceLevel({ options: { trace }, traceGiven }: TraceState, value: string, name: string): void {
  const level = value.toLowerCase();
  if (level === 'off' || level === 'false') traceGiven.add(OFF);
  else if (['timestamps', 'true', 'on', 'min', 'max'].includes(level)) trace.level = add(trace.level, 'TIMESTAMPS');
  else if (level === 'tensors') trace.level = add(trace.level, 'TENSORS');
  else throw new BadOption(`invalid value for trace level option: ${level}`, name);
  if (traceGiven.has(OFF)) trace.level = [];
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

function modeError(mode: string, name?: string): BadOption {
  return new BadOption(
    `invalid value for trace mode option: ${mode}. Available options are "triton" and "opentelemetry"`,
    name,
  );
}

function integer(value: string, name: string): number {
  try {
    return parseInt32(value);
  } catch (reason) {
    throw new BadOption((reason as Error).message, name);
  }
}

const warning = (name: string, instead: string): string =>
  `Warning: '--${name}' has been deprecated and will be removed in future releases. Please use '--trace-config ${instead} instead.`;

/** The earlier forms of `--trace-config`, which counts more, wherever it stands. */
export const DEPRECATED_TRACE_OPTIONS: readonly ServerOption[] = [
  deprecated({
    name: 'trace-file',
    argument: 'string',
    warning: warning('trace-file', 'triton,file=<path/to/your/trace/file>'),
    parse: text,
    set({ options, traceGiven }, file) {
      if (!traceGiven.has('file')) options.trace.file = file;
    },
  }),
  deprecated({
    name: 'trace-level',
    argument: 'string',
    warning: warning('trace-level', 'level=<OFF|TIMESTAMPS|TENSORS>'),
    parse: text,
    set: (state, level) => addTraceLevel(state, level, 'trace-level'),
  }),
  deprecated({
    name: 'trace-rate',
    argument: 'integer',
    warning: warning('trace-rate', 'rate=<rate value>'),
    parse: parseInt32,
    set({ options, traceGiven }, rate) {
      if (!traceGiven.has('rate')) options.trace.rate = rate;
    },
  }),
  deprecated({
    name: 'trace-count',
    argument: 'integer',
    warning: warning('trace-count', 'count=<count value>'),
    parse: parseInt32,
    set({ options, traceGiven }, count) {
      if (!traceGiven.has('count')) options.trace.count = count;
    },
  }),
  deprecated({
    name: 'trace-log-frequency',
    argument: 'integer',
    warning: warning('trace-log-frequency', 'triton,log-frequency=<log frequency value>'),
    parse: parseInt32,
    set({ options, traceGiven }, frequency) {
      if (!traceGiven.has('log-frequency')) options.trace.logFrequency = frequency;
    },
  }),
];
