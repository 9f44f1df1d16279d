import { createUnzip, deflate, gzip } from 'node:zlib';
import { invalidArg, TritonError } from '../../../base/error.js';
import { NO_REQUEST_MEMORY } from '../../../transport/byte-budget.js';
import type { Http1Reply } from '../../../transport/http1/http1-api.js';
import { InflationTurn } from '../../../transport/inflation-turns.js';

/** Bytes that come out in one piece. */
const CHUNK_SIZE = 64 * 1024;

/** Encodings of a response. */
export type ResponseEncoding = 'identity' | 'gzip' | 'deflate';

/** True when the body must be decompressed first. Throws UNSUPPORTED for every other encoding than gzip and deflate. */
export function isCompressed(contentEncoding: string | undefined): boolean {
  if (contentEncoding === undefined || contentEncoding === 'identity') return false;
  if (contentEncoding === 'gzip' || contentEncoding === 'deflate') return true;
  throw new TritonError('UNSUPPORTED', 'Unsupported compression type');
}

/**
 * Decompresses a gzip or zlib body of either name. What is corrupt, cut off or not compressed at all ends the body where
 * decoding stopped, as in Triton. Rejects with INVALID_ARG for an empty body and above `maxSize` bytes, and with
 * UNAVAILABLE when `hold` refuses room for what comes out; large bodies take turns; a peer that goes away ends the work, and nothing settles then.
 */
export function decompress(
  body: Uint8Array,
  maxSize: number,
  reply: Pick<Http1Reply, 'hold' | 'onClose'>,
): Promise<Uint8Array> {
  if (body.length === 0) return Promise.reject(invalidArg('nothing to be decompressed'));
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const stream = createUnzip({ chunkSize: CHUNK_SIZE });
    const turn = new InflationTurn(
      () => stream.pause(),
      () => stream.resume(),
    );
    stream.once('close', () => turn.end());
    reply.onClose(() => stream.destroy());
    const finish = (): void => resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, size));
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxSize && !reply.hold(chunk.length)) {
        stream.destroy();
        reject(new TritonError('UNAVAILABLE', NO_REQUEST_MEMORY));
        return;
      }
      if (size <= maxSize) {
        chunks.push(chunk);
        turn.made(size);
        return;
      }
      stream.destroy();
      reject(
        invalidArg(
          `Decompressed data size exceeds the maximum allowed value of ${maxSize} bytes. ` +
            'Use --http-max-input-size to increase the limit.',
        ),
      );
    });
    stream.on('end', finish);
    stream.on('error', finish);
    stream.end(body);
  });
}

/** Compresses a response at zlib's default level. */
export function compress(chunks: readonly Uint8Array[], encoding: 'gzip' | 'deflate'): Promise<Uint8Array> {
  const body = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  return new Promise((resolve, reject) => {
    (encoding === 'gzip' ? gzip : deflate)(body, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
}

/**
 * The encoding that an `Accept-Encoding` header asks for: highest weight, then first; only a literal `;q=` gives a
 * weight, 0 and unreadable weights drop the candidate, as in Triton.
 */
export function responseEncoding(acceptEncoding: string | undefined): ResponseEncoding {
  if (acceptEncoding === undefined) return 'identity';
  let best: ResponseEncoding = 'identity';
  let bestWeight = 0;
  for (const part of acceptEncoding.split(',')) {
    const text = part.replace(/^ +/, '');
    const at = text.indexOf(';q=');
    const name = at < 0 ? text : text.slice(0, at);
    if (name !== 'identity' && name !== 'deflate' && name !== 'gzip') continue;
    const weight = at < 0 ? 1 : Number.parseFloat(text.slice(at + 3));
    if (weight > bestWeight) {
      best = name;
      bestWeight = weight;
    }
  }
  return best;
}
