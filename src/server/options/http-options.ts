import type { NamePattern } from '../../base/name-pattern.js';
import { OptionError } from '../../base/options/option-error.js';
import { boolean, text, timeoutSeconds } from '../../base/options/parse-value.js';
import { parseBool, parseInt32, positive } from './parse-value.js';
import { parseRestrictions, type Restrictions } from './restrictions.js';
import { checked, option, pattern, type ServerOption } from './server-option.js';
import { type ServerTlsOptions, tlsOptions } from './tls-options.js';

/** One listening address. */
export interface EndpointOptions {
  readonly enabled: boolean;
  readonly address: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** Options of the HTTP front end. */
export interface HttpOptions extends EndpointOptions {
  readonly reusePort: boolean;
  /** Request headers whose names match become request parameters; undefined = none. */
  readonly headerForward: NamePattern | undefined;
  /** Bytes; limits the JSON part, JSON tensors, raw bodies and decompressed bodies. */
  readonly maxInputSize: number;
  /** Seconds without progress after which a client is cut that does not send its request, or read its response; 0 = never. */
  readonly clientTimeoutSeconds: number;
  /** Whether a client that has closed its sending side while it waits still gets its response. */
  readonly halfClose: boolean;
  readonly tls: ServerTlsOptions | undefined;
  readonly restrictions: Restrictions;
  /** Origins whose web pages may call; `*` = all. Empty: no response says anything about origins. */
  readonly corsOrigins: readonly string[];
}

/** The values that hold when an option is not given. */
export const HTTP_DEFAULTS: HttpOptions = {
  enabled: true,
  address: '0.0.0.0',
  port: 8000,
  reusePort: false,
  headerForward: undefined,
  maxInputSize: 67108864,
  clientTimeoutSeconds: 60,
  halfClose: false,
  tls: undefined,
  restrictions: new Map(),
  corsOrigins: [],
};

const group = 'HTTP';

/** The options of the HTTP front end. */
export const HTTP_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'allow-http',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['http', 'enabled'],
    help: 'Serve HTTP.',
  }),
  option({
    name: 'http-address',
    group,
    argument: 'string',
    parse: text,
    into: ['http', 'address'],
    help: 'Address to listen on.',
  }),
  option({
    name: 'http-port',
    group,
    argument: 'integer',
    parse: parseInt32,
    into: ['http', 'port'],
    help: 'Port; 0 = any free port.',
  }),
  option({
    name: 'reuse-http-port',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['http', 'reusePort'],
    help: 'Let several servers share the port (needs Node 23.1 or newer).',
  }),
  option({
    name: 'http-header-forward-pattern',
    group,
    argument: 'string',
    parse: pattern,
    into: ['http', 'headerForward'],
    help: 'Headers whose name this regular expression (RE2 syntax) finds become request parameters.',
  }),
  checked({
    name: 'http-thread-count',
    group,
    argument: 'integer',
    parse: parseInt32,
    note: 'one event loop serves all connections',
  }),
  option({
    name: 'http-max-input-size',
    group,
    argument: 'integer',
    parse: (value: string) => positive(value, 'Error: --http-max-input-size must be greater than 0.'),
    into: ['http', 'maxInputSize'],
    help: 'Largest JSON part, JSON tensor, raw or decompressed body in bytes.',
  }),
  option({
    name: 'http-client-timeout',
    group,
    argument: 'integer',
    parse: timeoutSeconds,
    into: ['http', 'clientTimeoutSeconds'],
    help:
      'Seconds without progress after which a client is cut that has sent a part of a request, or does not read its ' +
      'response. 0 = never.',
  }),
  option({
    name: 'http-half-close',
    group,
    argument: 'boolean',
    parse: boolean,
    into: ['http', 'halfClose'],
    help:
      'Respond to clients that close their sending side while they wait. Otherwise they count as gone, and what they ' +
      'asked for is dropped.',
  }),
  ...tlsOptions('http', group),
  option({
    name: 'http-restricted-api',
    group,
    argument: '<string>:<string>=<string>',
    help: 'APIs,...:KEY=VALUE: these groups of calls need the header KEY with VALUE. May be given several times.',
    repeatable: true,
    parse: text,
    set({ options: { http } }, value) {
      const words = { word: 'api', option: '--http-restricted-api' } as const;
      http.restrictions = parseRestrictions(value, words, http.restrictions);
    },
  }),
  option({
    name: 'http-cors-origin',
    group,
    argument: 'string',
    help: 'Web pages of this origin (such as https://example.org, or * for all) may call. May be given several times.',
    repeatable: true,
    parse: corsOrigin,
    set({ options: { http } }, origin) {
      http.corsOrigins = [...http.corsOrigins, origin];
    },
  }),
];

function corsOrigin(value: string): string {
  if (value === '*') return value;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || url.origin.toLowerCase() !== value.toLowerCase()) {
    throw new OptionError(`expected an origin such as https://example.org, or *, got '${value}'`);
  }
  return value;
}
