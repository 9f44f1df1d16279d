/** Google Cloud Storage, over its JSON interface. */
import type { Readable } from 'node:stream';
import { TritonError } from '../../../base/error.js';
import type { TokenSource } from '../common/access-token.js';
import { credentialEntry } from '../common/credential-file.js';
import type { Environment, ObjectStore, StoredObject, StoreListing } from '../common/object-store.js';
import { openBody, readText, type StoreCall, StoreError } from '../common/store-request.js';
import { googleToken } from './google-token.js';

/** Opens the bucket of a path. Throws for a path without a bucket and for faulty credentials. */
export async function openGsStore(path: string, environment: Environment): Promise<ObjectStore> {
  const [, bucket = '', root = ''] = /^gs:\/\/([^/]*)\/*(.*?)\/*$/.exec(path) ?? [];
  if (bucket === '') throw new TritonError('INTERNAL', `No bucket name found in path: ${path}`);
  const entry = await credentialEntry(path, environment);
  const file = typeof entry === 'string' ? entry : environment['GOOGLE_APPLICATION_CREDENTIALS'] || undefined;
  return new GsStore(bucket, root.replace(/\/+/g, '/'), await googleToken(file, environment), environment);
}

interface Page {
  readonly items?: readonly {
    readonly name: string;
    readonly size: string;
    readonly generation?: string;
    readonly etag?: string;
    readonly updated?: string;
  }[];
  readonly prefixes?: readonly string[];
  readonly nextPageToken?: string;
}

class GsStore implements ObjectStore {
  readonly root: string;
  readonly mountVariable = 'TRITON_GCS_MOUNT_DIRECTORY';
  readonly #bucket: string;
  readonly #url: string;
  readonly #token: TokenSource | undefined;

  constructor(bucket: string, root: string, token: TokenSource | undefined, environment: Environment) {
    this.root = root;
    this.#bucket = bucket;
    this.#token = token;
    // The variable that Google's own libraries know for stand-ins of the service.
    const emulator = environment['STORAGE_EMULATOR_HOST']?.replace(/\/+$/, '') ?? '';
    const base = emulator === '' || emulator.includes('://') ? emulator : `http://${emulator}`;
    this.#url = `${base || 'https://storage.googleapis.com'}/storage/v1/b/${encodeURIComponent(bucket)}/o`;
  }

  async check(): Promise<void> {
    try {
      await this.#page(this.root === '' ? { delimiter: '/' } : { delimiter: '/', prefix: `${this.root}/` });
    } catch (reason) {
      throw new TritonError(
        'INTERNAL',
        `Could not get MetaData for bucket with name ${this.#bucket} : ${describe(reason)}${this.#help(reason)}`,
        { cause: reason },
      );
    }
  }

  async list(prefix: string, folders: boolean): Promise<StoreListing> {
    const objects: StoredObject[] = [];
    const names: string[] = [];
    let token = '';
    do {
      const page = await this.#page({
        ...(folders ? { delimiter: '/' } : {}),
        ...(prefix === '' ? {} : { prefix }),
        ...(token === '' ? {} : { pageToken: token }),
      }).catch((reason: unknown) => {
        throw new TritonError(
          'INTERNAL',
          `Could not list contents of directory at gs://${this.#bucket}/${prefix} : ${describe(reason)}`,
        );
      });
      for (const { name, size, generation, etag, updated } of page.items ?? []) {
        objects.push({ key: name, size: Number(size), version: generation ?? etag ?? updated ?? '' });
      }
      for (const each of page.prefixes ?? []) names.push(each.slice(prefix.length, -1));
      token = page.nextPageToken ?? '';
    } while (token !== '');
    return { objects, folders: names };
  }

  async read({ key, version }: StoredObject): Promise<Readable> {
    const generation = /^\d+$/.test(version) ? `&generation=${version}` : '';
    const url = `${this.#url}/${encodeURIComponent(key)}?alt=media${generation}`;
    try {
      // Whoever takes gzip gets what is stored compressed as it is stored.
      return await openBody(() => this.#sign(url, { 'accept-encoding': 'gzip' }));
    } catch (reason) {
      throw new TritonError('INTERNAL', `Failed to get object at gs://${this.#bucket}/${key} : ${describe(reason)}`);
    }
  }

  async #page(query: Readonly<Record<string, string>>): Promise<Page> {
    const fields = 'items(name,size,generation,etag,updated),prefixes,nextPageToken';
    const url = `${this.#url}?${new URLSearchParams({ ...query, fields })}`;
    return JSON.parse(await readText(() => this.#sign(url, {}))) as Page;
  }

  async #sign(url: string, headers: Readonly<Record<string, string>>): Promise<StoreCall> {
    if (this.#token === undefined) return { url, headers };
    return { url, headers: { ...headers, authorization: `Bearer ${await this.#token()}` } };
  }

  #help(reason: unknown): string {
    const refused = reason instanceof StoreError && (reason.status === 401 || reason.status === 403);
    return refused && this.#token === undefined ? ' (no credentials: set GOOGLE_APPLICATION_CREDENTIALS)' : '';
  }
}

/** The words of a refusal. */
function describe(reason: unknown): string {
  if (!(reason instanceof StoreError)) return (reason as Error).message;
  try {
    const { error, error_description: description } = JSON.parse(reason.body) as {
      error?: { message?: string } | string;
      error_description?: string;
    };
    // Token services and the storage service have different forms.
    const text = typeof error === 'string' ? (description ?? error) : error?.message;
    return text === undefined || text === '' ? reason.message : text;
  } catch {
    return reason.message;
  }
}
