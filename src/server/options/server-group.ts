import { PROTOCOL_VERSION } from '../../base/package.js';
import { isLogFormat, type LogFormat } from '../log/format.js';
import { type OptionSpec, option, text } from './option-spec.js';
import { BadOption, parseBool, parseByteLimit, parseInt32 } from './parse-value.js';

const LOGGING = 'Logging';

const SERVER: OptionSpec[] = [
  option('Server', 'id', 'string', text, (d, v) => (d.id = v), 'Name of the server in its metadata. Default triton.'),
  option(
    'Server',
    'server-version',
    'string',
    text,
    (d, v) => (d.version = v),
    `Release in the server's metadata, for clients that look at it. Default ${PROTOCOL_VERSION}.`,
  ),
  option(
    'Server',
    'exit-timeout-secs',
    'integer',
    parseInt32,
    (d, v) => (d.exitTimeoutSeconds = Math.max(v, 0)),
    'Seconds that a stop waits for requests in flight before it cuts them. Default 30.',
  ),
  option(
    'Server',
    'stream-max-backlog',
    'integer',
    parseByteLimit,
    (d, v) => (d.streamMaxBacklog = v),
    'Bytes of responses that may wait for a client that reads its stream slowly; more end the stream. 0 = no limit. Default 268435456.',
  ),
  option(
    'Server',
    'request-memory-limit',
    'integer',
    parseByteLimit,
    (d, v) => (d.requestMemoryLimit = v),
    'Bytes of requests that the server holds at a time, while they arrive, wait and execute; what exceeds them is refused. 0 = no limit. Default a quarter of the memory.',
  ),
  option(
    'Server',
    'response-memory-limit',
    'integer',
    parseByteLimit,
    (d, v) => (d.responseMemoryLimit = v),
    'Bytes of responses that may wait for clients at a time; what exceeds them is refused. 0 = no limit. Default a quarter of the memory.',
  ),
];

const LOG: OptionSpec[] = [
  option(
    LOGGING,
    'log-verbose',
    'integer',
    (v) => (/^true$/i.test(v) ? 1 : /^false$/i.test(v) ? 0 : parseInt32(v)),
    (d, v) => (d.log.verboseLevel = Math.max(v, 0)),
    'Level of verbose records; 0 (the default) shows none.',
  ),
  option(LOGGING, 'log-info', 'boolean', parseBool, (d, v) => (d.log.info = v), 'Show info records. Default true.'),
  option(LOGGING, 'log-warning', 'boolean', parseBool, (d, v) => (d.log.warning = v), 'Show warnings. Default true.'),
  option(LOGGING, 'log-error', 'boolean', parseBool, (d, v) => (d.log.error = v), 'Show errors. Default true.'),
  option(
    LOGGING,
    'log-format',
    'string',
    (v): LogFormat => {
      if (!isLogFormat(v)) throw new BadOption('invalid argument for --log-format');
      return v;
    },
    (d, v) => (d.log.format = v),
    'default or ISO8601.',
  ),
  option(
    LOGGING,
    'log-file',
    'string',
    text,
    (d, v) => (d.log.file = v),
    'Append the log to this file instead of writing it to stdout (info) and stderr (warnings, errors).',
  ),
];

/** Options of the server itself and of its log. */
export const SERVER_OPTIONS: readonly OptionSpec[] = [...SERVER, ...LOG];
