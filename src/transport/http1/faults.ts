import { NO_REQUEST_MEMORY } from '../byte-budget.js';

/**
 * What ends an HTTP/1.1 connection on the parser's side. Status 0: closed without a response, as Triton does; else
 * answered and closed. Whatever could be read in two ways by two servers in a row
 * (request smuggling) is a fault.
 */
export const HTTP1_FAULTS = {
  requestLine: { status: 0, text: 'malformed request line' },
  tokenSize: { status: 0, text: 'token too long' },
  bareLineFeed: { status: 0, text: 'line ended by LF alone' },
  contentLength: { status: 0, text: 'Content-Length is not a number' },
  headSize: { status: 431, text: 'request line and headers too large' },
  headerCount: { status: 431, text: 'too many headers' },
  headerName: { status: 400, text: 'malformed header name' },
  headerValue: { status: 400, text: 'malformed header value' },
  foldedHeader: { status: 400, text: 'folded header line' },
  twoLengths: { status: 400, text: 'more than one Content-Length' },
  transferEncoding: { status: 400, text: 'transfer coding other than chunked' },
  chunkSize: { status: 400, text: 'malformed chunk size' },
  chunkEnd: { status: 400, text: 'chunk not ended by CRLF' },
  chunkExtensions: { status: 400, text: 'chunk extensions too large' },
  chunkCount: { status: 400, text: 'too many chunks' },
  bodySize: { status: 413, text: 'body too large' },
  noHost: { status: 400, text: 'no Host header, which HTTP/1.1 asks for' },
  twoHosts: { status: 400, text: 'more than one Host header' },
  memory: { status: 503, text: NO_REQUEST_MEMORY },
  stopping: { status: 503, text: 'the server is stopping' },
} as const;

/** Name of a fault. */
export type Http1Fault = keyof typeof HTTP1_FAULTS;
