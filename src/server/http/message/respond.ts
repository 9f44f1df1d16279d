import { httpStatusOf, TritonError } from '../../../protocol/error.js';
import { errorBody as errorText } from '../../../protocol/json/write-json.js';
import { cutText } from '../../../transport/cut-text.js';
import type { HeaderList, Http1Reply } from '../../../transport/http1/http1-api.js';

/** Headers of an answer in JSON. */
export const JSON_HEADERS: HeaderList = [['Content-Type', 'application/json']];
/** No headers of our own: the transport says text/plain. */
export const NO_HEADERS: HeaderList = [];

const EMPTY = new Uint8Array(0);

/** `{"error":"<text>"}` as bytes; of a long text, which can only come from the request, the beginning and the end. */
export function errorBody(text: string): Buffer {
  return Buffer.from(errorText(cutText(text)));
}

/** Answers an error with its mapped status. */
export function sendError(reply: Http1Reply, reason: unknown, contentType: 'text/plain' | 'application/json'): void {
  const error = TritonError.from(reason);
  reply.send(
    httpStatusOf(error.code),
    contentType === 'application/json' ? JSON_HEADERS : NO_HEADERS,
    errorBody(error.message),
  );
}

/** Answers 200 with JSON text or bytes. */
export function sendJson(reply: Http1Reply, body: string | Uint8Array): void {
  reply.send(200, JSON_HEADERS, typeof body === 'string' ? Buffer.from(body) : body);
}

/** Answers 200 with nothing, as JSON endpoints do. */
export function sendEmptyJson(reply: Http1Reply): void {
  reply.send(200, JSON_HEADERS, EMPTY);
}
