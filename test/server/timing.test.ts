import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { InferenceServerClient } from '../../src/client/api/client.js';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor } from '../../src/protocol/tensor-values.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const CACHED = 'max_batch_size: 0\nresponse_cache { enable: true }';
const repository = makeRepository({
  ...identityModel('plain', [['TYPE_INT32', '-1']], 'max_batch_size: 0'),
  ...identityModel('cached', [['TYPE_INT32', '-1']], CACHED),
  'pair/config.pbtxt': `platform: "ensemble"
    input { name: "INPUT0" data_type: TYPE_INT32 dims: -1 } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: -1 }
    ensemble_scheduling {
      step { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "mid" } }
      step { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "mid" } output_map { key: "OUTPUT0" value: "OUTPUT0" } }
    }`,
  'pair/1/.keep': '',
});
let server: TestServer;
let client: InferenceServerClient;

before(async () => {
  server = await startTestServer([repository.path], ['--cache-config=local,size=1048576']);
  client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
});
after(async () => {
  await client.close();
  await server.stop();
  repository.remove();
});

const BODY = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [2], data: [1, 2] }] });
const ASK = { 'Triton-Request-Timing': '1' };
const ALL = ['queue', 'compute-input', 'compute-infer', 'compute-output', 'total'];

function post(model: string, headers: Record<string, string> = ASK, body = BODY, to = server) {
  return httpRequest(to.http, 'POST', `/v2/models/${model}/infer`, { body, headers });
}

/** Milliseconds by name. */
function timesOf(header: unknown): Map<string, number> {
  const parts = String(header).split(', ');
  return new Map(
    parts.map((part) => {
      const found = /^([a-z-]+);dur=(\d+\.\d{3})$/.exec(part);
      assert.ok(found, part);
      return [found[1] as string, Number(found[2])];
    }),
  );
}

test('HTTP reports the times of a request in Server-Timing when asked, and only then', async () => {
  const answer = await post('plain');
  assert.equal(answer.status, 200);
  const times = timesOf(answer.headers['server-timing']);
  assert.deepEqual([...times.keys()], ALL);
  const { total = 0, ...parts } = Object.fromEntries(times);
  const sum = Object.values(parts).reduce((a, b) => a + b, 0);
  assert.ok(total > 0 && sum <= total + 0.01, `${sum} of ${total}`);
  assert.equal((await post('plain', {})).headers['server-timing'], undefined);
});

test('generate reports them too', async () => {
  const headers = { 'triton-request-timing': 'yes' };
  const answer = await httpRequest(server.http, 'POST', '/v2/models/plain/generate', {
    body: '{"INPUT0":[1,2]}',
    headers,
  });
  assert.deepEqual([answer.status, [...timesOf(answer.headers['server-timing']).keys()]], [200, ALL]);
});

test('gRPC reports them in response parameters', async () => {
  const request = { modelName: 'plain', inputs: [makeTensor('INPUT0', 'INT32', [1, 2], [2])] };
  const timed = await client.infer(request, { headers: { 'triton-request-timing': '1' } });
  const names = timed.parameters.map(([name]) => name);
  assert.deepEqual(
    names,
    ALL.map((name) => `timing_${name.replace('-', '_')}_ns`),
  );
  for (const [name, value] of timed.parameters) assert.ok(typeof value === 'bigint' && value >= 0n, name);
  assert.deepEqual((await client.infer(request)).parameters, []);
});

test('what has no execution of its own reports its total', async () => {
  assert.deepEqual([...timesOf((await post('pair')).headers['server-timing']).keys()], ['total']);
  assert.deepEqual([...timesOf((await post('cached')).headers['server-timing']).keys()], ALL);
  assert.deepEqual([...timesOf((await post('cached')).headers['server-timing']).keys()], ['total']);
});

test('errors are answered as without it', async () => {
  const bad = BODY.replace('[2]', '[3]');
  const [timed, plain] = [await post('plain', undefined, bad), await post('plain', {}, bad)];
  assert.deepEqual([timed.status, timed.text], [plain.status, plain.text]);
  assert.equal(timed.headers['server-timing'], undefined);
});

test('a traced request is traced and timed', async () => {
  const file = path.join(tmpdir(), `triton-timing-${process.pid}.json`);
  const settings = [`triton,file=${file}`, 'level=TIMESTAMPS', 'rate=1'].map((setting) => `--trace-config=${setting}`);
  const traced = await startTestServer([repository.path], settings);
  try {
    assert.deepEqual([...timesOf((await post('plain', ASK, BODY, traced)).headers['server-timing']).keys()], ALL);
    assert.deepEqual([...timesOf((await post('pair', ASK, BODY, traced)).headers['server-timing']).keys()], ['total']);
    await traced.stop();
    const text = readFileSync(file, 'utf8');
    assert.equal(text.match(/COMPUTE_INPUT_END/g)?.length, 3, 'the request, and both steps of the ensemble');
  } finally {
    await traced.stop();
    rmSync(file, { force: true });
  }
});
