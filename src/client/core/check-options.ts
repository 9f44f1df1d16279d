import { invalidArg } from '../../base/error.js';
import type { ClientOptions, TlsOptions } from '../api/client.js';

type Kind = 'string' | 'boolean' | 'amount' | 'count' | 'pem' | 'tls' | readonly string[];

/** Every option of a client and what it takes; the compiler keeps the table complete. */
const OPTIONS: Readonly<Record<keyof Required<ClientOptions> | 'protocol', Kind>> = {
  protocol: ['http', 'grpc'],
  url: 'string',
  timeoutMs: 'amount',
  maxConnections: 'count',
  tls: 'tls',
  keepAliveTimeMs: 'amount',
  keepAliveTimeoutMs: 'amount',
  inputFormat: ['binary', 'json'],
  outputFormat: ['binary', 'json'],
  compression: ['none', 'gzip', 'deflate'],
};

const TLS_OPTIONS: Readonly<Record<keyof Required<TlsOptions>, Kind>> = {
  rootCertificates: 'pem',
  certificate: 'pem',
  privateKey: 'pem',
  verifyPeer: 'boolean',
  serverName: 'string',
};

/**
 * Checks the options of a client: names that are not known and values of a wrong kind throw INVALID_ARG that names the
 * option, instead of having no effect.
 */
export function checkClientOptions(options: ClientOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidArg(`options of a client are an object such as { url: "localhost:8000" }, got ${typeof options}`);
  }
  if (typeof options.url !== 'string') throw invalidArg('url: expected a string such as "localhost:8000"');
  checkTable(options, OPTIONS, '');
}

function checkTable(given: object, table: Readonly<Record<string, Kind>>, prefix: string): void {
  for (const [name, value] of Object.entries(given)) {
    const kind = Object.hasOwn(table, name) ? table[name] : undefined;
    if (kind === undefined) {
      throw invalidArg(`'${prefix}${name}' is not an option of a client; there are ${Object.keys(table).join(', ')}`);
    }
    if (value !== undefined) checkValue(`${prefix}${name}`, kind, value);
  }
}

function checkValue(name: string, kind: Kind, value: unknown): void {
  if (kind === 'tls' && typeof value === 'object' && value !== null) {
    checkTable(value, TLS_OPTIONS, `${name}.`);
    return;
  }
  const [fits, wanted] = judge(kind, value);
  if (!fits) throw invalidArg(`${name}: expected ${wanted}, got ${JSON.stringify(value) ?? String(value)}`);
}

function judge(kind: Kind, value: unknown): readonly [fits: boolean, wanted: string] {
  switch (kind) {
    case 'string':
      return [typeof value === 'string', 'a string'];
    case 'boolean':
      return [typeof value === 'boolean', 'true or false'];
    case 'amount':
      return [typeof value === 'number' && value >= 0 && value !== Number.POSITIVE_INFINITY, 'milliseconds, 0 or more'];
    case 'count':
      return [Number.isSafeInteger(value) && Number(value) > 0, 'a whole number above 0'];
    case 'pem':
      return [typeof value === 'string' || value instanceof Uint8Array, 'PEM text or bytes'];
    case 'tls':
      return [false, 'an object'];
    default:
      return [typeof value === 'string' && kind.includes(value), kind.map((word) => `'${word}'`).join(' or ')];
  }
}
