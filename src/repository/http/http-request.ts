/**
 * Requests to servers of files: downloads and object stores. On node:http and node:https, because undici 7 can throw an
 * assertion out of reach of any handler when a server closes the connection of a large body (nodejs/undici issue 5360),
 * which would end a server that fetches models.
 */
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { proxyFor } from './http-proxy.js';

/** A request, and how long it may take. */
export interface HttpRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Redirections that are followed; by default none. */
  readonly redirects?: number;
  /** False: the proxies of the environment are not used. */
  readonly proxies?: boolean;
}

/** A response. `body` must be read or destroyed; it fails when the connection breaks or stands still. */
export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** Longest wait for a connection, through a proxy too, in ms. */
const CONNECT_MS = 10_000;
/** Longest wait for the head of a response, in ms. */
const HEAD_MS = 30_000;
/** Longest time without any byte of a body, in ms. */
const BODY_MS = 60_000;

const REDIRECTIONS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** How long a connection waits for the next request, in ms; waiting ones do not keep the process alive. */
const IDLE_MS = 2000;

const AGENTS = {
  'http:': new http.Agent({ keepAlive: true, timeout: IDLE_MS }),
  'https:': new https.Agent({ keepAlive: true, timeout: IDLE_MS }),
} as const;

/** Sends a request. Rejects when there is no response: the system's error, or one that says what took too long. */
export async function httpRequest(url: string, request: HttpRequest = {}): Promise<HttpResponse> {
  let target = new URL(url);
  for (let left = request.redirects ?? 0; ; left--) {
    const message = await send(target, request);
    const status = message.statusCode ?? 0;
    const { location } = message.headers;
    if (left <= 0 || location === undefined || !REDIRECTIONS.has(status)) {
      return { status, statusText: message.statusMessage ?? '', headers: message.headers, body: message };
    }
    message.destroy();
    target = new URL(location, target);
  }
}

async function send(url: URL, request: HttpRequest): Promise<IncomingMessage> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`'${url.href}' is not an HTTP address`);
  const proxy = request.proxies === false ? undefined : proxyFor(url, process.env);
  for (let tries = 0; ; tries++) {
    const sent = proxy === undefined ? start(url, request) : await startOverProxy(url, proxy, request);
    try {
      return await headOf(sent, request.body);
    } catch (reason) {
      // The store closed a connection that waited for the next request, in the moment when it came.
      const isStale = sent.reusedSocket && (reason as NodeJS.ErrnoException).code === 'ECONNRESET';
      if (!isStale || tries > 0) throw reason;
    }
  }
}

function start(url: URL, request: HttpRequest): ClientRequest {
  const scheme = url.protocol as 'http:' | 'https:';
  const { request: open } = scheme === 'https:' ? https : http;
  return open(url, { ...optionsOf(request), agent: AGENTS[scheme] });
}

function optionsOf({ method, headers, signal }: HttpRequest): http.RequestOptions {
  return { method: method ?? 'GET', headers: { ...headers }, ...(signal === undefined ? {} : { signal }) };
}

/** A plain request is handed to the proxy; one over TLS goes through a tunnel, so that the proxy sees nothing of it. */
async function startOverProxy(url: URL, proxy: URL, request: HttpRequest): Promise<ClientRequest> {
  const { request: open } = proxy.protocol === 'https:' ? https : http;
  const credentials = decodeURIComponent(`${proxy.username}:${proxy.password}`);
  const authorization: Record<string, string> =
    credentials === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
  if (url.protocol === 'http:') {
    const options = optionsOf(request);
    const headers = { ...request.headers, ...authorization, host: url.host };
    return open(proxy, { ...options, headers, path: url.href, agent: AGENTS[proxy.protocol as 'http:' | 'https:'] });
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const place = `${url.hostname}:${url.port || 443}`;
  const deadline = AbortSignal.timeout(CONNECT_MS);
  const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
  const tunnel = await new Promise<import('node:net').Socket>((resolve, reject) => {
    const connect = open(proxy, { method: 'CONNECT', path: place, headers: { ...authorization, host: place }, signal });
    connect.on('error', reject);
    connect.on('connect', (response, socket) => {
      if (response.statusCode === 200) resolve(socket);
      else {
        socket.destroy();
        reject(new Error(`the proxy ${proxy.host} answers ${response.statusCode} ${response.statusMessage}`));
      }
    });
    connect.on('response', (response) => {
      response.destroy();
      reject(new Error(`the proxy ${proxy.host} answers ${response.statusCode} ${response.statusMessage}`));
    });
    connect.end();
  });
  const secured = tls.connect({ socket: tunnel, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
  return https.request(url, { ...optionsOf(request), createConnection: () => secured });
}

function headOf(sent: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => sent.destroy(timeout('no connection', CONNECT_MS)), CONNECT_MS);
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => sent.destroy(timeout('no response', HEAD_MS)), HEAD_MS);
    };
    sent.on('socket', (socket) => {
      if (!socket.connecting) wait();
      else socket.once('connect', wait);
    });
    // Stays after the response has begun: an error must never be without a listener.
    sent.on('error', (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
    sent.on('response', (message) => {
      clearTimeout(timer);
      message.setTimeout(BODY_MS, () => message.destroy(timeout('nothing more of the body', BODY_MS)));
      message.on('error', () => {}); // whoever reads the body gets it; one that is destroyed unread has no reader
      resolve(message);
    });
    sent.end(body);
  });
}

function timeout(what: string, ms: number): Error {
  return Object.assign(new Error(`${what} within ${ms / 1000} s`), { code: 'ETIMEDOUT' });
}
