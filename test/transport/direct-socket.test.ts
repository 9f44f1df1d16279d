import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { DirectSocket } from '../../src/transport/direct-socket.js';
import { serveHttp1 } from '../../src/transport/http1/serve-http1.js';

const hash = (bytes: Uint8Array): string => createHash('sha1').update(bytes).digest('hex');
const SIZES = [0, 1, 100, 16_383, 16_384, 65_000, 65_536, 70_000, 200_000, 1_048_576, 9_000_000];

test('bodies of any size arrive whole, one by one and several in one go, on connections side by side', async (t) => {
  let taken = 0;
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (accepted) => {
    const socket = DirectSocket.take(accepted);
    assert.ok(socket !== undefined);
    taken++;
    serveHttp1(socket, (request, reply) => reply.send(200, [], Buffer.from(hash(request.body))), {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;

  async function run(step: number): Promise<void> {
    const bodies = [...SIZES, ...SIZES.toReversed()].map((size) => randomBytes(size));
    const wire = Buffer.concat(
      bodies.flatMap((body) => [Buffer.from(`POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n`), body]),
    );
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    for (let at = 0; at < wire.length; at += step) {
      if (!socket.write(wire.subarray(at, at + step))) await once(socket, 'drain');
    }
    socket.end();
    await once(socket, 'close');
    const hashes = [...text.matchAll(/\r\n\r\n([0-9a-f]{40})/g)].map((match) => match[1]);
    assert.deepEqual(hashes, bodies.map(hash));
  }

  await Promise.all([run(1 << 30), run(100_000), run(65_537)]);
  assert.equal(taken, 3);
});

test('a peer that leaves in the middle of a body ends its connection only', async (t) => {
  const ends: Promise<void>[] = [];
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (accepted) => {
    ends.push(serveHttp1(DirectSocket.take(accepted)!, (_, reply) => reply.send(200, []), {}).finished);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write(`POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`, () => socket[leave]());
    await once(socket, 'close');
  }
  await Promise.all(ends);
  assert.equal(ends.length, 2);
});
