import type { HeaderList } from './http1-api.js';

/** Reason phrases; the first eight are Triton's, 405 differs from the registered one. */
const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Not Allowed',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  204: 'No Content',
  304: 'Not Modified',
  408: 'Request Timeout',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
};

const statusLines = new Map<string, string>();

/** How the end of the body is marked; 'close': by the end of the connection. */
export type ReplyFraming = { readonly length: number } | 'chunked' | 'close';

/** What the response says about the connection. */
export interface ReplyConnection {
  readonly version: '1.0' | '1.1';
  readonly keepAlive: boolean;
}

/** Whether responses of a status never have a body (RFC 9110, sections 15.2, 15.3.5 and 15.4.5). */
export function isBodyless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

/** Status line and headers, up to the empty line. */
export function replyHead(
  status: number,
  headers: HeaderList,
  framing: ReplyFraming,
  connection: ReplyConnection,
): string {
  let head = statusLine(status, connection.version);
  let typed = false;
  for (const [name, value] of headers) {
    if (isContentType(name)) typed = true;
    head += `${checked(name)}: ${checked(value)}\r\n`;
  }
  const bodyless = isBodyless(status);
  if (framing === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
  else if (framing !== 'close' && !bodyless && (framing.length > 0 || connection.version === '1.1'))
    head += `Content-Length: ${framing.length}\r\n`;
  if (!typed && !bodyless) head += 'Content-Type: text/plain\r\n';
  // Towards HTTP/1.0 closing is the rule and staying is said, towards 1.1 it is the other way round.
  if (connection.version === '1.1') return connection.keepAlive ? `${head}\r\n` : `${head}Connection: close\r\n\r\n`;
  return connection.keepAlive ? `${head}Connection: keep-alive\r\n\r\n` : `${head}\r\n`;
}

function statusLine(status: number, version: '1.0' | '1.1'): string {
  const key = version + status;
  let line = statusLines.get(key);
  if (line === undefined) {
    line = `HTTP/${version} ${status} ${REASONS[status] ?? 'Status'}\r\n`;
    if (statusLines.size < 1000) statusLines.set(key, line);
  }
  return line;
}

function isContentType(name: string): boolean {
  return name.length === 12 && name.toLowerCase() === 'content-type';
}

/** A header must not be able to end its own line. */
function checked(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new RangeError(`header contains a line break or NUL: ${JSON.stringify(text)}`);
  return text;
}
