import type { HeaderField } from './hpack/static-table.js';

/** The head of a request, checked. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly scheme: string;
  readonly authority: string | undefined;
  /** Declared size of the body, -1 if none is. */
  readonly contentLength: number;
  /** The fields that are not pseudo-header fields, in order. */
  readonly fields: readonly HeaderField[];
}

/** Fields that belong to one HTTP/1.1 connection (RFC 9113, section 8.2.2). */
const CONNECTION_FIELDS = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

/** Checks the fields of a request as RFC 9113 sections 8.2 and 8.3 demand; undefined if it is malformed. */
export function requestHead(fields: readonly HeaderField[]): RequestHead | undefined {
  const pseudo: Record<string, string | undefined> = {};
  let count = 0;
  for (const [name, value] of fields) {
    if (name.charCodeAt(0) !== 0x3a) break;
    if (!PSEUDO_FIELDS.has(name) || pseudo[name] !== undefined) return undefined;
    if (!validValue(value)) return undefined;
    pseudo[name] = value;
    count++;
  }
  const regular = fields.slice(count);
  const contentLength = checkFields(regular);
  if (contentLength === undefined) return undefined;
  const method = pseudo[':method'];
  const path = pseudo[':path'];
  const scheme = pseudo[':scheme'];
  const authority = pseudo[':authority'];
  if (method === undefined || method === '') return undefined;
  if (method === 'CONNECT') {
    if (path !== undefined || scheme !== undefined || authority === undefined) return undefined;
    return { method, path: '', scheme: '', authority, contentLength, fields: regular };
  }
  if (path === undefined || path === '' || scheme === undefined || scheme === '') return undefined;
  return { method, path, scheme, authority, contentLength, fields: regular };
}

/** Checks trailers. */
export function validTrailers(fields: readonly HeaderField[]): boolean {
  return checkFields(fields) !== undefined;
}

const PSEUDO_FIELDS = new Set([':method', ':scheme', ':path', ':authority']);

/** Content length (-1 without one), or undefined if a field is malformed. */
function checkFields(fields: readonly HeaderField[]): number | undefined {
  let contentLength = -1;
  for (const [name, value] of fields) {
    if (!validName(name) || !validValue(value) || CONNECTION_FIELDS.has(name)) return undefined;
    if (name === 'te' && value !== 'trailers') return undefined;
    if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value) || (contentLength >= 0 && contentLength !== Number(value))) return undefined;
      contentLength = Number(value);
    }
  }
  return contentLength;
}

/** Lower-case token characters: pseudo-header fields behind others fail here too. */
function validName(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name);
}

/**
 * No NUL, CR or LF (RFC 9113, section 8.2.1). That section forbids blanks at either end too, but every gRPC client sends
 * them where metadata have them, and gRPC's servers take them as they are.
 */
function validValue(value: string): boolean {
  return !/[\0\r\n]/.test(value);
}
