/** Who we are to Azure: a key, an identity, or nobody. */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { invalidArg } from '../../../base/error.js';
import { keptToken, postForm, type TokenSource } from '../common/access-token.js';
import { credentialEntry, memberOf } from '../common/credential-file.js';
import type { Environment } from '../common/object-store.js';
import { readText } from '../common/store-request.js';

const RESOURCE = 'https://storage.azure.com/';

/** How requests are authorized. */
export type AzureCredentials =
  | { readonly kind: 'key'; readonly account: string; readonly key: Buffer }
  | { readonly kind: 'token'; readonly token: TokenSource }
  | { readonly kind: 'anonymous' };

/** Finds them; `account` is that of the path. Throws for a faulty credential file and an unknown kind. */
export async function azureCredentials(
  repository: string,
  account: string,
  environment: Environment,
): Promise<AzureCredentials> {
  const entry = await credentialEntry(repository, environment);
  const value = (member: string, variable: string): string | undefined =>
    entry === undefined ? environment[variable] || undefined : memberOf(entry, member);
  const key = value('account_key', 'AZURE_STORAGE_KEY');
  const kind = value('auth_type', 'AZURE_STORAGE_AUTH_TYPE') ?? 'key';
  const client = value('client_id', 'AZURE_STORAGE_CLIENT_ID');
  switch (kind) {
    case 'key':
      if (key === undefined) return { kind: 'anonymous' };
      return {
        kind: 'key',
        account: value('account_str', 'AZURE_STORAGE_ACCOUNT') ?? account,
        key: Buffer.from(key, 'base64'),
      };
    case 'managed_identity':
      return { kind: 'token', token: keptToken(() => managedIdentity(client, environment)) };
    case 'default':
      return { kind: 'token', token: keptToken(() => defaultIdentity(client, environment)) };
    default:
      throw invalidArg(`unknown Azure auth_type '${kind}': 'key', 'managed_identity' and 'default' are known`);
  }
}

/** Value of the header `authorization` for a GET request without a body (Azure's scheme "Shared Key"). */
export function sharedKey(
  { account, key }: { readonly account: string; readonly key: Buffer },
  url: URL,
  headers: Readonly<Record<string, string>>,
): string {
  const names = Object.keys(headers).filter((name) => name.startsWith('x-ms-'));
  const canonicalHeaders = names.sort().map((name) => `${name}:${headers[name]}\n`);
  const query = [...url.searchParams].map(([name, value]) => `\n${name.toLowerCase()}:${value}`).sort();
  // The empty lines are headers that no request of ours has, from content-encoding to range.
  const lines = ['GET', '', '', '', '', '', '', '', headers['if-match'] ?? '', '', '', ''];
  const text = `${lines.join('\n')}\n${canonicalHeaders.join('')}/${account}${url.pathname}${query.join('')}`;
  return `SharedKey ${account}:${createHmac('sha256', key).update(text).digest('base64')}`;
}

/** The identity of the machine, or of the service that runs the program. */
function managedIdentity(client: string | undefined, environment: Environment): Promise<string> {
  const endpoint = environment['IDENTITY_ENDPOINT'];
  const secret = environment['IDENTITY_HEADER'];
  const ofService = endpoint !== undefined && secret !== undefined;
  const query = new URLSearchParams({ 'api-version': ofService ? '2019-08-01' : '2018-02-01', resource: RESOURCE });
  if (client !== undefined) query.set('client_id', client);
  const url = `${ofService ? endpoint : 'http://169.254.169.254/metadata/identity/oauth2/token'}?${query}`;
  const headers: Record<string, string> = ofService ? { 'x-identity-header': secret } : { metadata: 'true' };
  return readText(() => ({ url, headers }));
}

/** A secret or a token file that the environment names, else the machine's identity. */
async function defaultIdentity(client: string | undefined, environment: Environment): Promise<string> {
  const tenant = environment['AZURE_TENANT_ID'];
  const id = client ?? environment['AZURE_CLIENT_ID'];
  const secret = environment['AZURE_CLIENT_SECRET'];
  const file = environment['AZURE_FEDERATED_TOKEN_FILE'];
  if (!tenant || !id || !(secret || file)) return managedIdentity(id, environment);
  const authority = (environment['AZURE_AUTHORITY_HOST'] || 'https://login.microsoftonline.com').replace(/\/+$/, '');
  const proof = secret
    ? { client_secret: secret }
    : {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await readFile(file as string, 'utf8'),
      };
  return await postForm(`${authority}/${tenant}/oauth2/v2.0/token`, {
    grant_type: 'client_credentials',
    client_id: id,
    scope: `${RESOURCE}.default`,
    ...proof,
  });
}
