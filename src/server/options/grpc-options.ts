import type { NamePattern } from '../../base/name-pattern.js';
import { boolean, byteCount, text, timeoutMs } from '../../base/options/parse-value.js';
import type { EndpointOptions } from './http-options.js';
import { BadOption, parseBool, parseInt32, positive } from './parse-value.js';
import { parseRestrictions, type Restrictions } from './restrictions.js';
import { checked, compatOneOf, option, pattern, type ServerOption } from './server-option.js';
import { type ServerTlsOptions, tlsOptions } from './tls-options.js';

/** Largest message that gRPC takes and sends, in bytes. */
export const GRPC_MAX_MESSAGE_BYTES = 2147483647;

/** Level of the compression of inference responses. */
export type CompressionLevel = 'none' | 'low' | 'medium' | 'high';

/** Options of the gRPC front end. Times in milliseconds; 0 = unset for the connection ages. */
export interface GrpcOptions extends EndpointOptions {
  readonly reusePort: boolean;
  readonly headerForward: NamePattern | undefined;
  readonly restrictions: Restrictions;
  readonly responseCompression: CompressionLevel;
  /** Serve grpc.reflection, so that tools can list the calls. */
  readonly reflection: boolean;
  readonly tls: ServerTlsOptions | undefined;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly keepalivePermitWithoutCalls: boolean;
  readonly maxPingsWithoutData: number;
  readonly minRecvPingIntervalWithoutDataMs: number;
  readonly maxPingStrikes: number;
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
  /** Bytes of a message that came compressed, after decompression. */
  readonly maxInflatedSize: number;
  /** Bytes of responses that may wait for one connection's windows. */
  readonly connectionMaxBacklog: number;
  /** 0 = no limit. */
  readonly readTimeoutMs: number;
  readonly writeTimeoutMs: number;
}

/** The values that hold when an option is not given. */
export const GRPC_DEFAULTS: GrpcOptions = {
  enabled: true,
  address: '0.0.0.0',
  port: 8001,
  reusePort: false,
  headerForward: undefined,
  restrictions: new Map(),
  responseCompression: 'none',
  reflection: true,
  tls: undefined,
  keepaliveTimeMs: 7200000,
  keepaliveTimeoutMs: 20000,
  keepalivePermitWithoutCalls: false,
  maxPingsWithoutData: 2,
  minRecvPingIntervalWithoutDataMs: 300000,
  maxPingStrikes: 2,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
  maxInflatedSize: 268435456,
  connectionMaxBacklog: 1073741824,
  readTimeoutMs: 60000,
  writeTimeoutMs: 300000,
};

const group = 'GRPC';

/** What the options of keep-alive and of connections have in common: Triton reads them as C's int. */
const integer = { group, argument: 'integer', parse: parseInt32 } as const;

const CONNECTIONS: readonly ServerOption[] = [
  option({
    ...integer,
    name: 'grpc-keepalive-time',
    into: ['grpc', 'keepaliveTimeMs'],
    help: 'Milliseconds of silence before a ping is sent.',
  }),
  option({
    ...integer,
    name: 'grpc-keepalive-timeout',
    into: ['grpc', 'keepaliveTimeoutMs'],
    help: 'Milliseconds that the response to a ping may take.',
  }),
  option({
    name: 'grpc-keepalive-permit-without-calls',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['grpc', 'keepalivePermitWithoutCalls'],
    help: 'Send pings also when no call is open.',
  }),
  option({
    ...integer,
    name: 'grpc-http2-max-pings-without-data',
    into: ['grpc', 'maxPingsWithoutData'],
    help: 'Pings that may be sent without data between them.',
  }),
  option({
    ...integer,
    name: 'grpc-http2-min-recv-ping-interval-without-data',
    into: ['grpc', 'minRecvPingIntervalWithoutDataMs'],
    help: 'Shortest time between pings of a client without data, in milliseconds.',
  }),
  option({
    ...integer,
    name: 'grpc-http2-max-ping-strikes',
    into: ['grpc', 'maxPingStrikes'],
    help: 'Pings too early that close a connection.',
  }),
  option({
    ...integer,
    name: 'grpc-max-connection-age',
    into: ['grpc', 'maxConnectionAgeMs'],
    help: 'Milliseconds after which a connection is closed in good order.',
    default: 'never',
  }),
  option({
    ...integer,
    name: 'grpc-max-connection-age-grace',
    into: ['grpc', 'maxConnectionAgeGraceMs'],
    help: 'Milliseconds that its open calls then still have.',
    default: 'no limit',
  }),
];

const LIMITS: readonly ServerOption[] = [
  option({
    name: 'grpc-max-inflated-size',
    group,
    argument: 'integer',
    parse: byteCount,
    into: ['grpc', 'maxInflatedSize'],
    help: 'Largest request message that comes compressed, in bytes after decompression.',
  }),
  option({
    name: 'grpc-connection-max-backlog',
    group,
    argument: 'integer',
    parse: byteCount,
    into: ['grpc', 'connectionMaxBacklog'],
    help: 'Bytes of responses that may wait for one connection to read them; further requests and responses are refused.',
  }),
  option({
    name: 'grpc-read-timeout',
    group,
    argument: 'integer',
    parse: timeoutMs,
    into: ['grpc', 'readTimeoutMs'],
    help:
      'Milliseconds after which a request that is incomplete and makes no progress ends, and in which each frame must ' +
      'be complete. 0 = no limit.',
  }),
  option({
    name: 'grpc-write-timeout',
    group,
    argument: 'integer',
    parse: timeoutMs,
    into: ['grpc', 'writeTimeoutMs'],
    help: 'Milliseconds after which a response of which the client takes nothing is dropped. 0 = no limit.',
  }),
];

/** The options of the gRPC front end. */
export const GRPC_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'allow-grpc',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['grpc', 'enabled'],
    help: 'Serve gRPC.',
  }),
  option({
    name: 'grpc-address',
    group,
    argument: 'string',
    parse: text,
    into: ['grpc', 'address'],
    help: 'Address to listen on.',
  }),
  option({
    ...integer,
    name: 'grpc-port',
    into: ['grpc', 'port'],
    help: 'Port; 0 = any free port.',
  }),
  option({
    name: 'reuse-grpc-port',
    group,
    argument: 'boolean',
    parse: parseBool,
    into: ['grpc', 'reusePort'],
    help: 'Let several servers share the port (needs Node 23.1 or newer).',
  }),
  option({
    name: 'grpc-header-forward-pattern',
    group,
    argument: 'string',
    parse: pattern,
    into: ['grpc', 'headerForward'],
    help: 'Call metadata whose key this regular expression (RE2 syntax) finds become request parameters.',
  }),
  checked({
    name: 'grpc-infer-thread-count',
    group,
    argument: 'integer',
    parse(value: string) {
      const count = parseInt32(value);
      if (count < 2 || count > 128) {
        throw new BadOption('invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.');
      }
    },
    note: 'one event loop serves all connections',
  }),
  checked({ ...integer, name: 'grpc-infer-allocation-pool-size', note: 'requests are not taken from a pool' }),
  checked({
    name: 'grpc-max-response-pool-size',
    group,
    argument: 'integer',
    parse: (value: string) => positive(value, 'Error: --grpc-max-response-pool-size must be greater than 0.'),
    note: 'streams wait for their peer by themselves',
  }),
  ...tlsOptions('grpc', group),
  option({
    name: 'grpc-infer-response-compression-level',
    group,
    argument: 'string',
    parse: compatOneOf<CompressionLevel>(
      ['none', 'low', 'medium', 'high'],
      'invalid argument for --grpc_infer_response_compression_level',
    ),
    into: ['grpc', 'responseCompression'],
    help: 'Compression of inference responses: none, low, medium or high.',
  }),
  ...CONNECTIONS,
  ...LIMITS,
  option({
    name: 'grpc-restricted-protocol',
    group,
    argument: '<string>:<string>=<string>',
    help:
      'PROTOCOLS,...:KEY=VALUE: these groups of calls need the metadata triton-grpc-protocol-KEY with VALUE. May be ' +
      'given several times.',
    repeatable: true,
    parse: text,
    set({ options: { grpc } }, value) {
      const words = { word: 'protocol', option: '--grpc-restricted-protocol' } as const;
      grpc.restrictions = parseRestrictions(value, words, grpc.restrictions);
    },
  }),
  option({
    name: 'grpc-reflection',
    group,
    argument: 'boolean',
    parse: boolean,
    into: ['grpc', 'reflection'],
    help: 'Serve grpc.reflection, which tools such as grpcurl use to list and call methods.',
  }),
];
