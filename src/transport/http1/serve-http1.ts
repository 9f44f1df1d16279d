import type { Duplex } from 'node:stream';
import { Connection } from './connection.js';
import type { Http1Connection, Http1Handler } from './http1-api.js';
import { type Http1Options, resolveHttp1Options } from './http1-options.js';

export type { Http1ChunkedBody, Http1Connection, Http1Handler, Http1Reply, Http1Request } from './http1-api.js';
export type { Http1Options } from './http1-options.js';

/** Serves HTTP/1.0 and 1.1 on a connected stream (a plain or a TLS socket). The stream should allow half-open use. */
export function serveHttp1(socket: Duplex, handler: Http1Handler, options: Http1Options): Http1Connection {
  return new Connection(socket, handler, resolveHttp1Options(options));
}
