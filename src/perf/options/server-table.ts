import { usageError } from '../error/perf-error.js';
import { parseLoose } from './numbers.js';
import type { Occurrence, PerfOption } from './option.js';
import { existingFile, oneOf } from './option.js';
import type { PerfOptions } from './perf-options.js';

type Ssl = PerfOptions['ssl'];
type Keys<T> = { [K in keyof Ssl]: Ssl[K] extends T ? (T extends Ssl[K] ? K : never) : never }[keyof Ssl];

/** Options of the group SERVER DETAILS. */
export const SERVER_OPTIONS: readonly PerfOption[] = [
  {
    name: '',
    short: 'u',
    value: 'URL',
    help: 'Where the server is. Default localhost:8000 for HTTP, localhost:8001 for gRPC.',
    apply: ({ options }, { value }) => {
      options.url = value;
      options.urlGiven = true;
    },
  },
  {
    name: '',
    short: 'i',
    value: 'http|grpc',
    help: 'Protocol. Default HTTP.',
    apply: ({ options }, { value }) => {
      const word = value.toLowerCase();
      options.protocol = word === 'http' || word === 'grpc' ? word : 'unknown';
    },
  },
  {
    name: 'ssl-grpc-use-ssl',
    help: 'Use TLS for gRPC.',
    apply: ({ options }) => {
      options.ssl.grpcUseSsl = true;
    },
  },
  file('ssl-grpc-root-certifications-file', 'grpcRootCertificates', 'PEM root certificates of the server.'),
  file('ssl-grpc-private-key-file', 'grpcPrivateKey', 'PEM private key of the client.'),
  file('ssl-grpc-certificate-chain-file', 'grpcCertificateChain', 'PEM certificate chain of the client.'),
  {
    name: 'ssl-https-verify-peer',
    value: '0|1',
    help: "Check the server's certificate. Default 1.",
    apply: ({ options }, { value }) => {
      options.ssl.httpsVerifyPeer = parseLoose(value);
      if (options.ssl.httpsVerifyPeer !== 0 && options.ssl.httpsVerifyPeer !== 1) {
        throw usageError('Failed to parse --ssl-https-verify-peer. The value must be either 0 or 1.');
      }
    },
  },
  {
    name: 'ssl-https-verify-host',
    value: '0|1|2',
    help: "Check the host name in the server's certificate. Default 2.",
    apply: ({ options }, { value }) => {
      options.ssl.httpsVerifyHost = parseLoose(value);
      if (![0, 1, 2].includes(options.ssl.httpsVerifyHost)) {
        throw usageError('Failed to parse --ssl-https-verify-host. The value must be either 0, 1, or 2.');
      }
    },
  },
  file('ssl-https-ca-certificates-file', 'httpsCaCertificates', 'Root certificates of the server.'),
  file('ssl-https-client-certificate-file', 'httpsClientCertificate', 'Certificate of the client.'),
  encoding('ssl-https-client-certificate-type', 'httpsClientCertificateType'),
  file('ssl-https-private-key-file', 'httpsPrivateKey', 'Private key of the client.'),
  encoding('ssl-https-private-key-type', 'httpsPrivateKeyType'),
];

function file(name: string, key: Keys<string>, help: string): PerfOption {
  return {
    name,
    value: 'path',
    help,
    apply: ({ options }, given: Occurrence) => {
      options.ssl[key] = existingFile(given);
    },
  };
}

function encoding(name: string, key: Keys<'PEM' | 'DER'>): PerfOption {
  return {
    name,
    value: 'PEM|DER',
    help: 'Form of that file. Default PEM.',
    apply: ({ options }, given) => {
      options.ssl[key] = oneOf(given, ['PEM', 'DER'], "The available options are 'PEM' or 'DER'.");
    },
  };
}
