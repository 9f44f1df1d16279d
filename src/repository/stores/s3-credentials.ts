/** Keys for `s3://`: of the credential file, the environment, or a profile (spec: model repository, section 1.9). */
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { credentialEntry, memberOf } from './credential-file.js';
import type { Environment } from './object-store.js';

/** What requests are signed with. Without keys they are sent unsigned, which public buckets allow. */
export interface S3Credentials {
  readonly keyId: string | undefined;
  readonly secretKey: string | undefined;
  readonly sessionToken: string | undefined;
  readonly region: string | undefined;
}

/** Finds them. Throws what is wrong with the credential file. */
export async function s3Credentials(repository: string, environment: Environment): Promise<S3Credentials> {
  const entry = await credentialEntry(repository, environment);
  const value = (member: string, variable: string): string | undefined =>
    entry === undefined ? environment[variable] || undefined : memberOf(entry, member);
  const keyId = value('key_id', 'AWS_ACCESS_KEY_ID');
  const secretKey = value('secret_key', 'AWS_SECRET_ACCESS_KEY');
  const region = value('region', 'AWS_DEFAULT_REGION') ?? (environment['AWS_REGION'] || undefined);
  if (keyId !== undefined && secretKey !== undefined) {
    return { keyId, secretKey, sessionToken: value('session_token', 'AWS_SESSION_TOKEN'), region };
  }
  const profile = await readProfile(value('profile', 'AWS_PROFILE') ?? 'default', environment);
  return {
    keyId: profile.get('aws_access_key_id'),
    secretKey: profile.get('aws_secret_access_key'),
    sessionToken: profile.get('aws_session_token'),
    region: region ?? profile.get('region'),
  };
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
