import { readFileSync } from 'node:fs';
import type net from 'node:net';
import tls from 'node:tls';
import { invalidArg } from '../../base/error.js';
import type { ServerTlsOptions } from '../options/tls-options.js';

/**
 * TLS 1.3, and of TLS 1.2 the suites with forward secrecy and authenticated encryption (RFC 9325, section 4.2): a captured
 * connection cannot be read later with the server's key.
 */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
].join(':');

/**
 * A listening socket that speaks TLS and agrees on one protocol (ALPN) with clients that ask for one. `endHandshakes` cuts
 * the connections that are not there yet. Throws INVALID_ARG for files that cannot be read or used.
 */
export function createTlsServer(
  security: ServerTlsOptions,
  protocol: 'h2' | 'http/1.1',
  options: tls.TlsOptions,
): { server: tls.Server; endHandshakes: () => void } {
  const { certificate, key, rootCertificates, mutual } = security;
  const pem = {
    cert: readPem(certificate),
    key: readPem(key),
    ...(rootCertificates === '' ? {} : { ca: readPem(rootCertificates) }),
  };
  let server: tls.Server;
  try {
    server = tls.createServer({
      ...options,
      ...pem,
      ALPNProtocols: [protocol],
      minVersion: 'TLSv1.2',
      ciphers: CIPHERS,
      requestCert: mutual,
      rejectUnauthorized: mutual,
    });
  } catch (cause) {
    const why = (cause as Error).message;
    throw invalidArg(`the certificate '${certificate}' cannot be used with the private key '${key}': ${why}`);
  }
  return { server, endHandshakes: trackHandshakes(server) };
}

/** Connections whose handshake is under way belong to nobody yet, but a server that closes would wait for them. */
function trackHandshakes(server: tls.Server): () => void {
  const open = new Map<string, net.Socket>();
  const keyOf = ({ remoteAddress, remotePort }: net.Socket): string => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: net.Socket) => {
    const key = keyOf(socket);
    open.set(key, socket);
    socket.once('close', () => {
      if (open.get(key) === socket) open.delete(key);
    });
  });
  server.on('secureConnection', (socket) => open.delete(keyOf(socket)));
  return () => {
    for (const socket of open.values()) socket.destroy();
  };
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw invalidArg(`failed to read '${file}': ${(cause as Error).message}`);
  }
}
