import { type OptionSpec, option, text } from './option-spec.js';
import { parseBool } from './parse-value.js';
import type { OptionsDraft, ServerTlsOptions } from './server-options.js';

/** Front ends that can speak TLS. The names of the HTTP options are ours: the original leaves HTTPS to a proxy. */
type Front = 'http' | 'grpc';

/** The five options of one front end: `--<front>-use-ssl`, `-use-ssl-mutual`, `-server-cert`, `-server-key`, `-root-cert`. */
export function tlsOptions(front: Front, group: string): readonly OptionSpec[] {
  const set = (draft: OptionsDraft, change: Partial<ServerTlsOptions>): void => {
    const { tls = { certificate: '', key: '', rootCertificates: '', mutual: false } } = draft[front];
    draft[front].tls = { ...tls, ...change };
  };
  const file = (name: string, key: 'certificate' | 'key' | 'rootCertificates', help: string): OptionSpec =>
    option(group, `${front}-${name}`, 'string', text, (draft, value) => set(draft, { [key]: value }), help);
  return [
    {
      group,
      name: `${front}-use-ssl`,
      argument: 'boolean',
      help: 'Use TLS. Default false.',
      apply(value, { draft, given }) {
        set(draft, {});
        if (!parseBool(value)) given.delete(`${front}-use-ssl`);
      },
    },
    {
      group,
      name: `${front}-use-ssl-mutual`,
      argument: 'boolean',
      help: 'Use TLS and check the certificates of clients. Default false.',
      apply: (value, { draft }) => set(draft, { mutual: parseBool(value) }),
    },
    file('server-cert', 'certificate', 'PEM file of the certificate chain.'),
    file('server-key', 'key', 'PEM file of the private key.'),
    file('root-cert', 'rootCertificates', 'PEM file of the certificates that client certificates are checked against.'),
  ];
}

/**
 * Drops the paths of front ends that use no TLS; the original switches it on with the option about client certificates,
 * whatever its value. Returns what is missing, one line per front end.
 */
export function settleTls(draft: OptionsDraft, given: ReadonlySet<string>): string[] {
  const missing: string[] = [];
  for (const front of ['http', 'grpc'] as const) {
    if (!given.has(`${front}-use-ssl`) && !given.has(`${front}-use-ssl-mutual`)) draft[front].tls = undefined;
    // Options of a front end that is switched off are not checked.
    if (!draft[front].enabled) continue;
    const { tls } = draft[front];
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
