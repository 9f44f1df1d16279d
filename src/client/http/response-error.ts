import { TritonError } from '../../base/error.js';
import { codeOfHttpStatus } from '../../protocol/error.js';
import type { HttpResponse } from './exchange.js';

/** Of a body that is not an error of the protocol, so much stands in the error, in characters. */
const EXCERPT_LENGTH = 500;

/** The error of a response with a status other than 200: `error` of its JSON body, else what is known. */
export function errorOfResponse({ status, body }: Pick<HttpResponse, 'status' | 'body'>): TritonError {
  return new TritonError(codeOfHttpStatus(status), messageOf(status, body), { status });
}

function messageOf(status: number, body: Uint8Array): string {
  // The message of NVIDIA's client libraries (http_client.cc).
  if (body.length === 0) return 'client received an empty response from the server.';
  const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  try {
    const error = (JSON.parse(content) as { error?: unknown } | null)?.error;
    if (typeof error === 'string') return error;
  } catch {
    // Not JSON: something between the client and the server responded; its words are all there is.
  }
  const excerpt = content.length > EXCERPT_LENGTH ? `${content.slice(0, EXCERPT_LENGTH)}...` : content;
  return `the server responded with HTTP status ${status}: ${excerpt}`;
}
