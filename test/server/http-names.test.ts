/** Names of models that a path cannot hold as they are, and clients that leave while they wait. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { createClient } from '../../src/client/index.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const NAMES = ['with blank', 'a+b:c', 'größe 模型', '100%', 'a%20b'];
let server: TestServer;
const repository = makeRepository(
  Object.assign({}, ...NAMES.map((name) => identityModel(name, [['TYPE_INT32', '[ -1 ]']], 'max_batch_size: 0'))),
);

before(async () => {
  server = await startTestServer([repository.path], ['--model-control-mode=explicit', '--load-model=*']);
});
after(async () => {
  await server.stop();
  repository.remove();
});

test('every name works over HTTP as over gRPC: ready, metadata, inference, unload and load', async () => {
  for (const protocol of ['http', 'grpc'] as const) {
    const client = await createClient({ url: `127.0.0.1:${server[protocol]}`, protocol });
    for (const name of NAMES) {
      assert.equal(await client.isModelReady(name), true, `${protocol} ${name}`);
      assert.equal((await client.modelMetadata(name)).name, name);
      const data = new Uint8Array(Int32Array.of(7).buffer);
      const result = await client.infer({
        modelName: name,
        inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1], data }],
      });
      assert.deepEqual(Buffer.from(result.output('OUTPUT0')!.data), Buffer.from(data));
      await client.unloadModel(name);
      assert.equal(await client.isModelReady(name), false);
      await client.loadModel(name);
      assert.equal(await client.isModelReady(name), true);
    }
    await client.close();
  }
});

test('the raw form of a path wins where it names a model', async () => {
  const metadata = (path: string) => httpRequest(server.http, 'GET', `/v2/models/${path}`);
  assert.equal(((await metadata('a%20b')).json as { name: string }).name, 'a%20b');
  assert.equal(((await metadata('with%20blank')).json as { name: string }).name, 'with blank');
  assert.equal(((await metadata('a%2Bb%3Ac')).json as { name: string }).name, 'a+b:c');
  assert.equal(((await metadata('a+b:c')).json as { name: string }).name, 'a+b:c');
  const missing = await metadata('no%20such');
  assert.match(missing.text, /Request for unknown model: 'no%20such' is not found/);
  // Not an escape: the name stays as it was sent.
  assert.match((await metadata('no%zz')).text, /Request for unknown model: 'no%zz' is not found/);
});

test('a raw path of UTF-8 bytes names the model', async () => {
  const text = await new Promise<string>((resolve, reject) => {
    const socket = net.connect(server.http, '127.0.0.1');
    socket.write(Buffer.from('GET /v2/models/größe%20模型 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'));
    let received = '';
    socket.on('data', (part) => {
      received += part;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
  assert.match(text, /^HTTP\/1\.1 200 /);
});
