import os from 'node:os';
import { byteLimit, text, wholeNumber } from '../../base/options/parse-value.js';
import { PROTOCOL_VERSION } from '../../base/package.js';
import { isLogFormat, type LogFormat } from '../log/format.js';
import type { LogSettings } from '../log/server-log.js';
import { BadOption, parseBool, parseInt32 } from './parse-value.js';
import { option, type ServerOption } from './server-option.js';

/** Options of the server as a whole. */
export interface GeneralOptions {
  readonly id: string;
  /** Release that the metadata name; clients may look at it. */
  readonly version: string;
  readonly exitTimeoutSeconds: number;
}

/** What all clients together may make the server hold. */
export interface LimitOptions {
  /** Bytes of responses that may wait for a client that reads its stream slowly; 0 = no limit. */
  readonly streamMaxBacklog: number;
  /** Bytes of requests that all clients together may make the server hold; 0 = no limit. */
  readonly requestMemory: number;
  /** Bytes of responses that may wait for all clients together; 0 = no limit. */
  readonly responseMemory: number;
  readonly allowClientSharedMemory: boolean;
  /** Regions that clients may register at a time. */
  readonly sharedMemoryRegions: number;
}

/** The values that hold when an option is not given. */
export const GENERAL_DEFAULTS: GeneralOptions = { id: 'triton', version: PROTOCOL_VERSION, exitTimeoutSeconds: 30 };

/** The values that hold when an option is not given. */
export const LIMIT_DEFAULTS: LimitOptions = {
  streamMaxBacklog: 268435456,
  requestMemory: quarterOfMemory(),
  responseMemory: quarterOfMemory(),
  allowClientSharedMemory: false,
  sharedMemoryRegions: 16_384,
};

/** The values that hold when an option is not given. */
export const LOG_DEFAULTS: Readonly<LogSettings> = {
  info: true,
  warning: true,
  error: true,
  verboseLevel: 0,
  format: 'default',
  file: '',
};

/** A quarter of the memory that this process may use: what the machine has, or less where a container sets a limit. */
function quarterOfMemory(): number {
  const constrained = process.constrainedMemory();
  const machine = os.totalmem();
  return Math.floor((constrained > 0 ? Math.min(constrained, machine) : machine) / 4);
}

/** The options of the server as a whole and of what clients may make it hold. */
export const GENERAL_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'id',
    group: 'Server',
    argument: 'string',
    parse: text,
    into: ['general', 'id'],
    help: 'Name of the server in its metadata.',
  }),
  option({
    name: 'server-version',
    group: 'Server',
    argument: 'string',
    parse: text,
    into: ['general', 'version'],
    help: "Release in the server's metadata, for clients that look at it.",
  }),
  option({
    name: 'exit-timeout-secs',
    group: 'Server',
    argument: 'integer',
    parse: (value: string) => Math.max(parseInt32(value), 0),
    into: ['general', 'exitTimeoutSeconds'],
    help: 'Seconds that a stop waits for requests in flight before it cuts them.',
  }),
  option({
    name: 'stream-max-backlog',
    group: 'Server',
    argument: 'integer',
    parse: byteLimit,
    into: ['limits', 'streamMaxBacklog'],
    help: 'Bytes of responses that may wait for a client that reads its stream slowly; more end the stream. 0 = no limit.',
  }),
  option({
    name: 'request-memory-limit',
    group: 'Server',
    argument: 'integer',
    parse: byteLimit,
    into: ['limits', 'requestMemory'],
    help:
      'Bytes of requests that the server holds at a time, while they arrive, wait and execute; what exceeds them is ' +
      'refused. 0 = no limit.',
    default: 'a quarter of the memory',
  }),
  option({
    name: 'response-memory-limit',
    group: 'Server',
    argument: 'integer',
    parse: byteLimit,
    into: ['limits', 'responseMemory'],
    help: 'Bytes of responses that may wait for clients at a time; what exceeds them is refused. 0 = no limit.',
    default: 'a quarter of the memory',
  }),
];

/** The options of shared memory. */
export const SHARED_MEMORY_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'allow-client-shm',
    group: 'Shared Memory',
    argument: 'boolean',
    parse: parseBool,
    into: ['limits', 'allowClientSharedMemory'],
    help: 'Let clients register shared memory.',
  }),
  option({
    name: 'client-shm-region-limit',
    group: 'Shared Memory',
    argument: 'integer',
    parse: wholeNumber({ unit: 'regions', from: 1, to: Number.MAX_SAFE_INTEGER }),
    into: ['limits', 'sharedMemoryRegions'],
    help: 'Shared memory regions that clients may register at a time.',
  }),
];

/** The options of the log. */
export const LOG_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'log-verbose',
    group: 'Logging',
    argument: 'integer',
    parse: (value: string) => (/^true$/i.test(value) ? 1 : /^false$/i.test(value) ? 0 : Math.max(parseInt32(value), 0)),
    into: ['log', 'verboseLevel'],
    help: 'Level of verbose records; 0 shows none.',
  }),
  ...(['info', 'warning', 'error'] as const).map((level) =>
    option({
      name: `log-${level}`,
      group: 'Logging',
      argument: 'boolean',
      parse: parseBool,
      into: ['log', level],
      help: `Show ${level === 'info' ? 'info records' : `${level}s`}.`,
    }),
  ),
  option({
    name: 'log-format',
    group: 'Logging',
    argument: 'string',
    parse(value: string): LogFormat {
      if (!isLogFormat(value)) throw new BadOption('invalid argument for --log-format');
      return value;
    },
    into: ['log', 'format'],
    help: 'Form of log records: default or ISO8601.',
  }),
  option({
    name: 'log-file',
    group: 'Logging',
    argument: 'string',
    parse: text,
    into: ['log', 'file'],
    help: 'Append the log to this file instead of writing it to stdout (info) and stderr (warnings, errors).',
  }),
];
