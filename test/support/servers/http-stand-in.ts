/** A small HTTP server whose responses a test writes. */
import http from 'node:http';
import type net from 'node:net';

/** A request as it came. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** What is answered; `cut`: the connection breaks after that many bytes of the body. */
export interface GivenAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly cut?: number;
  /** No response comes. */
  readonly silent?: boolean;
}

/** A server on a free port of 127.0.0.1. */
export async function startHttpStandIn(answer: (request: ReceivedRequest) => GivenAnswer) {
  const requests: ReceivedRequest[] = [];
  const server = http.createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const received: ReceivedRequest = {
        method: incoming.method ?? '',
        url: new URL(incoming.url ?? '', 'http://stand-in'),
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString(),
      };
      requests.push(received);
      const { status = 200, headers = {}, body = '', cut, silent = false } = answer(received);
      if (silent) return;
      response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers });
      if (cut === undefined) response.end(body);
      else response.write(body.slice(0, cut), () => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    /** `127.0.0.1:<port>` */
    host: `127.0.0.1:${port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
