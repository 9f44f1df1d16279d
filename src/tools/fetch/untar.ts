/** Takes named files out of a .tar.gz archive, one pass, nothing held in memory. */
import { createReadStream, createWriteStream } from 'node:fs';
import path from 'node:path';
import stream, { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { invalidArg } from '../../base/error.js';
import { makeDirectories } from '../../base/files/make-directories.js';

const BLOCK = 512;

/** Writes the members that `places` names to their places. INVALID_ARG when one is missing or the archive is broken. */
export async function untar(archive: string, places: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
  // Errors of either stream come out of the reader, which looks at the second.
  const source = stream.pipeline(createReadStream(archive), createGunzip(), () => {});
  try {
    await unpack(new BlockReader(source, archive), places, signal);
  } finally {
    source.destroy();
  }
}

async function unpack(reader: BlockReader, places: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
  const { archive } = reader;
  const missing = new Set(places.keys());
  while (missing.size > 0) {
    signal.throwIfAborted();
    const header = await reader.take(BLOCK);
    if (header === undefined || header.every((byte) => byte === 0)) break;
    const name = text(header, 345, 155) + text(header, 0, 100);
    const size = Number.parseInt(text(header, 124, 12).trim() || '0', 8);
    const type = header[156];
    if (!Number.isSafeInteger(size)) throw invalidArg(`'${archive}' is not a tar archive`);
    const isFile = type === 0 || type === 0x30;
    const place = isFile ? places.get(name.replace(/^\.\//, '')) : undefined;
    if (place === undefined) await reader.skip(size);
    else {
      await makeDirectories(path.dirname(place));
      await pipeline(Readable.from(reader.part(size)), createWriteStream(place, { flags: 'wx' }), { signal });
      missing.delete(name.replace(/^\.\//, ''));
    }
    await reader.skip((BLOCK - (size % BLOCK)) % BLOCK);
  }
  if (missing.size > 0) throw invalidArg(`'${archive}' does not hold ${[...missing].join(', ')}`);
}

function text(header: Buffer, start: number, length: number): string {
  const field = header.toString('latin1', start, start + length);
  const end = field.indexOf('\0');
  return end < 0 ? field : field.slice(0, end);
}

/** Bytes of a stream in pieces of chosen sizes. */
class BlockReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(
    source: AsyncIterable<Buffer>,
    readonly archive: string,
  ) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Exactly `size` bytes; undefined at the end of the stream. */
  async take(size: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for await (const part of this.part(size, true)) parts.push(part);
    const all = Buffer.concat(parts);
    return all.length < size ? undefined : all;
  }

  async skip(size: number): Promise<void> {
    for await (const _ of this.part(size));
  }

  /** The next `size` bytes, as they come. */
  async *part(size: number, mayEnd = false): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next().catch((reason: unknown) => {
          throw invalidArg(`'${this.archive}' cannot be unpacked: ${(reason as Error).message}`);
        });
        if (next.done) {
          if (mayEnd) return;
          throw invalidArg(`'${this.archive}' is cut short`);
        }
        this.#rest = next.value;
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
}
