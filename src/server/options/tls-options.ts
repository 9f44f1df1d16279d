import { boolean, text } from '../../base/options/parse-value.js';
import { parseBool } from './parse-value.js';
import { option, type ParseState, type ServerOption } from './server-option.js';

/** TLS of a front end: paths of PEM files. */
export interface ServerTlsOptions {
  readonly certificate: string;
  readonly key: string;
  readonly rootCertificates: string;
  /** Client certificates are asked for and checked. */
  readonly mutual: boolean;
}

/** Front ends that can speak TLS. The names of the HTTP options are ours: Triton leaves HTTPS to a proxy. */
type Front = 'http' | 'grpc';

/** The five options of one front end: `--<front>-use-ssl`, `-use-ssl-mutual`, `-server-cert`, `-server-key`, `-root-cert`. */
export function tlsOptions(front: Front, group: string): readonly ServerOption[] {
  const set = ({ options }: ParseState, change: Partial<ServerTlsOptions>): void => {
    const { tls = { certificate: '', key: '', rootCertificates: '', mutual: false } } = options[front];
    options[front].tls = { ...tls, ...change };
  };
  const file = (name: string, key: 'certificate' | 'key' | 'rootCertificates', help: string): ServerOption =>
    option({
      name: `${front}-${name}`,
      group,
      argument: 'string',
      parse: text,
      set: (state, value) => set(state, { [key]: value }),
      help,
    });
  const parse = front === 'grpc' ? parseBool : boolean;
  return [
    option({
      name: `${front}-use-ssl`,
      group,
      argument: 'boolean',
      help: 'Use TLS.',
      default: 'false',
      parse,
      set(state, wanted) {
        set(state, {});
        if (!wanted) state.given.delete(`${front}-use-ssl`);
      },
    }),
    option({
      name: `${front}-use-ssl-mutual`,
      group,
      argument: 'boolean',
      help: 'Use TLS and check the certificates of clients.',
      default: 'false',
      parse,
      set: (state, mutual) => set(state, { mutual }),
    }),
    file('server-cert', 'certificate', 'PEM file of the certificate chain.'),
    file('server-key', 'key', 'PEM file of the private key.'),
    file('root-cert', 'rootCertificates', 'PEM file of the certificates that client certificates are checked against.'),
  ];
}

/**
 * Drops the paths of front ends that use no TLS; Triton switches it on with the option about client certificates,
 * whatever its value. Returns what is missing, one line per front end.
 */
export function settleTls({ options, given }: Pick<ParseState, 'options' | 'given'>): string[] {
  const missing: string[] = [];
  for (const front of ['http', 'grpc'] as const) {
    if (!given.has(`${front}-use-ssl`) && !given.has(`${front}-use-ssl-mutual`)) options[front].tls = undefined;
    // Options of a front end that is switched off are not checked.
    if (!options[front].enabled) continue;
    const { tls } = options[front];
    if (tls !== undefined && (tls.certificate === '' || tls.key === '')) {
      missing.push(`--${front}-use-ssl needs --${front}-server-cert and --${front}-server-key`);
    }
    // Without it certificates that any public authority issued would do.
    if (tls?.mutual === true && tls.rootCertificates === '') {
      missing.push(
        `--${front}-use-ssl-mutual needs --${front}-root-cert, which client certificates are checked against`,
      );
    }
  }
  return missing;
}
