/** Frames of HTTP/2 and gRPC as bytes, for tests that speak them by hand. */
import { HpackEncoder } from '../../../src/transport/http2/hpack/encoder.js';
import type { HeaderField } from '../../../src/transport/http2/hpack/static-table.js';

/** What a client sends first. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** No payload. */
export const EMPTY = Buffer.alloc(0);
/** Settings that change nothing. */
export const SETTINGS = frame(4, 0, 0, EMPTY);

/** One frame, as it was read. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A payload of 32 bits. */
export function number(value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value);
  return payload;
}

/** A SETTINGS frame with one setting. */
export function setting(id: number, value: number): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id);
  payload.writeUInt32BE(value, 2);
  return frame(4, 0, 0, payload);
}

/** Header block of a gRPC request. */
export function block(path: string, ...more: HeaderField[]): Uint8Array {
  const fields: HeaderField[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ...more,
  ];
  return new HpackEncoder().encode(fields, new Set());
}

/** A message of gRPC. */
export function message(text: string): Buffer {
  return Buffer.concat([Buffer.of(0), number(text.length), Buffer.from(text)]);
}

/** A whole unary call. */
export function call(stream: number, path = '/t.S/Echo', text = 'hello'): Buffer {
  return Buffer.concat([frame(1, 4, stream, block(path)), frame(0, 1, stream, message(text))]);
}

/** What the bytes hold. */
export function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    frames.push({
      type: bytes[at + 3]!,
      flags: bytes[at + 4]!,
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}
