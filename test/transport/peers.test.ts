/** The front ends under programs that were made to test or load HTTP servers. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { findTool } from '../support/programs/tools.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const run = promisify(execFile);
const H2SPEC = findTool('h2spec', { go: 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible' });
const H2LOAD = findTool('h2load', { debian: 'nghttp2-client' });
const WRK = findTool('wrk', { debian: 'wrk' });

const repository = makeRepository(identityModel('numbers', [['TYPE_INT32', '4']]));
let server: TestServer;

before(async () => {
  server = await startTestServer([repository.path]);
});
after(async () => {
  await server.stop();
  repository.remove();
});

test('h2spec finds nothing wrong with the gRPC port', { skip: H2SPEC === undefined }, async () => {
  const path = '/inference.GRPCInferenceService/ServerLive';
  const args = ['-h', '127.0.0.1', '-p', String(server.grpc), '-P', path, '--strict'];
  const { stdout } = await run(H2SPEC as string, args, { maxBuffer: 1e8 });
  assert.match(stdout, /\n(\d+) tests, \1 passed, 0 skipped, 0 failed/);
});

test('h2load gets a response to every request', { skip: H2LOAD === undefined }, async () => {
  const url = `http://127.0.0.1:${server.grpc}/inference.GRPCInferenceService/ServerLive`;
  const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers', '-H', ':method: POST'];
  const { stdout } = await run(H2LOAD as string, ['-n', '5000', '-c', '8', '-m', '32', ...headers, url]);
  assert.match(stdout, /requests: 5000 total, 5000 started, 5000 done, 5000 succeeded, 0 failed, 0 errored, 0 timeout/);
});

test('wrk gets 200 on every request', { skip: WRK === undefined }, async () => {
  const url = `http://127.0.0.1:${server.http}/v2/models/numbers`;
  const { stdout } = await run(WRK as string, ['-t', '1', '-c', '16', '-d', '1s', url]);
  assert.doesNotMatch(stdout, /Socket errors|Non-2xx/);
  assert.ok(Number(/(\d+) requests in/.exec(stdout)?.[1]) > 0, stdout);
});
