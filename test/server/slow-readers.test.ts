/** Clients that read a stream slowly: what waits for them is bounded, and others are served on. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const CONFIG = `backend: "repeat"
model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: -1 }
input { name: "DELAY" data_type: TYPE_UINT32 dims: -1 }
input { name: "WAIT" data_type: TYPE_UINT32 dims: 1 }
output { name: "OUT" data_type: TYPE_INT32 dims: 1 }
output { name: "IDX" data_type: TYPE_UINT32 dims: 1 }
instance_group { kind: KIND_CPU }
`;
const LIMIT = 1 << 20;
/** Far more responses than the sockets of both sides and the limit hold. */
const COUNT = 400_000;
const repository = makeRepository({ 'repeat/config.pbtxt': CONFIG, 'repeat/1/.keep': '' });
let server: TestServer;

before(async () => {
  server = await startTestServer([repository.path], [`--stream-max-backlog=${LIMIT}`]);
});
after(async () => {
  await server.stop();
  repository.remove();
});

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const generateBody = (count: number) =>
  JSON.stringify({ IN: numbers(count), DELAY: numbers(count).map(() => 0), WAIT: [0] });

test('generate_stream: ends with an error event', async () => {
  const body = generateBody(COUNT);
  const socket = net.connect(server.http, '127.0.0.1');
  socket.pause();
  socket.write(
    `POST /v2/models/repeat/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await server.logged('the client reads too slowly', 1);
  const parts: Buffer[] = [];
  await new Promise<void>((resolve) => {
    socket.on('data', (part) => {
      parts.push(part);
      if (part.includes('"error"')) resolve();
    });
    socket.on('close', resolve);
    socket.resume();
  });
  const text = Buffer.concat(parts).toString();
  socket.destroy();
  assert.match(
    text,
    /"error":"the client reads too slowly: \d+ bytes .* more than the 1048576 of --stream-max-backlog"/,
  );
  const events = text.match(/data: /g)?.length ?? 0;
  assert.ok(events < COUNT, `${events} events of ${COUNT}`);
});

test('ModelStreamInfer: ends with a status', async () => {
  // grpc-js reads on while it is paused; node:http2 lets the window close.
  const session = http2.connect(`http://127.0.0.1:${server.grpc}`);
  const raw = (values: readonly number[]) => new Uint8Array(Int32Array.from(values).buffer);
  const input = (name: string, datatype: string, length: number) => ({
    ...create(service.InferInputTensor),
    ...{ name, datatype, shape: [BigInt(length)] },
  });
  const message = toBinary(service.ModelInferRequest, {
    ...create(service.ModelInferRequest),
    model_name: 'repeat',
    inputs: [input('IN', 'INT32', COUNT), input('DELAY', 'UINT32', COUNT), input('WAIT', 'UINT32', 1)],
    raw_input_contents: [raw(numbers(COUNT)), new Uint8Array(4 * COUNT), raw([0])],
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const stream = session.request({
    ':method': 'POST',
    ':path': `${service.SERVICE_PATH}ModelStreamInfer`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.pause();
  stream.write(Buffer.concat([prefix, message]));
  await server.logged('the client reads too slowly', 2);
  const trailers = once(stream, 'trailers');
  stream.resume();
  const [fields] = (await trailers) as [http2.IncomingHttpHeaders];
  session.destroy();
  assert.equal(fields['grpc-status'], '14');
  assert.match(String(fields['grpc-message']), /^the client reads too slowly: \d+ bytes/);
});

test('a client that reads gets everything', async () => {
  const count = 50_000;
  const { text } = await httpRequest(server.http, 'POST', '/v2/models/repeat/generate_stream', generateBody(count));
  assert.equal(text.match(/data: /g)?.length, count);
  assert.doesNotMatch(text, /error/);
});
