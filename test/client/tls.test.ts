/** Both transports over TLS. */
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { TlsOptions } from '../../src/client/api/client.js';
import { createClient } from '../../src/client/create-client.js';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { ServerLiveResponse } from '../../src/protocol/proto/service/service.js';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/servers/tls-identity.js';

const web = createServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, (_, response) => response.end());
const rpc = new Server();
const urls = { http: '', grpc: '' };

before(async () => {
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  urls.http = `https://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const identity = (bytes: Buffer): Buffer => bytes;
  const live = Buffer.from(toBinary(ServerLiveResponse, { live: true }));
  const path = '/inference.GRPCInferenceService/ServerLive';
  rpc.register(
    path,
    (_: unknown, callback: (e: null, b: Buffer) => void) => callback(null, live),
    identity,
    identity,
    'unary',
  );
  const pair = { private_key: Buffer.from(TEST_KEY), cert_chain: Buffer.from(TEST_CERTIFICATE) };
  const port = await new Promise<number>((resolve, reject) => {
    rpc.bindAsync('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  urls.grpc = `127.0.0.1:${port}`;
});

after(() => {
  web.closeAllConnections();
  web.close();
  rpc.forceShutdown();
});

async function isLive(protocol: 'http' | 'grpc', tls: TlsOptions): Promise<boolean> {
  const client = await createClient({ protocol, url: urls[protocol], tls, timeoutMs: 5000 });
  try {
    return await client.isServerLive();
  } finally {
    await client.close();
  }
}

for (const protocol of ['http', 'grpc'] as const) {
  test(`${protocol}: a server with a trusted certificate of the expected name`, async () => {
    assert.equal(await isLive(protocol, { rootCertificates: TEST_CERTIFICATE, serverName: 'server.test' }), true);
  });

  test(`${protocol}: any certificate, when it is not to be verified`, async () => {
    assert.equal(await isLive(protocol, { verifyPeer: false }), true);
  });

  test(`${protocol}: a certificate of an unknown signer, and one of another name, are refused`, async () => {
    await assert.rejects(isLive(protocol, { serverName: 'server.test' }), { code: 'UNAVAILABLE' });
    await assert.rejects(isLive(protocol, { rootCertificates: TEST_CERTIFICATE, serverName: 'other.test' }), {
      code: 'UNAVAILABLE',
    });
  });
}
