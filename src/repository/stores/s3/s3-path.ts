/** The forms of `s3://` paths. */
import { invalidArg, TritonError } from '../../../base/error.js';

/** A parsed path. */
export interface S3Path {
  /** `http://host:port` of a server that speaks the protocol; undefined for Amazon's. */
  readonly endpoint: string | undefined;
  readonly bucket: string;
  /** Without slashes at its ends. */
  readonly root: string;
}

const ENDPOINT = /^s3:\/\/(http:\/\/|https:\/\/|)([0-9a-zA-Z\-.]+):([0-9]+)\/([0-9a-z.-]+)(((\/[0-9a-zA-Z.\-_]+)*)?)$/;

/** Reads a path. Throws Triton's errors for a path that does not name a bucket. */
export function parseS3Path(path: string): S3Path {
  const clean = cleanPath(path);
  const [, protocol, host, port, bucket, folder = ''] = ENDPOINT.exec(clean) ?? [];
  if (bucket !== undefined) {
    return { endpoint: `${protocol || 'http://'}${host}:${port}`, bucket, root: folder.replace(/^\//, '') };
  }
  const rest = clean.slice('s3://'.length);
  if (/^(https?:\/\/)?$/.test(rest)) {
    throw invalidArg(`Invalid bucket name: '${path.replace(/^s3:\/\/(https?:\/\/)?/, '')}'`);
  }
  if (/^https?:\/\//.test(rest)) {
    throw new TritonError(
      'INTERNAL',
      `No bucket name found in path: ${path} (an endpoint is written s3://https://HOST:PORT/BUCKET/FOLDER)`,
    );
  }
  const slash = rest.indexOf('/');
  if (slash < 0) return { endpoint: undefined, bucket: rest, root: '' };
  return { endpoint: undefined, bucket: rest.slice(0, slash), root: rest.slice(slash + 1) };
}

/** Several slashes count as one, those at the end as none. */
function cleanPath(path: string): string {
  const [, start = '', rest = ''] = /^(s3:\/\/(?:https?:\/\/)?)(.*)$/.exec(path) ?? [];
  return `${start}${rest.replace(/\/+/g, '/').replace(/^\/|\/$/g, '')}`;
}
