/** Keys that Amazon's machines, containers and clusters lend to what runs on them; they expire. */
import { readFile } from 'node:fs/promises';
import { httpRequest } from '../../http/http-request.js';
import type { Environment } from '../common/object-store.js';
import { readText, textOf } from '../common/store-request.js';
import { children, childText, readXml } from '../common/xml.js';

/** What a request is signed with. */
export interface S3Keys {
  readonly keyId: string;
  readonly secretKey: string;
  readonly sessionToken: string | undefined;
}

interface LentKeys extends S3Keys {
  /** ms since 1970; NaN when it is not known. */
  readonly expires: number;
}

/** Gives valid keys. */
export type KeySource = () => Promise<S3Keys>;

/** A machine outside Amazon's cloud must not wait long for a service that it has not. */
const METADATA_TIMEOUT_MS = 1000;
/** Keys are not used any more so long before they expire. */
const MARGIN_MS = 5 * 60_000;

/**
 * In the order of Amazon's own libraries: the role of a cluster's service account, of a container, of a machine.
 * Undefined where there is none. Throws when one is named by the environment but cannot be had.
 */
export async function roleKeys(region: string, environment: Environment): Promise<KeySource | undefined> {
  if (environment['AWS_ROLE_ARN'] && environment['AWS_WEB_IDENTITY_TOKEN_FILE']) {
    return await kept(() => webIdentity(region, environment));
  }
  const container = containerUrl(environment);
  if (container !== undefined) return await kept(() => containerRole(container, environment));
  if (environment['AWS_EC2_METADATA_DISABLED'] === 'true') return undefined;
  return await kept(() => machineRole(environment)).catch(() => undefined);
}

async function kept(ask: () => Promise<LentKeys>): Promise<KeySource> {
  let keys = await ask();
  return async () => {
    if (Date.now() > keys.expires - MARGIN_MS) keys = await ask();
    return keys;
  };
}

async function webIdentity(region: string, environment: Environment): Promise<LentKeys> {
  const endpoint = environment['AWS_ENDPOINT_URL_STS'] || `https://sts.${region}.amazonaws.com`;
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: environment['AWS_ROLE_ARN'] as string,
    RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] || 'triton',
    WebIdentityToken: (await readFile(environment['AWS_WEB_IDENTITY_TOKEN_FILE'] as string, 'utf8')).trim(),
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const root = readXml(await readText(() => ({ url: `${endpoint}/`, method: 'POST', headers, body })));
  const [result] = children(root, 'AssumeRoleWithWebIdentityResult');
  const [lent] = children(result, 'Credentials');
  return {
    keyId: childText(lent, 'AccessKeyId'),
    secretKey: childText(lent, 'SecretAccessKey'),
    sessionToken: childText(lent, 'SessionToken'),
    expires: Date.parse(childText(lent, 'Expiration')),
  };
}

function containerUrl(environment: Environment): string | undefined {
  const relative = environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'];
  if (relative) return `http://169.254.170.2${relative}`;
  return environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'] || undefined;
}

async function containerRole(url: string, environment: Environment): Promise<LentKeys> {
  const file = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'];
  const token = file ? (await readFile(file, 'utf8')).trim() : environment['AWS_CONTAINER_AUTHORIZATION_TOKEN'];
  return lentKeys(await ask('GET', url, token ? { authorization: token } : {}));
}

async function machineRole(environment: Environment): Promise<LentKeys> {
  const endpoint = environment['AWS_EC2_METADATA_SERVICE_ENDPOINT'] || 'http://169.254.169.254';
  const base = `${endpoint.replace(/\/+$/, '')}/latest`;
  const token = await ask('PUT', `${base}/api/token`, { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' });
  const headers = { 'x-aws-ec2-metadata-token': token };
  const roles = `${base}/meta-data/iam/security-credentials/`;
  const [role = ''] = (await ask('GET', roles, headers)).split('\n');
  return lentKeys(await ask('GET', `${roles}${role.trim()}`, headers));
}

/** These services are on this machine: no proxy is asked. */
async function ask(method: 'GET' | 'PUT', url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const signal = AbortSignal.timeout(METADATA_TIMEOUT_MS);
  const { status, body } = await httpRequest(url, { method, headers, signal, proxies: false });
  const text = await textOf(body, 2 ** 20);
  if (status !== 200) throw new Error(`${url} answered with HTTP status ${status}`);
  return text;
}

function lentKeys(text: string): LentKeys {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text) as Record<string, string | undefined>;
  if (AccessKeyId === undefined || SecretAccessKey === undefined) throw new Error('the role has no keys');
  return {
    keyId: AccessKeyId,
    secretKey: SecretAccessKey,
    sessionToken: Token,
    expires: Date.parse(Expiration ?? ''),
  };
}
