/** Both front ends over TLS: whom they let in, what they agree on, and clients that no one here wrote. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { after, describe, test } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import grpc from '@grpc/grpc-js';
import {
  createClient,
  type InferenceServerClient,
  makeTensor,
  type TlsOptions,
  tensorValues,
} from '../../src/client/index.js';
import { create } from '../../src/protocol/proto/schema.js';
import { ServerLiveRequest, ServerLiveResponse } from '../../src/protocol/proto/service/service.js';
import { resolveOptions } from '../../src/server/options/resolve-options.js';
import { pythonWithClients } from '../support/programs/python.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { hasOpenssl, type Identity, makeCertificates } from '../support/servers/certificates.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const run = promisify(execFile);
const pem = hasOpenssl() ? makeCertificates() : undefined;

after(() => pem?.remove());

/** Options of both front ends. */
function options(identity: Identity, mutual: boolean): string[] {
  return ['http', 'grpc'].flatMap((front) => [
    mutual ? `--${front}-use-ssl-mutual=true` : `--${front}-use-ssl=true`,
    `--${front}-server-cert=${identity.certificate}`,
    `--${front}-server-key=${identity.key}`,
    ...(mutual ? [`--${front}-root-cert=${pem!.authority}`] : []),
  ]);
}

async function withServer(mutual: boolean, use: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startTestServer([FIXTURES], options(pem!.server, mutual));
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}

/** One inference; resolves with what the model answered. */
async function infer(protocol: 'http' | 'grpc', server: TestServer, tlsOptions: TlsOptions): Promise<unknown> {
  const client: InferenceServerClient = await createClient({
    protocol,
    url: `127.0.0.1:${server[protocol]}`,
    tls: tlsOptions,
    timeoutMs: 20_000,
  });
  try {
    const inputs = ['INPUT0', 'INPUT1'].map((name) => makeTensor(name, 'INT32', new Int32Array(16).fill(2), [1, 16]));
    const result = await client.infer({ modelName: 'simple', inputs });
    return tensorValues(result.output('OUTPUT0')!);
  } finally {
    await client.close();
  }
}

const FOURS = new Array<number>(16).fill(4);
const trust = (): TlsOptions => ({ rootCertificates: pem!.read(pem!.authority) });
const identify = (identity: Identity): TlsOptions => ({
  ...trust(),
  certificate: pem!.read(identity.certificate),
  privateKey: pem!.read(identity.key),
});

describe('TLS', { skip: pem === undefined }, () => {
  test('a client that reads a large response slowly gets all of it', async () => {
    const repository = makeRepository(identityModel('wide', [['TYPE_INT32', '-1']]));
    const server = await startTestServer(
      [repository.path],
      [...options(pem!.server, false), '--http-client-timeout=1'],
    );
    const size = 24_000_000;
    const tensor = { name: 'INPUT0', datatype: 'INT32', shape: [1, size / 4], parameters: { binary_data_size: size } };
    const json = JSON.stringify({ inputs: [tensor], parameters: { binary_data_output: true } });
    const socket = tls.connect({ port: server.http, host: '127.0.0.1', rejectUnauthorized: false });
    try {
      socket.write(
        `POST /v2/models/wide/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: ${json.length}\r\n` +
          `Content-Length: ${json.length + size}\r\n\r\n${json}`,
      );
      socket.write(Buffer.alloc(size));
      let read = 0;
      let sinceRest = 0;
      await new Promise<void>((resolve) => {
        socket.on('error', () => resolve()).on('close', () => resolve());
        socket.on('data', (part: Buffer) => {
          read += part.length;
          sinceRest += part.length;
          if (read > size) resolve();
          else if (sinceRest > 1_000_000) {
            sinceRest = 0;
            socket.pause();
            setTimeout(() => socket.resume(), 200);
          }
        });
      });
      assert.ok(read > size, `${read} bytes have come`);
    } finally {
      socket.destroy();
      await server.stop();
      repository.remove();
    }
  });

  test('the client of this project, over both protocols', () =>
    withServer(false, async (server) => {
      for (const protocol of ['http', 'grpc'] as const) {
        assert.deepEqual(await infer(protocol, server, trust()), FOURS);
        assert.deepEqual(await infer(protocol, server, { verifyPeer: false }), FOURS);
        await assert.rejects(infer(protocol, server, {}), { code: 'UNAVAILABLE' });
      }
    }));

  test('certificates of clients are asked for and checked', () =>
    withServer(true, async (server) => {
      for (const protocol of ['http', 'grpc'] as const) {
        assert.deepEqual(await infer(protocol, server, identify(pem!.client)), FOURS);
        await assert.rejects(infer(protocol, server, trust()), { code: 'UNAVAILABLE' });
        await assert.rejects(infer(protocol, server, identify(pem!.stranger)), { code: 'UNAVAILABLE' });
      }
    }));

  test('protocols are agreed on by name, and only the one that is spoken', () =>
    withServer(false, async (server) => {
      const connect = (port: number, protocols: string[] | undefined): Promise<string | false | null> =>
        new Promise((resolve, reject) => {
          const ca = pem!.read(pem!.authority);
          const socket = tls.connect(
            { port, host: '127.0.0.1', ca, ...(protocols === undefined ? {} : { ALPNProtocols: protocols }) },
            () => {
              resolve(socket.alpnProtocol);
              socket.destroy();
            },
          );
          socket.on('error', reject);
        });
      assert.equal(await connect(server.grpc, ['h2']), 'h2');
      assert.equal(await connect(server.grpc, ['grpc-exp', 'h2']), 'h2');
      assert.equal(await connect(server.grpc, undefined), false);
      assert.equal(await connect(server.http, ['h2', 'http/1.1']), 'http/1.1');
      await assert.rejects(connect(server.grpc, ['http/1.1']), /alert no application protocol/);
      await assert.rejects(connect(server.http, ['h2']), /alert no application protocol/);
    }));

  test('nothing below TLS 1.2, and nothing without forward secrecy', () =>
    withServer(false, async (server) => {
      const connect = (port: number, options: tls.ConnectionOptions): Promise<string> =>
        new Promise((resolve, reject) => {
          const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
            resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
            socket.destroy();
          });
          socket.on('error', reject);
        });
      for (const port of [server.http, server.grpc]) {
        assert.match(await connect(port, {}), /^TLSv1\.3 /);
        assert.match(await connect(port, { maxVersion: 'TLSv1.2' }), /^TLSv1\.2 ECDHE-/);
        // The level 0 lets this client offer what OpenSSL itself does not offer any more.
        const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
        await assert.rejects(connect(port, old));
        for (const ciphers of ['AES256-GCM-SHA384', 'AES128-SHA', 'ECDHE-RSA-AES256-SHA', 'NULL']) {
          await assert.rejects(connect(port, { maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }), ciphers);
        }
      }
    }));

  test('plain connections to a TLS port get no response; the server goes on', () =>
    withServer(false, async (server) => {
      for (const port of [server.http, server.grpc]) {
        const socket = net.connect(port, '127.0.0.1');
        socket.on('error', () => {});
        socket.end('GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n');
        const chunks: Buffer[] = [];
        socket.on('data', (chunk: Buffer) => chunks.push(chunk));
        await once(socket, 'close');
        assert.ok(!Buffer.concat(chunks).includes('HTTP/1.1'));
      }
      assert.deepEqual(await infer('http', server, trust()), FOURS);
    }));

  test('a server that stops does not wait for handshakes', () =>
    withServer(false, async (server) => {
      const sockets = [server.http, server.grpc].map((port) => net.connect(port, '127.0.0.1'));
      for (const socket of sockets) socket.on('error', () => {});
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      // A response on another connection: by then the server has taken the two.
      assert.deepEqual(await infer('http', server, trust()), FOURS);
      const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
      assert.equal(await server.stop(), true);
      await closed;
    }));

  test('grpc-js and curl', () =>
    withServer(true, async (server) => {
      const { client } = pem!;
      const credentials = grpc.credentials.createSsl(
        pem!.read(pem!.authority),
        pem!.read(client.key),
        pem!.read(client.certificate),
      );
      const calls = new TestGrpcClient(server.grpc, credentials);
      const live = await calls.call('ServerLive', ServerLiveRequest, ServerLiveResponse, create(ServerLiveRequest));
      assert.equal(live.live, true);
      calls.close();
      const known = ['--silent', '--show-error', '--max-time', '20', '--cacert', pem!.authority];
      const own = ['--cert', client.certificate, '--key', client.key];
      const url = `https://localhost:${server.http}/v2`;
      const { stdout } = await run('curl', [...known, ...own, url]);
      assert.equal((JSON.parse(stdout) as { name: string }).name, 'triton');
      await assert.rejects(run('curl', [...known, url]));
    }));

  test("NVIDIA's client library, over both protocols", async (t) => {
    const python = pythonWithClients();
    if (python === undefined) return t.skip('no tritonclient');
    await withServer(true, async (server) => {
      const { authority, client } = pem!;
      const program = `
import ssl, sys
import numpy as np
import tritonclient.grpc as tg
import tritonclient.http as th
http, grpc, ca, cert, key = sys.argv[1:]
def go(t, c):
    a = np.full((1, 16), 2, np.int32)
    inputs = [t.InferInput(n, [1, 16], 'INT32') for n in ('INPUT0', 'INPUT1')]
    for i in inputs: i.set_data_from_numpy(a)
    assert (c.infer('simple', inputs).as_numpy('OUTPUT0') == 4).all()
    c.close()
go(tg, tg.InferenceServerClient('localhost:' + grpc, ssl=True, root_certificates=ca, private_key=key, certificate_chain=cert))
options = {'ca_certs': ca, 'certfile': cert, 'keyfile': key}
go(th, th.InferenceServerClient('localhost:' + http, ssl=True, ssl_options=options))
print('fine')
`;
      const args = [String(server.http), String(server.grpc), authority, client.certificate, client.key];
      const { stdout } = await run(python, ['-c', program, ...args], { timeout: 60_000 });
      assert.equal(stdout.trim(), 'fine');
    });
  });

  test('files that cannot be used end the start with a message', async () => {
    const { server, client, junk } = pem!;
    const cases: [args: string[], message: RegExp][] = [
      [[`--http-server-cert=${junk}.none`, `--http-server-key=${server.key}`], /failed to read '.*junk\.pem\.none'/],
      [
        [`--http-server-cert=${junk}`, `--http-server-key=${server.key}`],
        /the certificate '.*junk\.pem' cannot be used/,
      ],
      [
        [`--http-server-cert=${server.certificate}`, `--http-server-key=${client.key}`],
        /cannot be used with the private key '.*client\.key': .*key values mismatch/,
      ],
    ];
    for (const [args, message] of cases) {
      let log = '';
      await assert.rejects(startTestServer([FIXTURES], ['--http-use-ssl=true', ...args], (text) => (log += text)));
      assert.match(log, message);
      assert.match(log, /failed to start HTTP service: Invalid argument - /);
    }
  });
});

test('options of TLS: what belongs together', () => {
  const resolve = (...args: string[]) => resolveOptions(args, () => {});
  for (const front of ['http', 'grpc'] as const) {
    const files = [`--${front}-server-cert=c`, `--${front}-server-key=k`, `--${front}-root-cert=r`];
    const expected = { certificate: 'c', key: 'k', rootCertificates: 'r', mutual: false };
    const taken = (...args: string[]) => {
      const resolved = resolve(...files, ...args);
      assert.equal(resolved.kind, 'serve');
      return resolved.kind === 'serve' ? resolved.options[front].tls : undefined;
    };
    assert.equal(taken(), undefined);
    assert.equal(taken(`--${front}-use-ssl=false`), undefined);
    assert.deepEqual(taken(`--${front}-use-ssl=true`), expected);
    assert.deepEqual(taken(`--${front}-use-ssl-mutual=true`), { ...expected, mutual: true });
    // As in Triton: naming it switches TLS on.
    assert.deepEqual(taken(`--${front}-use-ssl-mutual=false`), expected);
    const unchecked = resolve(...files.slice(0, 2), `--${front}-use-ssl-mutual=true`);
    assert.equal(unchecked.kind, 'error');
    if (unchecked.kind === 'error') {
      assert.match(unchecked.message, new RegExp(`--${front}-use-ssl-mutual needs --${front}-root-cert`));
    }
    const refused = resolve(`--${front}-use-ssl=true`);
    assert.equal(refused.kind, 'error');
    if (refused.kind === 'error') {
      assert.equal(
        refused.message,
        `triton serve: --${front}-use-ssl needs --${front}-server-cert and --${front}-server-key. Run 'triton serve --help' for details.`,
      );
    }
  }
});
