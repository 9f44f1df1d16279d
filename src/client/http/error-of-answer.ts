import { codeOfHttpStatus, TritonError } from '../../protocol/error.js';
import type { HttpResponse } from './exchange.js';

/**
 * The error that an answer with a status other than 200 tells of: `error` of its JSON body, else what is known. The
 * text for an empty body is that of NVIDIA's clients (spec: wire protocol, section 10.1).
 */
export function errorOfAnswer(response: Pick<HttpResponse, 'status' | 'body'>): TritonError {
  const { status, body } = response;
  return new TritonError(codeOfHttpStatus(status), textOf(status, body), { status });
}

function textOf(status: number, body: Uint8Array): string {
  if (body.length === 0) return 'client received an empty response from the server.';
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  try {
    const error = (JSON.parse(text) as { error?: unknown } | null)?.error;
    if (typeof error === 'string') return error;
  } catch {
    // No JSON: something between us and the server answered; its words are all there is.
  }
  const excerpt = text.length > 500 ? `${text.slice(0, 500)}...` : text;
  return `the server answered with HTTP status ${status}: ${excerpt}`;
}
