import { checked, type OptionSpec, option, pattern, positive, text } from './option-spec.js';
import { parseRestrictions } from './parse-restrictions.js';
import { BadOption, parseBool, parseInt32, parseTimeoutSeconds } from './parse-value.js';
import { tlsOptions } from './tls-options.js';

const HTTP = 'HTTP';

/** Options of the HTTP front end. */
export const HTTP_OPTIONS: readonly OptionSpec[] = [
  option(HTTP, 'allow-http', 'boolean', parseBool, (d, v) => (d.http.enabled = v), 'Serve HTTP. Default true.'),
  option(
    HTTP,
    'http-address',
    'string',
    text,
    (d, v) => (d.http.address = v),
    'Address to listen on. Default 0.0.0.0.',
  ),
  option(
    HTTP,
    'http-port',
    'integer',
    parseInt32,
    (d, v) => (d.http.port = v),
    'Port; 0 = any free port. Default 8000.',
  ),
  option(
    HTTP,
    'reuse-http-port',
    'boolean',
    parseBool,
    (d, v) => (d.http.reusePort = v),
    'Let several servers share the port (needs Node 23.1 or newer). Default false.',
  ),
  option(
    HTTP,
    'http-header-forward-pattern',
    'string',
    pattern,
    (d, v) => (d.http.headerForward = v),
    'Headers whose name this regular expression finds become request parameters.',
  ),
  checked(HTTP, 'http-thread-count', 'integer', parseInt32, 'one event loop serves all connections'),
  option(
    HTTP,
    'http-max-input-size',
    'integer',
    (v) => positive(v, 'Error: --http-max-input-size must be greater than 0.'),
    (d, v) => (d.http.maxInputSize = v),
    'Largest JSON part, JSON tensor, raw or decompressed body in bytes. Default 67108864.',
  ),
  option(
    HTTP,
    'http-client-timeout',
    'integer',
    parseTimeoutSeconds,
    (d, v) => (d.http.clientTimeoutSeconds = v),
    'Seconds without progress after which a client is cut that has sent a part of a request, or does not read its ' +
      'response. 0 = never. Default 60.',
  ),
  option(
    HTTP,
    'http-half-close',
    'boolean',
    parseBool,
    (d, v) => (d.http.halfClose = v),
    'Answer clients that close their sending side while they wait. Otherwise they count as gone, and what they asked ' +
      'for is dropped. Default false.',
  ),
  ...tlsOptions('http', HTTP),
  {
    group: HTTP,
    name: 'http-restricted-api',
    argument: '<string>:<string>=<string>',
    help: 'APIs,...:KEY=VALUE: these groups of calls need the header KEY with VALUE. May be given several times.',
    apply(value, { draft }) {
      draft.http.restrictions = parseRestrictions(value, 'api', '--http-restricted-api', draft.http.restrictions);
    },
  },
  {
    group: HTTP,
    name: 'http-cors-origin',
    argument: 'string',
    help: 'Web pages of this origin (such as https://example.org, or * for all) may call. May be given several times.',
    apply(value, { draft }) {
      draft.http.corsOrigins = [...draft.http.corsOrigins, corsOrigin(value)];
    },
  },
];

function corsOrigin(value: string): string {
  if (value === '*') return value;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || url.origin.toLowerCase() !== value.toLowerCase()) {
    throw new BadOption(`--http-cors-origin wants an origin such as https://example.org or *, got ${value}`);
  }
  return value;
}
