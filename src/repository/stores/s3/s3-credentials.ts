/** Keys for `s3://`: of the credential file, the environment, a profile or a role. */
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { credentialEntry, memberOf } from '../common/credential-file.js';
import type { Environment } from '../common/object-store.js';
import { type KeySource, roleKeys } from './s3-role.js';

/** What requests are signed with. Without keys they are sent unsigned, which public buckets allow. */
export interface S3Credentials {
  readonly keys: KeySource | undefined;
  readonly region: string;
}

const DEFAULT_REGION = 'us-east-1';

/** Finds them. Throws what is wrong with the credential file, and when a role that is named cannot be had. */
export async function s3Credentials(repository: string, environment: Environment): Promise<S3Credentials> {
  const entry = await credentialEntry(repository, environment);
  const value = (member: string, variable: string): string | undefined =>
    entry === undefined ? environment[variable] || undefined : memberOf(entry, member);
  const keyId = value('key_id', 'AWS_ACCESS_KEY_ID');
  const secretKey = value('secret_key', 'AWS_SECRET_ACCESS_KEY');
  const region = value('region', 'AWS_DEFAULT_REGION') ?? (environment['AWS_REGION'] || undefined);
  if (keyId !== undefined && secretKey !== undefined) {
    const sessionToken = value('session_token', 'AWS_SESSION_TOKEN');
    return { keys: async () => ({ keyId, secretKey, sessionToken }), region: region ?? DEFAULT_REGION };
  }
  const profile = await readProfile(value('profile', 'AWS_PROFILE') ?? 'default', environment);
  const regionOrDefault = region ?? profile.get('region') ?? DEFAULT_REGION;
  const profileKeys = {
    keyId: profile.get('aws_access_key_id') ?? '',
    secretKey: profile.get('aws_secret_access_key') ?? '',
    sessionToken: profile.get('aws_session_token'),
  };
  if (profileKeys.keyId !== '' && profileKeys.secretKey !== '') {
    return { keys: async () => profileKeys, region: regionOrDefault };
  }
  return { keys: await roleKeys(regionOrDefault, environment), region: regionOrDefault };
}

/** Settings of a profile, from Amazon's two files; those that are missing count as empty. */
async function readProfile(name: string, environment: Environment): Promise<ReadonlyMap<string, string>> {
  const home = path.join(os.homedir(), '.aws');
  const config = await readSection(environment['AWS_CONFIG_FILE'] || path.join(home, 'config'), [
    name,
    `profile ${name}`,
  ]);
  const keys = environment['AWS_SHARED_CREDENTIALS_FILE'] || path.join(home, 'credentials');
  return new Map([...config, ...(await readSection(keys, [name]))]);
}

async function readSection(file: string, names: readonly string[]): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  const text = await readFile(file, 'utf8').catch(() => '');
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    const section = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1];
    if (section !== undefined) inside = names.includes(section);
    const setting = /^([A-Za-z_0-9]+)\s*=\s*(.*?)\s*$/.exec(line);
    if (inside && setting !== null) settings.set(setting[1] as string, setting[2] as string);
  }
  return settings;
}
