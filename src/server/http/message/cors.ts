/**
 * Cross-origin requests, so that a web page can call the server. Triton leaves this to a proxy; here it is off
 * unless `--http-cors-origin` names the origins that may (Fetch standard, section "HTTP CORS protocol").
 */
import type { HeaderList, Http1Handler, Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';

/** Response headers that a page may read besides the simple ones. */
const EXPOSED = 'Inference-Header-Content-Length, Server-Timing';
const METHODS = 'GET, POST, OPTIONS';
/** Seconds for which a browser may remember the response to a preflight request; browsers cap it at two hours. */
const MAX_AGE = '7200';

/** Wraps a handler: responds to preflight requests, and marks every response to an origin that may read it. */
export function withCors(handler: Http1Handler, origins: readonly string[]): Http1Handler {
  const anyone = origins.includes('*');
  const known = new Set(origins.map((origin) => origin.toLowerCase()));
  return (request, reply) => {
    const origin = request.header('origin');
    const allowed = origin !== undefined && (anyone || known.has(origin.toLowerCase()));
    if (!allowed) {
      // The response to an unknown origin differs from that to a known one, which a cache on the way must know.
      handler(request, anyone ? reply : new MarkedReply(reply, [['Vary', 'Origin']]));
      return;
    }
    const marks: HeaderList = anyone
      ? [['Access-Control-Allow-Origin', '*']]
      : [
          ['Access-Control-Allow-Origin', origin],
          ['Vary', 'Origin'],
        ];
    if (isPreflight(request)) reply.send(204, [...marks, ...preflightHeaders(request)]);
    else handler(request, new MarkedReply(reply, [...marks, ['Access-Control-Expose-Headers', EXPOSED]]));
  };
}

function isPreflight(request: Http1Request): boolean {
  return request.method === 'OPTIONS' && request.header('access-control-request-method') !== undefined;
}

function preflightHeaders(request: Http1Request): HeaderList {
  const headers: [string, string][] = [
    ['Access-Control-Allow-Methods', METHODS],
    ['Access-Control-Max-Age', MAX_AGE],
  ];
  const wanted = request.header('access-control-request-headers')?.trim();
  if (wanted) headers.push(['Access-Control-Allow-Headers', wanted]);
  return headers;
}

/** A reply whose head gets further headers. */
class MarkedReply implements Http1Reply {
  readonly #reply: Http1Reply;
  readonly #marks: HeaderList;

  constructor(reply: Http1Reply, marks: HeaderList) {
    this.#reply = reply;
    this.#marks = marks;
  }

  get closed(): boolean {
    return this.#reply.closed;
  }

  send(status: number, headers: HeaderList, body?: Uint8Array | readonly Uint8Array[]): void {
    this.#reply.send(status, [...headers, ...this.#marks], body);
  }

  startChunked(status: number, headers: HeaderList) {
    return this.#reply.startChunked(status, [...headers, ...this.#marks]);
  }

  hold(bytes: number): boolean {
    return this.#reply.hold(bytes);
  }

  handOver(bytes: number): void {
    this.#reply.handOver(bytes);
  }

  onClose(listener: () => void): void {
    this.#reply.onClose(listener);
  }
}
