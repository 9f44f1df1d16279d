import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { SIMPLE_HTTP_HEADER, SIMPLE_OUTPUT } from './simple-response.js';

/** A running reference server. */
export interface BareServer {
  readonly port: number;
  close(): void;
}

/**
 * The reference for HTTP: a bare node:http server that reads an inference request as the real one must (body, JSON part,
 * views on the binary parts) and answers fixed bytes, those of the model `simple`. No inference, no checks.
 */
export function startBareHttp(port: number): Promise<BareServer> {
  const header = Buffer.from(SIMPLE_HTTP_HEADER);
  const answer = Buffer.concat([header, SIMPLE_OUTPUT, SIMPLE_OUTPUT]);
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Inference-Header-Content-Length': header.length,
    'Content-Length': answer.length,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      const size = Number(request.headers['inference-header-content-length'] ?? body.length);
      if (size > 0) readRequest(body, size);
      response.writeHead(200, headers);
      response.end(answer);
    });
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      resolve({ port: (server.address() as AddressInfo).port, close: () => server.close() });
    });
  });
}

/** Parses the JSON part and finds the binary parts. */
function readRequest(body: Buffer, headerSize: number): Uint8Array[] {
  const request = JSON.parse(body.toString('utf8', 0, headerSize)) as {
    inputs: { parameters?: { binary_data_size?: number } }[];
  };
  let at = headerSize;
  return request.inputs.map(({ parameters }) => {
    const start = at;
    at += parameters?.binary_data_size ?? 0;
    return body.subarray(start, at);
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const server = await startBareHttp(Number(process.argv[2] ?? 0));
  process.stdout.write(`${server.port}\n`);
}
