import { readFileSync } from 'node:fs';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { TritonError } from '../protocol/error.js';
import type { EndpointOptions, GrpcTlsOptions } from './options/server-options.js';

/** A connection as the transports give it. */
export interface ServedConnection {
  readonly inFlight: number;
  shutdown(): void;
  destroy(): void;
  readonly finished: Promise<void>;
}

/** How sockets of an endpoint are served. */
export type ServeSocket = (socket: Duplex, endpoint: Endpoint) => ServedConnection;

/** What differs between endpoints. */
export interface EndpointKind {
  /**
   * Milliseconds that a connection without a request in flight stays open after a stop began: for protocols that cannot
   * tell their peer to send no more before it has sent its next request. Default 0.
   */
  readonly idleGraceMs?: number;
  readonly security?: GrpcTlsOptions | undefined;
}

/** One listening socket and its connections. */
export class Endpoint {
  readonly address: string;
  readonly port: number;
  readonly #server: net.Server;
  readonly #connections = new Set<ServedConnection>();
  readonly #idleGraceMs: number;
  #stopping = false;

  private constructor(server: net.Server, serve: ServeSocket, address: string, idleGraceMs: number) {
    this.#server = server;
    this.#idleGraceMs = idleGraceMs;
    this.address = address;
    this.port = (server.address() as net.AddressInfo).port;
    server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket: Duplex) => {
      this.#add(serve(socket, this));
    });
  }

  /**
   * Starts to listen. Rejects with UNAVAILABLE and the original's text when the address is taken or cannot be had.
   */
  static listen(
    options: EndpointOptions & { readonly reusePort?: boolean },
    serve: ServeSocket,
    kind: EndpointKind = {},
  ): Promise<Endpoint> {
    const where = `${options.address}:${options.port}`;
    return new Promise((resolve, reject) => {
      const server = createServer(kind.security);
      server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, where)));
      const { reusePort = false } = options;
      server.listen({ host: options.address, port: options.port, ...(reusePort ? { reusePort } : {}) }, () => {
        server.removeAllListeners('error');
        // After the start, errors of the listening socket concern one connection attempt each.
        server.on('error', () => {});
        resolve(new Endpoint(server, serve, options.address, kind.idleGraceMs ?? 0));
      });
    });
  }

  /** True once a stop has begun: what is answered now should close its connection. */
  get stopping(): boolean {
    return this.#stopping;
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Requests being answered, on all connections. */
  get inFlight(): number {
    let count = 0;
    for (const connection of this.#connections) count += connection.inFlight;
    return count;
  }

  /**
   * Accepts no more connections and lets every connection end after what it has in flight. Resolves when all are closed.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const connection of this.#connections) this.#endWhenQuiet(connection);
    while (this.#connections.size > 0) await Promise.all([...this.#connections].map(({ finished }) => finished));
    await closed;
  }

  /** Cuts every connection. */
  destroy(): void {
    this.#server.close();
    for (const connection of this.#connections) connection.destroy();
  }

  #add(connection: ServedConnection): void {
    this.#connections.add(connection);
    void connection.finished.then(() => this.#connections.delete(connection));
    if (this.#stopping) this.#endWhenQuiet(connection);
  }

  #endWhenQuiet(connection: ServedConnection): void {
    if (connection.inFlight > 0 || this.#idleGraceMs === 0) connection.shutdown();
    else setTimeout(() => connection.shutdown(), this.#idleGraceMs);
  }
}

function createServer(security: GrpcTlsOptions | undefined): net.Server {
  const options = { allowHalfOpen: true, noDelay: true };
  if (security === undefined) return net.createServer(options);
  return tls.createServer({
    ...options,
    ALPNProtocols: ['h2'],
    cert: readPem(security.certificate),
    key: readPem(security.key),
    ...(security.rootCertificates === '' ? {} : { ca: readPem(security.rootCertificates) }),
    requestCert: security.mutual,
    rejectUnauthorized: security.mutual,
  });
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (reason) {
    throw new TritonError('INVALID_ARG', `failed to read '${file}': ${(reason as Error).message}`, { cause: reason });
  }
}

function listenError(error: NodeJS.ErrnoException, where: string): TritonError {
  const text =
    error.code === 'EADDRINUSE'
      ? `Socket '${where}' already in use `
      : `Socket '${where}' cannot be used: ${error.message}`;
  return new TritonError('UNAVAILABLE', text, { cause: error });
}
