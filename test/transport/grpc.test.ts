import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import {
  type GrpcConnection,
  type GrpcMethod,
  type GrpcServerOptions,
  serveGrpc,
} from '../../src/transport/grpc/serve-grpc.js';

const echo: GrpcMethod = {
  kind: 'unary',
  handle(call, message) {
    call.send(message);
    call.finish(0);
  },
};

const bytes = (value: Buffer): Buffer => value;

interface Peer {
  readonly client: grpc.Client;
  readonly connections: GrpcConnection[];
  unary(path: string, message: Uint8Array, metadata?: grpc.Metadata, options?: grpc.CallOptions): Promise<Buffer>;
}

/** A server of ours with the given methods, and a client of @grpc/grpc-js. */
async function start(
  t: TestContext,
  methods: Record<string, GrpcMethod>,
  options: GrpcServerOptions = {},
  channel: grpc.ClientOptions = {},
): Promise<Peer> {
  const connections: GrpcConnection[] = [];
  const table = new Map(Object.entries(methods).map(([name, method]) => [`/t.S/${name}`, method]));
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    connections.push(serveGrpc(socket, table, options));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
    ...channel,
  });
  t.after(() => {
    client.close();
    server.close();
    for (const connection of connections) connection.destroy();
  });
  return {
    client,
    connections,
    unary: (path, message, metadata = new grpc.Metadata(), callOptions = {}) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          `/t.S/${path}`,
          bytes,
          bytes,
          Buffer.from(message),
          metadata,
          callOptions,
          (error, value) => (error === null ? resolve(value!) : reject(error)),
        );
      }),
  };
}

const status = (code: number, details: string) => (error: grpc.ServiceError) => {
  assert.equal(error.code, code);
  assert.equal(error.details, details);
  return true;
};

test('unary calls get their responses, thousands at a time', async (t) => {
  const peer = await start(t, { Echo: echo });
  const answers = await Promise.all(
    Array.from({ length: 3000 }, (_, i) => peer.unary('Echo', Buffer.from(`message ${i}`))),
  );
  for (const [i, answer] of answers.entries()) assert.equal(answer.toString(), `message ${i}`);
  assert.equal(peer.connections.length, 1);
  assert.equal(peer.connections[0]!.inFlight, 0);
});

test('messages of every size come through, to 64 MB', async (t) => {
  const peer = await start(t, { Echo: echo });
  for (const size of [0, 1, 4091, 4096, 16_379, 16_384, 65_535, 65_536, 1_000_000, 64 * 1024 * 1024]) {
    const message = Buffer.alloc(size, 'abcdefghijk');
    assert.ok((await peer.unary('Echo', message)).equals(message), String(size));
  }
});

test('errors carry their status and text', async (t) => {
  const errors: unknown[] = [];
  const peer = await start(
    t,
    {
      Fail: { kind: 'unary', handle: (call) => call.finish(3, "50% of größe\nis 'zu' viel") },
      Throw: {
        kind: 'unary',
        handle: () => {
          throw new Error('boom');
        },
      },
      After: {
        kind: 'unary',
        handle(call, message) {
          call.send(message);
          call.finish(9, 'too late');
        },
      },
    },
    { onHandlerError: (error) => errors.push(error) },
  );
  await assert.rejects(peer.unary('Fail', Buffer.of(1)), status(3, "50% of größe\nis 'zu' viel"));
  await assert.rejects(peer.unary('Throw', Buffer.of(1)), status(2, 'Unexpected error in RPC handling'));
  await assert.rejects(peer.unary('After', Buffer.of(1)), status(9, 'too late'));
  await assert.rejects(peer.unary('Nothing', Buffer.of(1)), status(12, ''));
  assert.equal(errors.length, 1);
});

test('metadata is handed on, as text and decoded', async (t) => {
  const peer = await start(t, {
    Meta: {
      kind: 'unary',
      handle(call) {
        const names = [...call.metadataEntries()].map(([name]) => name);
        const binary = Buffer.from(call.metadataBinary('x-data-bin')!).toString('hex');
        call.send(Buffer.from(JSON.stringify([call.path, call.metadata('x-key'), binary, names])));
        call.finish(0);
      },
    },
  });
  const metadata = new grpc.Metadata();
  metadata.set('X-Key', 'some value');
  metadata.set('x-data-bin', Buffer.of(0, 255, 128));
  const [path, key, binary, names] = JSON.parse((await peer.unary('Meta', Buffer.of(1), metadata)).toString());
  assert.deepEqual([path, key, binary], ['/t.S/Meta', 'some value', '00ff80']);
  assert.deepEqual(names.sort(), ['accept-encoding', 'user-agent', 'x-data-bin', 'x-key']);
});

test('a deadline ends the call and informs the method', async (t) => {
  let deadline: number | undefined;
  let cancelled = () => {};
  const told = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  const peer = await start(t, {
    Never: {
      kind: 'unary',
      handle(call) {
        deadline = call.deadlineMs;
        call.onCancel(() => {
          assert.ok(call.cancelled);
          call.finish(0);
          cancelled();
        });
      },
    },
  });
  const begun = performance.now();
  await assert.rejects(
    peer.unary('Never', Buffer.of(1), undefined, { deadline: Date.now() + 100 }),
    (error: grpc.ServiceError) => error.code === 4,
  );
  await told;
  assert.ok(deadline! > begun && deadline! < begun + 10_000);
});

test('a cancelled call informs its method', async (t) => {
  let arrived = () => {};
  const here = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let cancelled = () => {};
  const told = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  const peer = await start(t, {
    Never: {
      kind: 'unary',
      handle(call) {
        call.onCancel(cancelled);
        arrived();
      },
    },
    Echo: echo,
  });
  const call = peer.client.makeUnaryRequest('/t.S/Never', bytes, bytes, Buffer.of(1), () => {});
  await here;
  call.cancel();
  await told;
  assert.equal((await peer.unary('Echo', Buffer.from('still here'))).toString(), 'still here');
});

test('a lost connection cancels its calls', async (t) => {
  let arrived = () => {};
  const here = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let cancelled = () => {};
  const told = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  const peer = await start(t, {
    Never: {
      kind: 'unary',
      handle(call) {
        call.onCancel(cancelled);
        arrived();
      },
    },
  });
  peer.client.makeUnaryRequest('/t.S/Never', bytes, bytes, Buffer.of(1), () => {});
  await here;
  peer.client.close();
  peer.connections[0]!.destroy();
  await told;
  await peer.connections[0]!.finished;
});

test('a stream carries messages both ways, also while it pauses', async (t) => {
  const peer = await start(t, {
    Chat: {
      kind: 'stream',
      open(call) {
        let count = 0;
        return {
          onMessage(message) {
            call.send([Buffer.from(`${count++}:`), message]);
            call.pause();
            setImmediate(() => call.resume());
          },
          onHalfClose() {
            call.send(Buffer.from('end'));
            call.finish(0);
          },
        };
      },
    },
  });
  const stream = peer.client.makeBidiStreamRequest('/t.S/Chat', bytes, bytes);
  const got: string[] = [];
  stream.on('data', (message: Buffer) => got.push(`${message.subarray(0, 8)} ${message.length}`));
  for (let i = 0; i < 100; i++) stream.write(Buffer.alloc(i * 3000, 'x'));
  stream.end();
  const [end] = (await once(stream, 'status')) as [grpc.StatusObject];
  assert.equal(end.code, 0);
  assert.equal(got.length, 101);
  got.forEach((text, i) => {
    const prefix = `${i}:`;
    if (i < 100) assert.equal(text, `${(prefix + 'x'.repeat(i * 3000)).slice(0, 8)} ${prefix.length + i * 3000}`);
    else assert.equal(text, 'end 3');
  });
});

test('a slow reader makes the sender wait', async (t) => {
  let waits = 0;
  const peer = await start(t, {
    Flood: {
      kind: 'unary',
      handle(call) {
        let left = 300;
        const go = (): void => {
          while (left-- > 0) {
            if (!call.send(Buffer.alloc(100_000))) {
              waits++;
              call.onDrain(go);
              return;
            }
          }
          call.finish(0);
        };
        go();
      },
    },
  });
  const stream = peer.client.makeServerStreamRequest('/t.S/Flood', bytes, bytes, Buffer.of(1));
  let count = 0;
  for await (const message of stream) {
    assert.equal((message as Buffer).length, 100_000);
    if (++count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(count, 300);
  assert.ok(waits > 0);
});

test('compressed messages are read, and sent where asked for', async (t) => {
  for (const algorithm of [grpc.compressionAlgorithms.gzip, grpc.compressionAlgorithms.deflate]) {
    const peer = await start(
      t,
      {
        Echo: {
          kind: 'unary',
          handle(call, message) {
            call.compress('high');
            call.send([message.subarray(0, 10), message.subarray(10)]);
            call.finish(0);
          },
        },
        Chat: {
          kind: 'stream',
          open: (call) => ({ onMessage: (message) => void call.send(message), onHalfClose: () => call.finish(0) }),
        },
      },
      {},
      { 'grpc.default_compression_algorithm': algorithm },
    );
    const message = Buffer.alloc(200_000, 'compressible ');
    assert.ok((await peer.unary('Echo', message)).equals(message));
    const stream = peer.client.makeBidiStreamRequest('/t.S/Chat', bytes, bytes);
    const got: string[] = [];
    stream.on('data', (part: Buffer) => got.push(part.toString()));
    const sent = Array.from({ length: 20 }, (_, i) => String(i).repeat(i * 100));
    for (const text of sent) stream.write(Buffer.from(text));
    stream.end();
    await once(stream, 'status');
    assert.deepEqual(got, sent);
  }
});

test('messages over the limit are refused, compressed ones too', async (t) => {
  const limits = { maxReceiveMessageSize: 1000 };
  const plain = await start(t, { Echo: echo }, limits);
  await assert.rejects(
    plain.unary('Echo', Buffer.alloc(1001)),
    status(8, 'Received message larger than max (1001 vs. 1000)'),
  );
  const packed = await start(t, { Echo: echo }, limits, { 'grpc.default_compression_algorithm': 2 });
  await assert.rejects(
    packed.unary('Echo', Buffer.alloc(100_000)),
    status(8, 'Received message larger than max (more than 1000)'),
  );
  assert.equal((await plain.unary('Echo', Buffer.alloc(1000))).length, 1000);
});

test('shutdown lets calls finish and takes no more', async (t) => {
  let finish = () => {};
  let arrived = () => {};
  const here = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const peer = await start(t, {
    Wait: {
      kind: 'unary',
      handle(call) {
        finish = () => {
          call.send(Buffer.from('done'));
          call.finish(0);
        };
        arrived();
      },
    },
  });
  const answer = peer.unary('Wait', Buffer.of(1));
  await here;
  const connection = peer.connections[0]!;
  connection.shutdown();
  assert.equal(connection.inFlight, 1);
  setImmediate(finish);
  assert.equal((await answer).toString(), 'done');
  await connection.finished;
});

test('a connection that is old enough is renewed without an error', async (t) => {
  const peer = await start(t, { Echo: echo }, { maxConnectionAgeMs: 50 });
  for (let i = 0; peer.connections.length < 3; i++) {
    assert.equal((await peer.unary('Echo', Buffer.from(`m${i}`))).toString(), `m${i}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test('pings while one large message comes are welcome', async (t) => {
  const large = Buffer.alloc(64 << 20, 1);
  const { connections } = await start(t, {});
  const methods = new Map<string, GrpcMethod>([
    [
      '/t.S/Large',
      {
        kind: 'unary',
        handle(call) {
          call.send(large);
          call.finish(0);
        },
      },
    ],
  ]);
  const server = net.createServer({ allowHalfOpen: true }, (socket) =>
    connections.push(serveGrpc(socket, methods, {})),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const request = session.request({ ':method': 'POST', ':path': '/t.S/Large', 'content-type': 'application/grpc' });
  request.end(Buffer.alloc(5));
  let size = 0;
  let pings = 0;
  // As gRPC's own clients measure the line: the next ping leaves when the last was answered.
  const ping = (): void => {
    if (!session.closed && !session.destroyed) {
      session.ping(() => {
        pings++;
        if (size < large.length) ping();
      });
    }
  };
  request.once('data', ping);
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
  });
  session.on('goaway', (code) => assert.fail(`GOAWAY ${code} after ${pings} pings`));
  await once(request, 'end');
  assert.equal(size, large.length + 5);
  assert.ok(pings > 10, `${pings} pings`);
});
