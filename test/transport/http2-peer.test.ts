import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GrpcMethod, serveGrpc } from '../../src/transport/grpc/serve-grpc.js';

const metadata: GrpcMethod = {
  kind: 'unary',
  handle(call) {
    call.send(Buffer.from(JSON.stringify([...call.metadataEntries()])));
    call.finish(0);
  },
};

test('headers sent by node:http2 arrive as sent, whatever its table holds', async (t) => {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    serveGrpc(socket, new Map([['/t.S/Meta', metadata]]), {}),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const value = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/);
  const headers = fc.dictionary(fc.stringMatching(/^x-[a-c0-9_-]{1,6}$/), value, {
    noNullPrototype: true,
    maxKeys: 12,
  });
  await fc.assert(
    fc.asyncProperty(headers, async (fields) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/t.S/Meta',
        'content-type': 'application/grpc+proto',
        te: 'trailers',
        ...fields,
      });
      stream.end(Buffer.alloc(5));
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      const [trailers] = await once(stream, 'trailers');
      assert.equal(trailers['grpc-status'], '0');
      assert.deepEqual(JSON.parse(Buffer.concat(chunks).subarray(5).toString()), Object.entries(fields));
    }),
    { numRuns: 300 },
  );
});
