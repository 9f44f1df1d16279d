/** Azure's blob storage. */
import type { Readable } from 'node:stream';
import { invalidArg, TritonError } from '../../../base/error.js';
import type { Environment, ObjectStore, StoredObject, StoreListing } from '../common/object-store.js';
import { openBody, readText, type StoreCall, StoreError } from '../common/store-request.js';
import { children, childText, readXml } from '../common/xml.js';
import { type AzureCredentials, azureCredentials, sharedKey } from './azure-credentials.js';

const PATH = /^as:\/\/([^/]+)\/([^/?]+)(?:\/([^?]*))?(\?.*)?$/;
const HOST_END = '.blob.core.windows.net';
/** Version of the interface. */
const API_VERSION = '2021-08-06';

/** Opens the container of a path. Throws Triton's text for one of another form, and for faulty credentials. */
export async function openAsStore(path: string, environment: Environment): Promise<ObjectStore> {
  const [, host, container, folder = '', query = ''] = PATH.exec(path) ?? [];
  if (host === undefined || container === undefined) throw invalidArg(`Invalid azure storage path: ${path}`);
  const account = host.endsWith(HOST_END) ? host.slice(0, -HOST_END.length) : host;
  // The variable that Azure's command line knows for stand-ins of the service and for other clouds.
  const service = environment['AZURE_STORAGE_SERVICE_ENDPOINT']?.replace(/\/+$/, '') || `https://${account}${HOST_END}`;
  return new AsStore(
    `${service}/${container}`,
    folder.replace(/\/+/g, '/').replace(/^\/|\/$/g, ''),
    // A query is a shared access signature.
    [...new URLSearchParams(query)],
    await azureCredentials(path, account, environment),
  );
}

class AsStore implements ObjectStore {
  readonly mountVariable = 'TRITON_AZURE_MOUNT_DIRECTORY';

  constructor(
    /** URL of the container. */
    private readonly url: string,
    readonly root: string,
    private readonly query: readonly (readonly [string, string])[],
    private readonly credentials: AzureCredentials,
  ) {}

  async check(): Promise<void> {
    try {
      await this.#page(this.root === '' ? { delimiter: '/' } : { delimiter: '/', prefix: `${this.root}/` });
    } catch (reason) {
      const text = 'Unable to create Azure filesystem client. Check account credentials.';
      throw new TritonError('INTERNAL', `${text} ${describe(reason)}`, { cause: reason });
    }
  }

  async list(prefix: string, folders: boolean): Promise<StoreListing> {
    const objects: StoredObject[] = [];
    const names: string[] = [];
    let marker = '';
    do {
      const root = readXml(
        await this.#page({
          ...(folders ? { delimiter: '/' } : {}),
          ...(prefix === '' ? {} : { prefix }),
          ...(marker === '' ? {} : { marker }),
        }).catch((reason: unknown) => {
          throw new TritonError('INTERNAL', `Failed to list blobs with prefix '${prefix}': ${describe(reason)}`);
        }),
      );
      const [blobs] = children(root, 'Blobs');
      for (const each of children(blobs, 'Blob')) {
        const [properties] = children(each, 'Properties');
        objects.push({
          key: childText(each, 'Name'),
          size: Number(childText(properties, 'Content-Length')),
          version: childText(properties, 'Etag') || childText(properties, 'Last-Modified'),
        });
      }
      for (const each of children(blobs, 'BlobPrefix')) names.push(childText(each, 'Name').slice(prefix.length, -1));
      marker = childText(root, 'NextMarker');
    } while (marker !== '');
    return { objects, folders: names };
  }

  async read({ key, version }: StoredObject): Promise<Readable> {
    const url = new URL(`${this.url}/${key.split('/').map(encodeURIComponent).join('/')}`);
    // Listings give entity tags without the quotation marks that headers have.
    const headers = version.startsWith('0x') ? { 'if-match': `"${version}"` } : {};
    try {
      return await openBody(() => this.#sign(url, headers));
    } catch (reason) {
      throw new TritonError('INTERNAL', `Failed to read blob '${key}': ${describe(reason)}`);
    }
  }

  #page(query: Readonly<Record<string, string>>): Promise<string> {
    const url = new URL(this.url);
    for (const [name, value] of Object.entries({ restype: 'container', comp: 'list', ...query })) {
      url.searchParams.set(name, value);
    }
    return readText(() => this.#sign(url, {}));
  }

  async #sign(target: URL, more: Readonly<Record<string, string>>): Promise<StoreCall> {
    const url = new URL(target);
    for (const [name, value] of this.query) url.searchParams.set(name, value);
    const headers: Record<string, string> = {
      ...more,
      'x-ms-date': new Date().toUTCString(),
      'x-ms-version': API_VERSION,
    };
    if (this.credentials.kind === 'key') headers['authorization'] = sharedKey(this.credentials, url, headers);
    if (this.credentials.kind === 'token') headers['authorization'] = `Bearer ${await this.credentials.token()}`;
    return { url: url.href, headers };
  }
}

/** The words of a refusal. */
function describe(reason: unknown): string {
  if (!(reason instanceof StoreError)) return (reason as Error).message;
  try {
    const root = readXml(reason.body);
    const [first] = childText(root, 'Message').split('\n');
    return `${childText(root, 'Code')}: ${first}`;
  } catch {
    return reason.message;
  }
}
