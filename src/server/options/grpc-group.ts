import { checked, type OptionSpec, oneOf, option, pattern, positive, type Setter, text } from './option-spec.js';
import { parseRestrictions } from './parse-restrictions.js';
import { BadOption, parseBool, parseByteCount, parseInt32, parseTimeoutMs } from './parse-value.js';
import type { CompressionLevel } from './server-options.js';
import { tlsOptions } from './tls-options.js';

const GRPC = 'GRPC';

const milliseconds = (name: string, set: Setter<number>, help: string): OptionSpec =>
  option(GRPC, name, 'integer', parseInt32, set, help);

/** Options of the gRPC front end. */
export const GRPC_OPTIONS: readonly OptionSpec[] = [
  option(GRPC, 'allow-grpc', 'boolean', parseBool, (d, v) => (d.grpc.enabled = v), 'Serve gRPC. Default true.'),
  option(
    GRPC,
    'grpc-address',
    'string',
    text,
    (d, v) => (d.grpc.address = v),
    'Address to listen on. Default 0.0.0.0.',
  ),
  option(
    GRPC,
    'grpc-port',
    'integer',
    parseInt32,
    (d, v) => (d.grpc.port = v),
    'Port; 0 = any free port. Default 8001.',
  ),
  option(
    GRPC,
    'reuse-grpc-port',
    'boolean',
    parseBool,
    (d, v) => (d.grpc.reusePort = v),
    'Let several servers share the port (needs Node 23.1 or newer). Default false.',
  ),
  option(
    GRPC,
    'grpc-header-forward-pattern',
    'string',
    pattern,
    (d, v) => (d.grpc.headerForward = v),
    'Call metadata whose key this regular expression finds become request parameters.',
  ),
  checked(
    GRPC,
    'grpc-infer-thread-count',
    'integer',
    (v) => {
      const count = parseInt32(v);
      if (count < 2 || count > 128) {
        throw new BadOption('invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.');
      }
    },
    'one event loop serves all connections',
  ),
  checked(GRPC, 'grpc-infer-allocation-pool-size', 'integer', parseInt32, 'requests are not taken from a pool'),
  checked(
    GRPC,
    'grpc-max-response-pool-size',
    'integer',
    (v) => positive(v, 'Error: --grpc-max-response-pool-size must be greater than 0.'),
    'streams wait for their peer by themselves',
  ),
  ...tlsOptions('grpc', GRPC),
  option(
    GRPC,
    'grpc-infer-response-compression-level',
    'string',
    oneOf<CompressionLevel>(
      ['none', 'low', 'medium', 'high'],
      'invalid argument for --grpc_infer_response_compression_level',
    ),
    (d, v) => (d.grpc.responseCompression = v),
    'Compression of inference responses: none, low, medium or high. Default none.',
  ),
  milliseconds(
    'grpc-keepalive-time',
    (d, v) => (d.grpc.keepaliveTimeMs = v),
    'Milliseconds of silence before a ping is sent. Default 7200000.',
  ),
  milliseconds(
    'grpc-keepalive-timeout',
    (d, v) => (d.grpc.keepaliveTimeoutMs = v),
    'Milliseconds that the answer to a ping may take. Default 20000.',
  ),
  option(
    GRPC,
    'grpc-keepalive-permit-without-calls',
    'boolean',
    parseBool,
    (d, v) => (d.grpc.keepalivePermitWithoutCalls = v),
    'Send pings also when no call is open. Default false.',
  ),
  milliseconds(
    'grpc-http2-max-pings-without-data',
    (d, v) => (d.grpc.maxPingsWithoutData = v),
    'Pings that may be sent without data between them. Default 2.',
  ),
  milliseconds(
    'grpc-http2-min-recv-ping-interval-without-data',
    (d, v) => (d.grpc.minRecvPingIntervalWithoutDataMs = v),
    'Shortest time between pings of a client without data, in milliseconds. Default 300000.',
  ),
  milliseconds(
    'grpc-http2-max-ping-strikes',
    (d, v) => (d.grpc.maxPingStrikes = v),
    'Pings too early that close a connection. Default 2.',
  ),
  milliseconds(
    'grpc-max-connection-age',
    (d, v) => (d.grpc.maxConnectionAgeMs = v),
    'Milliseconds after which a connection is closed in good order. Default: never.',
  ),
  milliseconds(
    'grpc-max-connection-age-grace',
    (d, v) => (d.grpc.maxConnectionAgeGraceMs = v),
    'Milliseconds that its open calls then still have. Default: no limit.',
  ),
  option(
    GRPC,
    'grpc-max-inflated-size',
    'integer',
    parseByteCount,
    (d, v) => (d.grpc.maxInflatedSize = v),
    'Largest request message that comes compressed, in bytes after decompression. Default 268435456.',
  ),
  option(
    GRPC,
    'grpc-connection-max-backlog',
    'integer',
    parseByteCount,
    (d, v) => (d.grpc.connectionMaxBacklog = v),
    'Bytes of responses that may wait for one connection to read them; further requests and responses are refused. Default 1073741824.',
  ),
  option(
    GRPC,
    'grpc-read-timeout',
    'integer',
    parseTimeoutMs,
    (d, v) => (d.grpc.readTimeoutMs = v),
    'Milliseconds after which a request that is incomplete and makes no progress ends, and in which each frame must be complete. 0 = no limit. Default 60000.',
  ),
  option(
    GRPC,
    'grpc-write-timeout',
    'integer',
    parseTimeoutMs,
    (d, v) => (d.grpc.writeTimeoutMs = v),
    'Milliseconds after which a response of which the client takes nothing is dropped. 0 = no limit. Default 300000.',
  ),
  {
    group: GRPC,
    name: 'grpc-restricted-protocol',
    argument: '<string>:<string>=<string>',
    help: 'PROTOCOLS,...:KEY=VALUE: these groups of calls need the metadata triton-grpc-protocol-KEY with VALUE.',
    apply(value, { draft }) {
      draft.grpc.restrictions = parseRestrictions(
        value,
        'protocol',
        '--grpc-restricted-protocol',
        draft.grpc.restrictions,
      );
    },
  },
  option(
    GRPC,
    'grpc-reflection',
    'boolean',
    parseBool,
    (d, v) => (d.grpc.reflection = v),
    'Serve grpc.reflection, which tools such as grpcurl use to list and call methods. Default true.',
  ),
];
