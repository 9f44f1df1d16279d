import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClientOptions, TlsOptions } from '../../client/index.js';
import { PerfError } from '../error/perf-error.js';
import type { PerfOptions } from './perf-options.js';

/** Connections that an asynchronous HTTP context may open: nothing else limits what is outstanding at a rate. */
const ASYNC_CONNECTIONS = 4096;

/** How clients are made for these options: for load contexts, and for everything else. */
export function clientOptionsOf(options: PerfOptions): ClientOptions & { readonly protocol: 'http' | 'grpc' } {
  const protocol = options.connection.protocol === 'grpc' ? 'grpc' : 'http';
  const tls = protocol === 'grpc' ? grpcTls(options.tls) : httpsTls(options);
  return {
    protocol,
    url: urlOf(options),
    maxConnections: options.load.async ? ASYNC_CONNECTIONS : 1,
    ...(tls === undefined ? {} : { tls }),
    ...(protocol === 'grpc'
      ? { compression: options.connection.grpcCompression }
      : { inputFormat: options.input.inputTensorFormat, outputFormat: options.input.outputTensorFormat }),
  };
}

/**
 * The address as perf_analyzer uses it: a slash at the end of `-u` becomes an empty segment of every path, which the server
 * does not find.
 */
function urlOf({ connection: { url, protocol } }: PerfOptions): string {
  return protocol === 'http' && url.endsWith('/') ? `${url}/` : url;
}

/** Header options as the client takes them; a name given twice is one header with both values. */
export function headersOf({ connection: { headers } }: PerfOptions): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of headers) all[name] = all[name] === undefined ? value : `${all[name]},${value}`;
  return all;
}

function grpcTls(ssl: PerfOptions['tls']): TlsOptions | undefined {
  if (!ssl.grpcUseSsl) return undefined;
  return {
    ...file('rootCertificates', ssl.grpcRootCertificates),
    ...file('privateKey', ssl.grpcPrivateKey),
    ...file('certificate', ssl.grpcCertificateChain),
  };
}

function httpsTls({ tls: ssl, connection: { url } }: PerfOptions): TlsOptions | undefined {
  if (!url.startsWith('https://')) return undefined;
  if (ssl.httpsVerifyPeer === 1 && ssl.httpsVerifyHost !== 2) {
    throw new PerfError(
      `error: --ssl-https-verify-host ${ssl.httpsVerifyHost} is supported together with --ssl-https-verify-peer 0 only.`,
    );
  }
  return {
    verifyPeer: ssl.httpsVerifyPeer === 1,
    ...file('rootCertificates', ssl.httpsCaCertificates),
    ...(ssl.httpsClientCertificate === ''
      ? {}
      : { certificate: pemCertificate(ssl.httpsClientCertificate, ssl.httpsClientCertificateType) }),
    ...(ssl.httpsPrivateKey === '' ? {} : { privateKey: pemKey(ssl.httpsPrivateKey, ssl.httpsPrivateKeyType) }),
  };
}

function file<K extends string>(key: K, path: string): { [key in K]?: string } {
  return path === '' ? {} : ({ [key]: readFileSync(path, 'utf8') } as { [key in K]?: string });
}

function pemCertificate(path: string, type: 'PEM' | 'DER'): string {
  const content = readFileSync(path);
  if (type === 'PEM') return content.toString('utf8');
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function pemKey(path: string, type: 'PEM' | 'DER'): string {
  const content = readFileSync(path);
  if (type === 'PEM') return content.toString('utf8');
  for (const kind of ['pkcs8', 'pkcs1', 'sec1'] as const) {
    try {
      return createPrivateKey({ key: content, format: 'der', type: kind }).export({
        format: 'pem',
        type: 'pkcs8',
      }) as string;
    } catch {
      // The next form; when none fits, the message below says so.
    }
  }
  throw new PerfError(`error: '${path}' is not a private key in DER form.`);
}
