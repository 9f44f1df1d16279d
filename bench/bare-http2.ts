import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import type { BareServer } from './bare-http.js';
import { SIMPLE_GRPC_MESSAGE } from './simple-response.js';

/**
 * The reference for gRPC: a bare node:http2 server that reads an inference request as the real one must (body, message
 * frame, fields of the protobuf message) and answers a fixed message, that of the model `simple`. No inference, no checks.
 */
export function startBareHttp2(port: number): Promise<BareServer> {
  const server = createServer({
    settings: { initialWindowSize: 8 * 1024 * 1024, maxConcurrentStreams: 10_000 },
  });
  server.on('session', (session) => session.setLocalWindowSize(32 * 1024 * 1024));
  server.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      if (body.length > 5) readMessage(body.subarray(5));
      answer(stream);
    });
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      resolve({ port: (server.address() as AddressInfo).port, close: () => server.close() });
    });
  });
}

function answer(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(SIMPLE_GRPC_MESSAGE);
}

/** Finds the fields of a message: number and payload of each length-delimited one. */
function readMessage(bytes: Uint8Array): (readonly [field: number, payload: Uint8Array])[] {
  const fields: (readonly [number, Uint8Array])[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const key = varint();
    const size = (key & 7) === 2 ? varint() : 0;
    if ((key & 7) === 0) varint();
    fields.push([key >>> 3, bytes.subarray(at, at + size)]);
    at += size;
  }
  return fields;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const server = await startBareHttp2(Number(process.argv[2] ?? 0));
  process.stdout.write(`${server.port}\n`);
}
