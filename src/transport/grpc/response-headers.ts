import type { HpackEncoder } from '../http2/hpack/encoder.js';
import type { HeaderField } from '../http2/hpack/static-table.js';
import type { HeaderSource } from '../http2/http2-api.js';
import { ACCEPTED_ENCODINGS, type GrpcEncoding } from './compression.js';
import { encodeStatusMessage } from './status-message.js';

const STATUS_200: HeaderField = [':status', '200'];
const CONTENT_TYPE: HeaderField = ['content-type', 'application/grpc'];
const ACCEPT_ENCODING: HeaderField = ['grpc-accept-encoding', ACCEPTED_ENCODINGS];
const STATUS_OK: HeaderField = ['grpc-status', '0'];
const ENCODINGS: Readonly<Record<GrpcEncoding, HeaderField>> = {
  gzip: ['grpc-encoding', 'gzip'],
  deflate: ['grpc-encoding', 'deflate'],
};
/** Fields that every response has. */
const REPEATED: ReadonlySet<HeaderField> = new Set([
  CONTENT_TYPE,
  ACCEPT_ENCODING,
  STATUS_OK,
  ENCODINGS.gzip,
  ENCODINGS.deflate,
]);

/**
 * Header blocks of the responses of one connection. Those that are always the same are kept in their encoded form, once
 * the peer's table holds their fields: a few bytes each.
 */
export class ResponseHeaders {
  /** Head of a response with messages. */
  readonly initial: HeaderSource = kept([STATUS_200, CONTENT_TYPE, ACCEPT_ENCODING]);
  /** End of a response that succeeded. */
  readonly ok: HeaderSource = kept([STATUS_OK]);

  /** Head of a response with compressed messages. */
  compressed(encoding: GrpcEncoding): HeaderSource {
    return plain([STATUS_200, CONTENT_TYPE, ENCODINGS[encoding], ACCEPT_ENCODING]);
  }

  /** End of a response; `first` if nothing was sent before (trailers-only). */
  end(status: number, message: string, first: boolean): HeaderSource {
    if (status === 0 && message === '' && !first) return this.ok;
    const fields: HeaderField[] = first ? [STATUS_200, CONTENT_TYPE] : [];
    fields.push(status === 0 ? STATUS_OK : ['grpc-status', String(status)]);
    if (message !== '') fields.push(['grpc-message', encodeStatusMessage(message)]);
    return plain(fields);
  }
}

/** Head of a response to what is not gRPC. */
export function plainHeaders(status: number, contentType: string, length: number): HeaderSource {
  return plain([
    [':status', String(status)],
    ['content-type', contentType],
    ['content-length', String(length)],
  ]);
}

function plain(fields: readonly HeaderField[]): HeaderSource {
  return (encoder) => encoder.encode(fields, REPEATED);
}

function kept(fields: readonly HeaderField[]): HeaderSource {
  let generation = -1;
  let bytes: Uint8Array | undefined;
  return (encoder: HpackEncoder) => {
    if (bytes !== undefined && generation === encoder.generation) return bytes;
    generation = encoder.generation;
    bytes = encoder.encode(fields, REPEATED);
    const block = bytes;
    // A block that has changed the table is good for one time only.
    if (generation !== encoder.generation) bytes = undefined;
    return block;
  };
}
