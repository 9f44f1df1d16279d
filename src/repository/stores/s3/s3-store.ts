/** Amazon S3 and servers that speak its protocol. */
import type { Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';
import { TritonError } from '../../../base/error.js';
import type { Environment, ObjectStore, StoredObject, StoreListing } from '../common/object-store.js';
import { openBody, readText, type StoreCall, StoreError } from '../common/store-request.js';
import { children, childText, readXml } from '../common/xml.js';
import { type S3Credentials, s3Credentials } from './s3-credentials.js';
import { parseS3Path, type S3Path } from './s3-path.js';

/** Opens the bucket of a path. Throws for a path without a bucket and for faulty credentials; the bucket is not asked yet. */
export async function openS3Store(path: string, environment: Environment): Promise<ObjectStore> {
  const place = parseS3Path(path);
  const credentials = await s3Credentials(path, environment).catch((reason: unknown) => {
    throw reason instanceof TritonError ? reason : clientError(reason);
  });
  return new S3Store(place, credentials, environment);
}

class S3Store implements ObjectStore {
  readonly root: string;
  readonly mountVariable = 'TRITON_AWS_MOUNT_DIRECTORY';
  readonly #place: S3Path;
  readonly #credentials: S3Credentials;
  readonly #endpoint: string | undefined;
  #region: string;

  constructor(place: S3Path, credentials: S3Credentials, environment: Environment) {
    this.root = place.root;
    this.#place = place;
    this.#credentials = credentials;
    const endpoint = environment['AWS_ENDPOINT_URL_S3'] || environment['AWS_ENDPOINT_URL'] || undefined;
    this.#endpoint = place.endpoint ?? endpoint?.replace(/\/+$/, '');
    this.#region = credentials.region;
  }

  async check(): Promise<void> {
    try {
      await this.#page(this.root === '' ? {} : { prefix: `${this.root}/` });
    } catch (reason) {
      throw clientError(reason);
    }
  }

  async list(prefix: string, folders: boolean): Promise<StoreListing> {
    const objects: StoredObject[] = [];
    const names = new Set<string>();
    let token = '';
    do {
      const root = readXml(
        await this.#page({
          ...(prefix === '' ? {} : { prefix }),
          ...(token === '' ? {} : { 'continuation-token': token }),
        }).catch((reason: unknown) => {
          throw this.#failure('list', prefix, reason);
        }),
      );
      // Names come percent-encoded where the store can: XML cannot hold every character.
      const encoded = childText(root, 'EncodingType') === 'url';
      const nameOf = (text: string): string => (encoded ? decodeURIComponent(text.replaceAll('+', ' ')) : text);
      for (const each of children(root, 'Contents')) {
        const key = nameOf(childText(each, 'Key'));
        // Directories are made from the whole listing: there are stores whose own grouping leaves out some.
        const slash = folders ? key.indexOf('/', prefix.length) : -1;
        if (slash >= 0) {
          names.add(key.slice(prefix.length, slash));
          continue;
        }
        objects.push({
          key,
          size: Number(childText(each, 'Size')),
          version: childText(each, 'ETag') || childText(each, 'LastModified'),
        });
      }
      token = childText(root, 'IsTruncated') === 'true' ? childText(root, 'NextContinuationToken') : '';
    } while (token !== '');
    return { objects, folders: [...names] };
  }

  async read({ key, version }: StoredObject): Promise<Readable> {
    const path = key.split('/').map(encodeSegment).join('/');
    const headers = version.startsWith('"') ? { 'if-match': version } : {};
    try {
      return await openBody(() => this.#sign(`${this.#bucketUrl()}${path}`, headers));
    } catch (reason) {
      throw this.#failure('get', key, reason);
    }
  }

  /** One page of a listing. A bucket of another region says so: then that region is asked. */
  async #page(query: Readonly<Record<string, string>>): Promise<string> {
    const search = new URLSearchParams({ 'list-type': '2', 'encoding-type': 'url', ...query });
    const ask = (): Promise<string> => readText(() => this.#sign(`${this.#bucketUrl()}?${search}`, {}));
    try {
      return await ask();
    } catch (reason) {
      const region = reason instanceof StoreError ? regionOf(reason) : '';
      if (region === '' || region === this.#region) throw reason;
      this.#region = region;
      return await ask();
    }
  }

  /** With a slash at the end. Endpoints, and names that are not host names, have the bucket in the path. */
  #bucketUrl(): string {
    const { bucket } = this.#place;
    if (this.#endpoint !== undefined) return `${this.#endpoint}/${bucket}/`;
    const domain = this.#region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    const host = `s3.${this.#region}.${domain}`;
    return /^[a-z0-9-]+$/.test(bucket) ? `https://${bucket}.${host}/` : `https://${host}/${bucket}/`;
  }

  async #sign(url: string, headers: Record<string, string>): Promise<StoreCall> {
    if (this.#credentials.keys === undefined) return { url, headers };
    const { keyId, secretKey, sessionToken } = await this.#credentials.keys();
    const signed = await new AwsV4Signer({
      url,
      method: 'GET',
      headers,
      accessKeyId: keyId,
      secretAccessKey: secretKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region: this.#region,
    }).sign();
    return { url: signed.url.href, headers: Object.fromEntries(signed.headers) };
  }

  #failure(what: 'list' | 'get', key: string, reason: unknown): TritonError {
    const { name, message } = describe(reason);
    const text =
      what === 'list'
        ? `Failed to list objects with prefix s3://${this.#place.bucket}/${key}`
        : `Failed to get object at s3://${this.#place.bucket}/${key}`;
    return new TritonError('INTERNAL', `${text} due to exception: ${name}, error message: ${message}`, {
      cause: reason,
    });
  }
}

/** The region that a refusal names; '' when there is none in it. */
function regionOf({ headers, body }: StoreError): string {
  const named = headers['x-amz-bucket-region'];
  if (typeof named === 'string') return named;
  try {
    return childText(readXml(body), 'Region');
  } catch {
    return '';
  }
}

/** Triton's text for a bucket that cannot be asked. */
function clientError(cause: unknown): TritonError {
  const { name, message } = describe(cause);
  return new TritonError(
    'INTERNAL',
    `Unable to create S3 filesystem client. Check account credentials. Exception: '${name}' Message: '${message}'`,
    { cause },
  );
}

/** Name and words of a refusal. */
function describe(reason: unknown): { name: string; message: string } {
  if (!(reason instanceof StoreError)) return { name: '', message: (reason as Error).message };
  try {
    const root = readXml(reason.body);
    const name = childText(root, 'Code');
    if (name !== '') return { name, message: childText(root, 'Message') || reason.message };
  } catch {
    // no XML: a proxy or another server answered
  }
  return { name: '', message: reason.message };
}

/** Percent-encodes everything but letters, digits and `-._~`, as signatures demand it. */
function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
