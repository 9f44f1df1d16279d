import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { TritonError } from '../../base/error.js';
import { chunksOf, type HttpRequest, joined } from './exchange.js';

const compressors = { gzip: promisify(gzip), deflate: promisify(deflate) };
const decompressors: Readonly<Record<string, (data: Uint8Array) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
};

/**
 * The request with its body compressed as one stream (`deflate` is the zlib format, as in HTTP), and with the wish for a
 * response that is compressed alike.
 */
export async function compressRequest(request: HttpRequest, encoding: 'gzip' | 'deflate'): Promise<HttpRequest> {
  const body = await compressors[encoding](joined(chunksOf(request.body)));
  const headers: string[] = [];
  for (let i = 0; i < request.headers.length; i += 2) {
    if (request.headers[i] !== 'content-length') headers.push(...request.headers.slice(i, i + 2));
  }
  headers.push('content-encoding', encoding, 'accept-encoding', encoding);
  return { ...request, headers, body };
}

/** Undoes the content encoding of a response. Rejects with INTERNAL when it is unknown or broken. */
export async function decompressBody(body: Uint8Array, encoding: string | undefined): Promise<Uint8Array> {
  if (encoding === undefined || encoding === 'identity') return body;
  const decompress = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined;
  if (decompress === undefined) {
    throw new TritonError('INTERNAL', `the response has the content encoding '${encoding}', which was not asked for`);
  }
  try {
    return await decompress(body);
  } catch (cause) {
    throw new TritonError('INTERNAL', `the ${encoding} data of the response is broken: ${(cause as Error).message}`, {
      cause,
    });
  }
}
