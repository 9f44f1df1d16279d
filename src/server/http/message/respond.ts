import { TritonError } from '../../../base/error.js';
import { httpStatusOf } from '../../../protocol/error.js';
import { errorBody as errorText } from '../../../protocol/json/write-json.js';
import { cutText } from '../../../transport/cut-text.js';
import type { HeaderList, Http1Reply } from '../../../transport/http1/http1-api.js';

/** Headers of a response in JSON. */
export const JSON_HEADERS: HeaderList = [['Content-Type', 'application/json']];
/** No headers of our own: the transport says text/plain. */
export const NO_HEADERS: HeaderList = [];

const EMPTY = new Uint8Array(0);

/** `{"error":"<message>"}` as bytes; of a long message, which can only come from the request, the beginning and the end. */
export function errorBody(text: string): Buffer {
  return Buffer.from(errorText(cutText(text)));
}

/** Sends an error with its mapped status. */
export function sendError(reply: Http1Reply, reason: unknown, contentType: 'text/plain' | 'application/json'): void {
  const error = TritonError.from(reason);
  reply.send(
    httpStatusOf(error.code),
    contentType === 'application/json' ? JSON_HEADERS : NO_HEADERS,
    errorBody(error.message),
  );
}

/** Sends 200 with JSON, as a string or as bytes. */
export function sendJson(reply: Http1Reply, body: string | Uint8Array): void {
  reply.send(200, JSON_HEADERS, typeof body === 'string' ? Buffer.from(body) : body);
}

/** Sends 200 with nothing, as JSON endpoints do. */
export function sendEmptyJson(reply: Http1Reply): void {
  reply.send(200, JSON_HEADERS, EMPTY);
}
