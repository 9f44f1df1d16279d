import { deprecated, type OptionSpec } from './option-spec.js';
import { parseTraceLevel } from './parse-trace-config.js';
import { parseBool, parseInt32 } from './parse-value.js';

const traceWarning = (name: string, instead: string): string =>
  `Warning: '--${name}' has been deprecated and will be removed in future releases. Please use '--trace-config ${instead} instead.`;

/** Options that have been replaced. */
export const DEPRECATED_OPTIONS: readonly OptionSpec[] = [
  deprecated(
    'strict-model-config',
    'boolean',
    "Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.",
    (value, { draft, given }) => {
      const strict = parseBool(value);
      if (!given.has('disable-auto-complete-config')) draft.autoComplete = !strict;
      if (strict) given.delete('strict-model-config');
    },
  ),
  {
    group: 'DEPRECATED',
    name: 'response-cache-byte-size',
    argument: 'integer',
    help: 'Use --cache-config.',
    apply(value, state) {
      const size = parseInt32(value);
      state.warn(
        "Warning: '--response-cache-byte-size' has been deprecated! This will default to the 'local' cache " +
          "implementation with the provided byte size for its config. Please use '--cache-config' instead. The " +
          `equivalent --cache-config CLI args would be: '--cache-config=local,size=${size}'`,
      );
      if (size > 0) {
        state.draft.cacheConfig = [...state.draft.cacheConfig, { cache: 'local', key: 'size', value: String(size) }];
      }
    },
  },
  deprecated('trace-file', 'string', traceWarning('trace-file', 'triton,file=<path/to/your/trace/file>'), (v, s) => {
    if (!s.draft.trace.given.has('file')) s.draft.trace.file = v;
  }),
  deprecated('trace-level', 'string', traceWarning('trace-level', 'level=<OFF|TIMESTAMPS|TENSORS>'), (v, { draft }) => {
    parseTraceLevel(draft.trace, v, 'trace-level');
  }),
  deprecated('trace-rate', 'integer', traceWarning('trace-rate', 'rate=<rate value>'), (v, { draft }) => {
    const rate = parseInt32(v);
    if (!draft.trace.given.has('rate')) draft.trace.rate = rate;
  }),
  deprecated('trace-count', 'integer', traceWarning('trace-count', 'count=<count value>'), (v, { draft }) => {
    const count = parseInt32(v);
    if (!draft.trace.given.has('count')) draft.trace.count = count;
  }),
  deprecated(
    'trace-log-frequency',
    'integer',
    traceWarning('trace-log-frequency', 'triton,log-frequency=<log frequency value>'),
    (v, { draft }) => {
      const frequency = parseInt32(v);
      if (!draft.trace.given.has('log-frequency')) draft.trace.logFrequency = frequency;
    },
  ),
];
