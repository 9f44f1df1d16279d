import { readLoose } from '../../base/options/c-numbers.js';
import { usageError } from '../error/perf-error.js';
import { existingFile, flag, option, type PerfOption, word } from './perf-option.js';

/** TLS of the connections: paths of files, '' = none. */
export interface TlsOptions {
  readonly grpcUseSsl: boolean;
  readonly grpcRootCertificates: string;
  readonly grpcPrivateKey: string;
  readonly grpcCertificateChain: string;
  readonly httpsVerifyPeer: number;
  readonly httpsVerifyHost: number;
  readonly httpsCaCertificates: string;
  readonly httpsClientCertificate: string;
  readonly httpsClientCertificateType: 'PEM' | 'DER';
  readonly httpsPrivateKey: string;
  readonly httpsPrivateKeyType: 'PEM' | 'DER';
}

/** The values that hold when an option is not given. */
export const TLS_DEFAULTS: TlsOptions = {
  grpcUseSsl: false,
  grpcRootCertificates: '',
  grpcPrivateKey: '',
  grpcCertificateChain: '',
  httpsVerifyPeer: 1,
  httpsVerifyHost: 2,
  httpsCaCertificates: '',
  httpsClientCertificate: '',
  httpsClientCertificateType: 'PEM',
  httpsPrivateKey: '',
  httpsPrivateKeyType: 'PEM',
};

const group = 'TLS';

const file = { group, argument: 'path', parse: existingFile } as const;

const encoding = {
  group,
  argument: 'PEM|DER',
  help: 'Form of that file.',
  parse: word<'PEM' | 'DER'>(['PEM', 'DER'], "The available options are 'PEM' or 'DER'."),
} as const;

/** The options of TLS. */
export const TLS_OPTIONS: readonly PerfOption[] = [
  flag({ name: 'ssl-grpc-use-ssl', group, help: 'Use TLS for gRPC.', into: ['tls', 'grpcUseSsl'] }),
  option({
    ...file,
    name: 'ssl-grpc-root-certifications-file',
    help: 'PEM root certificates of the server.',
    into: ['tls', 'grpcRootCertificates'],
  }),
  option({
    ...file,
    name: 'ssl-grpc-private-key-file',
    help: 'PEM private key of the client.',
    into: ['tls', 'grpcPrivateKey'],
  }),
  option({
    ...file,
    name: 'ssl-grpc-certificate-chain-file',
    help: 'PEM certificate chain of the client.',
    into: ['tls', 'grpcCertificateChain'],
  }),
  option({
    name: 'ssl-https-verify-peer',
    group,
    argument: '0|1',
    help: "Check the server's certificate.",
    parse: oneOfNumbers([0, 1], 'Failed to parse --ssl-https-verify-peer. The value must be either 0 or 1.'),
    into: ['tls', 'httpsVerifyPeer'],
  }),
  option({
    name: 'ssl-https-verify-host',
    group,
    argument: '0|1|2',
    help: "Check the host name in the server's certificate.",
    parse: oneOfNumbers([0, 1, 2], 'Failed to parse --ssl-https-verify-host. The value must be either 0, 1, or 2.'),
    into: ['tls', 'httpsVerifyHost'],
  }),
  option({
    ...file,
    name: 'ssl-https-ca-certificates-file',
    help: 'Root certificates of the server.',
    into: ['tls', 'httpsCaCertificates'],
  }),
  option({
    ...file,
    name: 'ssl-https-client-certificate-file',
    help: 'Certificate of the client.',
    into: ['tls', 'httpsClientCertificate'],
  }),
  option({ ...encoding, name: 'ssl-https-client-certificate-type', into: ['tls', 'httpsClientCertificateType'] }),
  option({
    ...file,
    name: 'ssl-https-private-key-file',
    help: 'Private key of the client.',
    into: ['tls', 'httpsPrivateKey'],
  }),
  option({ ...encoding, name: 'ssl-https-private-key-type', into: ['tls', 'httpsPrivateKeyType'] }),
];

function oneOfNumbers(numbers: readonly number[], message: string): (value: string) => number {
  return (value) => {
    const number = readLoose(value);
    if (numbers.includes(number)) return number;
    throw usageError(message);
  };
}
