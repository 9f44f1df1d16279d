/** Certificates for tests of TLS, made by the openssl command: an authority, and identities that it signed. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { skipLoudly } from '../machine/skip-loudly.js';
import { temporaryDirectory } from '../machine/temporary-directory.js';

/** Paths of PEM files. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** A directory with certificates; removed by `remove`. */
export interface TestCertificates {
  readonly authority: string;
  /** For localhost and 127.0.0.1. */
  readonly server: Identity;
  readonly client: Identity;
  /** Signed by itself: no authority knows it. */
  readonly stranger: Identity;
  /** A file that is not a certificate. */
  readonly junk: string;
  read(file: string): Buffer;
  remove(): void;
}

/** True where the openssl command is there; else one loud line, and with CI=true an error. */
export function hasOpenssl(): boolean {
  if (spawnSync('openssl', ['version'], { stdio: 'ignore' }).status === 0) return true;
  skipLoudly('no openssl command: the tests of TLS did not run');
  return false;
}

/** Makes the certificates. */
export function makeCertificates(): TestCertificates {
  const directory = temporaryDirectory();
  const { file } = directory;
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const selfSigned = (name: string, subject: string): Identity => {
    openssl('req', '-x509', ...key, '-keyout', file(`${name}.key`), '-out', file(`${name}.pem`), '-subj', subject);
    return { certificate: file(`${name}.pem`), key: file(`${name}.key`) };
  };
  const authority = selfSigned('authority', '/CN=test authority');
  const names = file('names.cnf');
  writeFileSync(names, 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signed = (name: string): Identity => {
    const request = file(`${name}.csr`);
    openssl('req', ...key, '-keyout', file(`${name}.key`), '-out', request, '-subj', `/CN=${name}`);
    const by = ['-CA', authority.certificate, '-CAkey', authority.key, '-CAcreateserial'];
    openssl('x509', '-req', '-in', request, ...by, '-days', '2', '-extfile', names, '-out', file(`${name}.pem`));
    return { certificate: file(`${name}.pem`), key: file(`${name}.key`) };
  };
  writeFileSync(file('junk.pem'), 'junk\n');
  return {
    authority: authority.certificate,
    server: signed('server'),
    client: signed('client'),
    stranger: selfSigned('stranger', '/CN=stranger'),
    junk: file('junk.pem'),
    read: (name) => readFileSync(name),
    remove: directory.remove,
  };
}

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', timeout: 30_000 });
  if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`);
}
