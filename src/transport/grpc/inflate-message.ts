import { createGunzip, createInflate } from 'node:zlib';
import { InflationTurn } from '../inflation-turns.js';
import type { GrpcEncoding } from './compression.js';
import type { RequestCharge } from './request-charge.js';

/** What an inflater itself needs, about: it is counted while it works. */
const INFLATER_SIZE = 64 * 1024;

/** Why a message was not inflated to its end. */
export type InflateFault = 'tooLarge' | 'noMemory' | { readonly corrupt: string };

/**
 * Decompresses one message piece by piece; every piece is counted before the next one is made, so a bomb ends at the limit
 * or where the process holds too much. Large messages take turns. The result stays counted in `charge`.
 */
export function inflateMessage(
  encoding: GrpcEncoding,
  message: Uint8Array,
  maxSize: number,
  charge: RequestCharge,
): Promise<Uint8Array | InflateFault> {
  if (!charge.take(INFLATER_SIZE)) return Promise.resolve('noMemory');
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const inflater = encoding === 'gzip' ? createGunzip() : createInflate();
    const turn = new InflationTurn(
      () => inflater.pause(),
      () => inflater.resume(),
    );
    let ended = false;
    const end = (result: Uint8Array | InflateFault): void => {
      if (ended) return;
      ended = true;
      charge.give(INFLATER_SIZE);
      if (!(result instanceof Uint8Array)) charge.give(size);
      inflater.destroy();
      turn.end();
      resolve(result);
    };
    inflater.on('data', (piece: Buffer) => {
      if (ended) return;
      if (size + piece.length > maxSize) end('tooLarge');
      else if (!charge.take(piece.length)) end('noMemory');
      else {
        size += piece.length;
        pieces.push(piece);
        turn.made(size);
      }
    });
    inflater.on('error', (error) => end({ corrupt: error.message }));
    inflater.once('end', () => end(Buffer.concat(pieces, size)));
    inflater.end(message);
  });
}
