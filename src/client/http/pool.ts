import { Pool } from 'undici';
import type { ClientOptions, TlsOptions } from '../api/client.js';
import type { ServerAddress } from '../core/url.js';

/** Connections that a client opens at most, unless its options say otherwise. */
const DEFAULT_CONNECTIONS = 128;

/** The keep-alive connections of a client. None is opened before the first request. */
export function openPool({ authority, secure }: ServerAddress, { tls, maxConnections }: ClientOptions): Pool {
  const isTls = secure || tls !== undefined;
  return new Pool(`${isTls ? 'https' : 'http'}://${authority}`, {
    connections: maxConnections ?? DEFAULT_CONNECTIONS,
    // Limits are the calls' own: a model may compute for as long as it likes.
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(isTls ? { connect: tlsSettings(tls ?? {}) } : {}),
  });
}

function tlsSettings({ rootCertificates, certificate, privateKey, serverName, verifyPeer }: TlsOptions) {
  return {
    ...(rootCertificates === undefined ? {} : { ca: rootCertificates }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(privateKey === undefined ? {} : { key: privateKey }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    rejectUnauthorized: verifyPeer ?? true,
  };
}
