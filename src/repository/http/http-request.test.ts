import assert from 'node:assert/strict';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { proxyFor } from './http-proxy.js';
import { httpRequest } from './http-request.js';

describe('httpRequest', () => {
  let handler: (socket: net.Socket, head: string) => void;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => handler(socket, data.toString('latin1')));
  });
  let url = '';
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  beforeEach(() => {
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) delete process.env[name];
  });

  const read = async (body: AsyncIterable<unknown>): Promise<number> => {
    let size = 0;
    for await (const chunk of body) size += (chunk as Buffer).length;
    return size;
  };

  test('a server that closes in the middle of a large body is an error of that request, every time', async () => {
    handler = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n');
      socket.end(Buffer.alloc(3_000_000 + Math.floor(Math.random() * 100_000)));
    };
    for (let i = 0; i < 60; i++) {
      const { body } = await httpRequest(url);
      // A reader that pauses, as a slow disk makes it.
      body.pause();
      await new Promise((resolve) => setTimeout(resolve, i % 5));
      await assert.rejects(read(body));
    }
  });

  test('a body that is not read, and one that is given up, harm nobody', async () => {
    handler = (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n${'x'.repeat(100_000)}`);
    const unread: { destroy(): void }[] = [];
    for (let i = 0; i < 20; i++) {
      const { body } = await httpRequest(url);
      if (i % 2 === 0) body.destroy();
      else unread.push(body);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const body of unread) body.destroy();
  });

  test('what is not HTTP, and a connection that ends at once, are errors', async () => {
    for (const text of ['', 'SSH-2.0-x\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx']) {
      handler = (socket) => socket.end(text);
      await assert.rejects(httpRequest(url).then(({ body }) => read(body)));
    }
  });

  test('follows redirections up to a number', async () => {
    handler = (socket, head) => {
      const at = Number(/^GET \/(\d+)/.exec(head)?.[1] ?? 0);
      socket.end(
        at < 3
          ? `HTTP/1.1 302 Found\r\nLocation: /${at + 1}\r\nContent-Length: 0\r\n\r\n`
          : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      );
    };
    const found = await httpRequest(`${url}/0`, { redirects: 3 });
    assert.deepEqual([found.status, await read(found.body)], [200, 2]);
    const stopped = await httpRequest(`${url}/0`, { redirects: 2 });
    stopped.body.resume();
    assert.equal(stopped.status, 302);
    await assert.rejects(httpRequest('file:///etc/passwd'), /is not an HTTP address/);
  });

  test('asks again when a connection that waited was closed', async () => {
    let connections = 0;
    const kept = http.createServer({ keepAliveTimeout: 20_000 }, (_, response) => response.end('ok'));
    kept.on('connection', () => connections++);
    await new Promise<void>((resolve) => kept.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(kept.address() as AddressInfo).port}`;
    for (let i = 0; i < 3; i++) {
      const { body } = await httpRequest(address);
      assert.equal(await read(body), 2);
      await new Promise((resolve) => setTimeout(resolve, 30));
      if (i === 1) kept.closeAllConnections();
    }
    assert.equal(connections, 2);
    kept.closeAllConnections();
    kept.close();
  });

  test('an aborted signal ends a request and a body', async () => {
    handler = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx');
    const abort = new AbortController();
    const { body } = await httpRequest(url, { signal: abort.signal });
    const reading = read(body);
    abort.abort();
    await assert.rejects(reading);
    await assert.rejects(httpRequest(url, { signal: abort.signal }), { name: 'AbortError' });
  });

  test('goes through a tunnel of the proxy for https, and reports what the proxy refuses', async () => {
    const seen: string[] = [];
    handler = (socket, head) => {
      seen.push(head);
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
    };
    process.env['https_proxy'] = url.replace('//', '//me:se%20cret@');
    try {
      await assert.rejects(httpRequest('https://models.example/x'), /the proxy .* answers 407/);
    } finally {
      delete process.env['https_proxy'];
    }
    const credentials = Buffer.from('me:se cret').toString('base64');
    assert.match(seen[0] ?? '', /^CONNECT models\.example:443 HTTP\/1\.1\r\n/);
    assert.match(seen[0] ?? '', new RegExp(`proxy-authorization: Basic ${credentials}\r\n`, 'i'));
  });
});

describe('proxyFor', () => {
  const at = (address: string, environment: Record<string, string>): string | undefined =>
    proxyFor(new URL(address), environment)?.host;

  test('takes the proxy of the scheme, unless the host is exempt', () => {
    const both = { HTTP_PROXY: 'http://a:1', HTTPS_PROXY: 'http://b:2' };
    assert.equal(at('http://x/', both), 'a:1');
    assert.equal(at('https://x/', both), 'b:2');
    assert.equal(at('https://x/', { HTTP_PROXY: 'http://a:1' }), 'a:1');
    assert.equal(at('https://x/', {}), undefined);
    for (const list of ['x', '.x', '*', 'y, x', 'x:443', '*.x']) {
      assert.equal(at('https://x/', { ...both, no_proxy: list }), undefined, list);
    }
    assert.equal(at('https://sub.x/', { ...both, NO_PROXY: 'x' }), undefined);
    for (const list of ['yx', 'x:80', 'sub.x', ',']) assert.equal(at('https://x/', { ...both, NO_PROXY: list }), 'b:2');
    assert.throws(() => at('http://x/', { HTTP_PROXY: 'nonsense' }), /the proxy 'nonsense' of the environment/);
  });
});
