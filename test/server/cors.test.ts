import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const repository = makeRepository(identityModel('numbers', [['TYPE_INT32', '4']]));
after(() => repository.remove());

async function withServer(args: readonly string[], use: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startTestServer([repository.path], args);
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}

const preflight = (server: TestServer, origin: string) =>
  fetch(`http://127.0.0.1:${server.http}/v2/models/numbers/infer`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,inference-header-content-length',
    },
  });

const corsHeaders = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));

test('without the option no response says anything about origins', () =>
  withServer([], async (server) => {
    assert.equal((await preflight(server, 'https://page.example')).status, 405);
    const answer = await fetch(`http://127.0.0.1:${server.http}/v2`, { headers: { origin: 'https://page.example' } });
    assert.deepEqual([answer.status, corsHeaders(answer)], [200, {}]);
  }));

test('pages of a named origin may call, others may not', () =>
  withServer(
    ['--http-cors-origin=https://page.example', '--http-cors-origin=http://localhost:5173'],
    async (server) => {
      const allowed = await preflight(server, 'http://localhost:5173');
      assert.equal(allowed.status, 204);
      assert.deepEqual(corsHeaders(allowed), {
        'access-control-allow-origin': 'http://localhost:5173',
        'access-control-allow-methods': 'GET, POST, OPTIONS',
        'access-control-allow-headers': 'content-type,inference-header-content-length',
        'access-control-max-age': '7200',
        vary: 'Origin',
      });
      const refused = await preflight(server, 'https://other.example');
      assert.deepEqual([refused.status, corsHeaders(refused)], [405, { vary: 'Origin' }]);
      // Errors are marked too: the page must be able to read what was wrong.
      const failed = await fetch(`http://127.0.0.1:${server.http}/v2/models/nosuch`, {
        headers: { origin: 'https://page.example' },
      });
      assert.equal(failed.headers.get('access-control-allow-origin'), 'https://page.example');
      assert.match(failed.headers.get('access-control-expose-headers') ?? '', /Inference-Header-Content-Length/);
      assert.equal(failed.status, 404);
    },
  ));

test('* lets every origin call', () =>
  withServer(['--http-cors-origin=*'], async (server) => {
    const answer = await preflight(server, 'https://anyone.example');
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [204, '*']);
    const plain = await fetch(`http://127.0.0.1:${server.http}/v2`);
    assert.deepEqual(corsHeaders(plain), {});
  }));

test('what is not an origin is refused at start', async () => {
  for (const value of ['page.example', 'https://page.example/path', 'null']) {
    await assert.rejects(
      startTestServer([repository.path], [`--http-cors-origin=${value}`]),
      /--http-cors-origin: expected an origin/,
    );
  }
});
