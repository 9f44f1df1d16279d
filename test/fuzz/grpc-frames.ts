/** HTTP/2 frames and gRPC messages, written and read without the code under test (but for HPACK, which is tested elsewhere). */
import { HpackEncoder } from '../../src/transport/http2/hpack/encoder.js';
import { frame, PREFACE, SETTINGS } from '../support/wire/raw-frames.js';

/** What a client sends first. */
export const OPENING = Buffer.concat([PREFACE, SETTINGS]);

/** A call with one message: HEADERS, then DATA that ends the stream. */
export function call(stream: number, path: string, message: Uint8Array): Buffer {
  const fields = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
  ] as const;
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const block = new HpackEncoder().encode(fields, new Set());
  return Buffer.concat([frame(1, 4, stream, block), frame(0, 1, stream, Buffer.concat([prefix, message]))]);
}

/** Streams that the server has ended, in what it sent; each by END_STREAM or RST_STREAM. */
export function endedStreams(bytes: Buffer): Set<number> {
  const ended = new Set<number>();
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const type = bytes[at + 3] as number;
    const flags = bytes[at + 4] as number;
    if (type === 3 || (type <= 1 && (flags & 1) !== 0)) ended.add(bytes.readUInt32BE(at + 5));
  }
  return ended;
}
