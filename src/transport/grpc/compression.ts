import { deflate, gzip, type InputType, type ZlibOptions } from 'node:zlib';
import type { GrpcCompressionLevel } from './grpc-api.js';

/** Algorithms of message compression, besides identity. `deflate` means the zlib format, as everywhere in HTTP. */
export type GrpcEncoding = 'gzip' | 'deflate';

/** Algorithms in the order of preference in which levels choose from them. */
const ENCODINGS: readonly GrpcEncoding[] = ['gzip', 'deflate'];

/** What we say that we accept. */
export const ACCEPTED_ENCODINGS = 'identity, deflate, gzip';

/** Whether messages in that encoding can be read. */
export function isGrpcEncoding(name: string): name is GrpcEncoding {
  return name === 'gzip' || name === 'deflate';
}

/** The algorithm that a level means for a peer with that `grpc-accept-encoding`; undefined for none. */
export function encodingForLevel(level: GrpcCompressionLevel, accepted: string | undefined): GrpcEncoding | undefined {
  if (level === 'none' || accepted === undefined) return undefined;
  const names = accepted.split(',').map((name) => name.trim());
  const usable = ENCODINGS.filter((name) => names.includes(name));
  if (level === 'low') return usable[0];
  return level === 'medium' ? usable[usable.length >> 1] : usable.at(-1);
}

/** Compresses one message. */
export function compressMessage(encoding: GrpcEncoding, message: Uint8Array): Promise<Uint8Array> {
  return run(encoding === 'gzip' ? gzip : deflate, message, {});
}

type Codec = (data: InputType, options: ZlibOptions, done: (error: Error | null, result: Buffer) => void) => void;

function run(codec: Codec, data: Uint8Array, options: ZlibOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    codec(data, options, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
}
