/** The file of credentials for several stores: TRITON_CLOUD_CREDENTIAL_PATH. */
import { readFile } from 'node:fs/promises';
import { invalidArg, TritonError } from '../../../base/error.js';
import { systemText } from '../../../base/files/system-text.js';
import type { Environment } from './object-store.js';
import { storeScheme } from './store-path.js';

/** What the file holds for a path: a path of another file for `gs`, members otherwise. */
export type CredentialEntry = string | Readonly<Record<string, unknown>>;

/**
 * The entry for a path: the one whose key is the longest beginning of it. Undefined when no file is named, so that the
 * environment decides. Throws NOT_FOUND when the file has none for this path.
 */
export async function credentialEntry(path: string, environment: Environment): Promise<CredentialEntry | undefined> {
  const file = environment['TRITON_CLOUD_CREDENTIAL_PATH'];
  if (file === undefined || file === '') return undefined;
  const entries = Object.entries(await entriesOf(file, storeScheme(path) ?? ''));
  let found: [string, CredentialEntry] | undefined;
  for (const entry of entries) {
    if (path.startsWith(entry[0]) && (found === undefined || entry[0].length > found[0].length)) found = entry;
  }
  if (found === undefined) throw new TritonError('NOT_FOUND', `Cannot match credential for path  ${path}`);
  return found[1];
}

/** A member of an entry; undefined when it is absent or empty. */
export function memberOf(entry: CredentialEntry, name: string): string | undefined {
  const value = typeof entry === 'string' ? undefined : entry[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

async function entriesOf(file: string, scheme: string): Promise<Readonly<Record<string, CredentialEntry>>> {
  const named = `credential file '${file}' (TRITON_CLOUD_CREDENTIAL_PATH)`;
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (reason) {
    throw invalidArg(`failed to read the ${named}: ${systemText(reason)}`);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (reason) {
    throw invalidArg(`failed to parse the ${named} as JSON: ${(reason as Error).message}`);
  }
  if (!isObject(content)) throw invalidArg(`the ${named} must hold an object`);
  const entries = content[scheme] ?? {};
  if (!isObject(entries)) throw invalidArg(`'${scheme}' in the ${named} must be an object`);
  for (const [prefix, entry] of Object.entries(entries)) {
    if (scheme === 'gs' ? typeof entry !== 'string' : !isObject(entry)) {
      const wanted = scheme === 'gs' ? 'the path of a JSON file' : 'an object';
      throw invalidArg(`the entry '${prefix}' of '${scheme}' in the ${named} must be ${wanted}`);
    }
  }
  return entries as Readonly<Record<string, CredentialEntry>>;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
