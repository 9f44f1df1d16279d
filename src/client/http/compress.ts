import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { TritonError } from '../../protocol/error.js';

const compressors = { gzip: promisify(gzip), deflate: promisify(deflate) };
const decompressors: Readonly<Record<string, (data: Uint8Array) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
};

/** Compresses a request body as one stream (`deflate` is the zlib format, as HTTP has it). */
export function compressBody(body: Uint8Array, encoding: 'gzip' | 'deflate'): Promise<Uint8Array> {
  return compressors[encoding](body);
}

/** Undoes the content encoding of an answer. Rejects with INTERNAL when it is unknown or broken. */
export async function decompressBody(body: Uint8Array, encoding: string | undefined): Promise<Uint8Array> {
  if (encoding === undefined || encoding === 'identity') return body;
  const decompress = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined;
  if (decompress === undefined) {
    throw new TritonError('INTERNAL', `the answer has the content encoding '${encoding}', which was not asked for`);
  }
  try {
    return await decompress(body);
  } catch (cause) {
    throw new TritonError('INTERNAL', `the ${encoding} data of the answer is broken: ${(cause as Error).message}`, {
      cause,
    });
  }
}
