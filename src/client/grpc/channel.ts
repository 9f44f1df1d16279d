import { Channel, type ChannelInterface, type ChannelOptions, compressionAlgorithms, credentials } from '@grpc/grpc-js';
import type { ClientOptions, TlsOptions } from '../api/client.js';
import { parseServerUrl } from '../core/url.js';

const INT32_MAX = 2 ** 31 - 1;
/** HTTP/2's default window of 64 KB limits large responses to a few hundred per second. In bytes. */
const FLOW_CONTROL_WINDOW = 64 * 1024 * 1024;
/** Default of Triton's client library (KeepAliveOptions of grpc_client.h), in milliseconds. */
const KEEPALIVE_TIMEOUT_MS = 20_000;

const COMPRESSION = {
  none: compressionAlgorithms.identity,
  deflate: compressionAlgorithms.deflate,
  gzip: compressionAlgorithms.gzip,
} as const;

/** Opens a channel with the settings of Triton's client library (grpc_client.cc). Connects at the first call. */
export function openChannel(options: ClientOptions): ChannelInterface {
  const address = parseServerUrl(options.url);
  const settings: ChannelOptions = {
    'grpc.max_send_message_length': INT32_MAX,
    'grpc.max_receive_message_length': INT32_MAX,
    'grpc.keepalive_time_ms': options.keepAliveTimeMs ?? INT32_MAX,
    'grpc.keepalive_timeout_ms': options.keepAliveTimeoutMs ?? KEEPALIVE_TIMEOUT_MS,
    'grpc.keepalive_permit_without_calls': 0,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW,
    // A connection of its own, closed with the client; and no bookkeeping that nobody reads.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_channelz': 0,
    'grpc.default_compression_algorithm': COMPRESSION[options.compression ?? 'none'],
    ...(options.tls?.serverName === undefined
      ? {}
      : {
          'grpc.ssl_target_name_override': options.tls.serverName,
          'grpc.default_authority': options.tls.serverName,
        }),
  };
  const secure = address.secure || options.tls !== undefined;
  return new Channel(
    address.authority,
    secure ? tlsCredentials(options.tls ?? {}) : credentials.createInsecure(),
    settings,
  );
}

function tlsCredentials(tls: TlsOptions) {
  const verify = tls.verifyPeer ?? true;
  return credentials.createSsl(
    bufferOf(tls.rootCertificates),
    bufferOf(tls.privateKey),
    bufferOf(tls.certificate),
    verify ? {} : { rejectUnauthorized: false, checkServerIdentity: () => undefined },
  );
}

function bufferOf(pem: string | Buffer | undefined): Buffer | null {
  if (pem === undefined) return null;
  return typeof pem === 'string' ? Buffer.from(pem) : pem;
}
