import net from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { TritonError } from '../../base/error.js';
import { DirectSocket } from '../../transport/direct-socket.js';
import type { EndpointOptions } from '../options/http-options.js';
import type { ServerTlsOptions } from '../options/tls-options.js';
import { createTlsServer } from './tls-server.js';

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
   * ask their peer to send no more before it has sent its next request. Default 0.
   */
  readonly idleGraceMs?: number;
  readonly security?: ServerTlsOptions | undefined;
  /** What is spoken; clients over TLS may ask for it by name. */
  readonly protocol: 'h2' | 'http/1.1';
}

/**
 * Connections that may wait to be accepted; the system's own limit holds too. With Node's default of 511 a thousand clients that come at
 * once overflow it while the server is busy, and some of them are reset a minute later although they believe to be connected.
 */
const BACKLOG = 4096;

/** One listening socket and its connections. */
export class Endpoint {
  readonly address: string;
  readonly port: number;
  readonly #server: net.Server;
  readonly #connections = new Set<ServedConnection>();
  readonly #idleGraceMs: number;
  readonly #endHandshakes: () => void;
  #stopping = false;

  private constructor({ server, endHandshakes }: Listener, serve: ServeSocket, address: string, idleGraceMs: number) {
    this.#server = server;
    this.#endHandshakes = endHandshakes;
    this.#idleGraceMs = idleGraceMs;
    this.address = address;
    this.port = (server.address() as net.AddressInfo).port;
    if (server instanceof tls.Server) {
      server.on('secureConnection', (socket) => this.#add(serve(socket, this)));
      return;
    }
    server.on('connection', (socket) => {
      const direct = DirectSocket.take(socket);
      this.#add(serve(direct ?? socket, this));
      // It was accepted at rest, and listeners alone do not set it going.
      if (direct === undefined) socket.resume();
    });
  }

  /**
   * Starts to listen. Rejects with UNAVAILABLE and Triton's message when the address is taken or cannot be used.
   */
  static listen(
    options: EndpointOptions & { readonly reusePort?: boolean },
    serve: ServeSocket,
    kind: EndpointKind,
  ): Promise<Endpoint> {
    const where = `${options.address}:${options.port}`;
    return new Promise((resolve, reject) => {
      const listener = createListener(kind);
      const { server } = listener;
      server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, where)));
      const { reusePort = false } = options;
      server.listen(
        { host: options.address, port: options.port, backlog: BACKLOG, ...(reusePort ? { reusePort } : {}) },
        () => {
          server.removeAllListeners('error');
          // After the start, errors of the listening socket concern one connection attempt each.
          server.on('error', () => {});
          resolve(new Endpoint(listener, serve, options.address, kind.idleGraceMs ?? 0));
        },
      );
    });
  }

  /** True once a stop has begun: a response that is sent now should close its connection. */
  get stopping(): boolean {
    return this.#stopping;
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Requests that wait for their response, on all connections. */
  get inFlight(): number {
    let count = 0;
    for (const connection of this.#connections) count += connection.inFlight;
    return count;
  }

  /** Accepts no more connections; those that are open are served on. */
  close(): void {
    this.#server.close();
  }

  /**
   * Accepts no more connections and lets every connection end after what it has in flight. Resolves when all are closed.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#endHandshakes();
    for (const connection of this.#connections) this.#endWhenQuiet(connection);
    while (this.#connections.size > 0) await Promise.all([...this.#connections].map(({ finished }) => finished));
    await closed;
  }

  /** Cuts every connection. */
  destroy(): void {
    this.#server.close();
    this.#endHandshakes();
    for (const connection of this.#connections) connection.destroy();
  }

  #add(connection: ServedConnection): void {
    this.#connections.add(connection);
    void connection.finished.then(() => this.#connections.delete(connection));
    if (this.#stopping) this.#endWhenQuiet(connection);
  }

  #endWhenQuiet(connection: ServedConnection): void {
    if (connection.inFlight > 0 || this.#idleGraceMs === 0) {
      connection.shutdown();
      return;
    }
    const timer = setTimeout(() => connection.shutdown(), this.#idleGraceMs);
    void connection.finished.then(() => clearTimeout(timer));
  }
}

/** A listening socket, and how to cut connections that have not got as far as the protocol. */
interface Listener {
  readonly server: net.Server;
  readonly endHandshakes: () => void;
}

function createListener({ security, protocol }: EndpointKind): Listener {
  const options = { allowHalfOpen: true, noDelay: true };
  if (security !== undefined) return createTlsServer(security, protocol, options);
  return { server: net.createServer({ ...options, pauseOnConnect: true }), endHandshakes() {} };
}

function listenError(error: NodeJS.ErrnoException, where: string): TritonError {
  const text =
    error.code === 'EADDRINUSE'
      ? `Socket '${where}' already in use `
      : `Socket '${where}' cannot be used: ${error.message}`;
  return new TritonError('UNAVAILABLE', text, { cause: error });
}
