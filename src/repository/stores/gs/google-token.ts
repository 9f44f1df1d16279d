/** Who we are to Google: a file of credentials, the machine's own account, or nobody. */
import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { invalidArg, TritonError } from '../../../base/error.js';
import { systemText } from '../../../base/files/system-text.js';
import { httpRequest } from '../../http/http-request.js';
import { keptToken, postForm, type TokenSource } from '../common/access-token.js';
import type { Environment } from '../common/object-store.js';
import { textOf } from '../common/store-request.js';

const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_only';
const TOKEN_URL = 'https://oauth2.googleapis.com/token';
/** A machine outside Google's cloud must not wait long for a server that it has not. */
const METADATA_TIMEOUT_MS = 2000;

/**
 * Tokens of a credential file of type `authorized_user` or `service_account`; without a file those of the machine's
 * account, where it has one. Undefined: requests go without. Throws for a file that cannot be used.
 */
export async function googleToken(
  file: string | undefined,
  environment: Environment,
): Promise<TokenSource | undefined> {
  if (file !== undefined) return tokenOfFile(file);
  if (environment['STORAGE_EMULATOR_HOST']) return undefined;
  const source = keptToken(() => metadataToken(environment));
  return await source().then(
    () => source,
    () => undefined,
  );
}

async function tokenOfFile(file: string): Promise<TokenSource> {
  const named = `Google credential file '${file}'`;
  let content: Record<string, unknown>;
  try {
    content = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  } catch (reason) {
    if (reason instanceof SyntaxError) throw invalidArg(`failed to parse the ${named} as JSON: ${reason.message}`);
    throw invalidArg(`failed to read the ${named}: ${systemText(reason)}`);
  }
  const member = (name: string): string => {
    const value = content[name];
    if (typeof value !== 'string' || value === '') throw invalidArg(`the ${named} has no '${name}'`);
    return value;
  };
  const url = typeof content['token_uri'] === 'string' ? content['token_uri'] : TOKEN_URL;
  switch (content['type']) {
    case 'authorized_user': {
      const form = {
        grant_type: 'refresh_token',
        client_id: member('client_id'),
        client_secret: member('client_secret'),
        refresh_token: member('refresh_token'),
      };
      return keptToken(() => postForm(url, form));
    }
    case 'service_account': {
      const email = member('client_email');
      const key = member('private_key');
      return keptToken(() =>
        postForm(url, {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: assertion(email, key, url, named),
        }),
      );
    }
    default:
      throw invalidArg(
        `the ${named} is of type '${String(content['type'])}'; 'service_account' and 'authorized_user' are supported`,
      );
  }
}

/** A signed statement of who we are (RFC 7523). */
function assertion(email: string, key: string, audience: string, named: string): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: email, scope: SCOPE, aud: audience, iat: now, exp: now + 3600 };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  try {
    return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
  } catch (cause) {
    throw new TritonError(
      'INVALID_ARG',
      `the 'private_key' of the ${named} is not usable: ${(cause as Error).message}`,
    );
  }
}

async function metadataToken(environment: Environment): Promise<string> {
  const host = environment['GCE_METADATA_HOST'] || 'metadata.google.internal';
  const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`;
  const { status, body } = await httpRequest(url, {
    headers: { 'metadata-flavor': 'Google' },
    signal: AbortSignal.timeout(METADATA_TIMEOUT_MS),
    proxies: false,
  });
  const text = await textOf(body, 2 ** 20);
  if (status !== 200) throw new Error(`HTTP status ${status}`);
  return text;
}
