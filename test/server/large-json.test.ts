/** Large JSON, both ways, and documents made to cost much: the event loop turns all the time, and memory stays bounded. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

let server: TestServer;
const repository = makeRepository({
  ...identityModel('numbers', [['TYPE_FP32', '[ -1 ]']], 'max_batch_size: 0'),
  ...identityModel('texts', [['TYPE_STRING', '[ -1 ]']], 'max_batch_size: 0'),
});

before(async () => {
  server = await startTestServer([repository.path], ['--allow-client-shm=true']);
});
after(async () => {
  await server.stop();
  repository.remove();
});

/**
 * The longest time between two turns of the event loop while something is done. The server runs in this process, and so
 * does the client: its own work on a body of 60 MB (copying, inflating) counts too, hence bounds of some hundred ms.
 */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let running = true;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(tick);
  };
  tick();
  await work();
  running = false;
  return longest;
}

/** Separates what took seconds from what takes turns, on a machine that is busy. */
const FINE_MS = 400;

/** One request whose response is kept as bytes: reading 60 MB as JSON would block the event loop for longer than the server. */
function send(path: string, body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port: server.http, host: '127.0.0.1', method: 'POST', path, headers, agent: false };
    const request = http.request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode, chunks }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

interface Answer {
  readonly status: number | undefined;
  readonly chunks: readonly Buffer[];
}

const inputOf = (datatype: string, count: number, data: string): string =>
  `{"inputs":[{"name":"INPUT0","datatype":"${datatype}","shape":[${count}],"data":[${data}]}]}`;

test('60 MB of numbers as JSON in and out leave room for other work', { timeout: 120_000 }, async () => {
  const count = 5_000_000;
  const body = Buffer.from(inputOf('FP32', count, '1.234567e-1,'.repeat(count).slice(0, -1)));
  let answer: Answer | undefined;
  const longest = await longestTurn(async () => {
    answer = await send('/v2/models/numbers/infer', body);
  });
  assert.equal(answer?.status, 200);
  const start = Buffer.concat(answer.chunks.slice(0, 3)).toString();
  assert.ok(start.includes('"data":[0.12345670163631439,0.12345670163631439,'), start.slice(0, 200));
  assert.ok(longest < FINE_MS, `the event loop stood still for ${longest} ms`);
});

test('long and many strings are worked on in turns too, and arrive as sent', { timeout: 120_000 }, async () => {
  const long = `${'x'.repeat(15_000_000)}\\n${'y\\u00e9'.repeat(1_000_000)}`;
  const body = Buffer.from(inputOf('BYTES', 1_000_002, `"${long}",${'"ab",'.repeat(1_000_000)}"end"`));
  let answer: Answer | undefined;
  const longest = await longestTurn(async () => {
    answer = await send('/v2/models/texts/infer', body);
  });
  assert.ok(answer !== undefined);
  const { data } = JSON.parse(Buffer.concat(answer.chunks).toString()).outputs[0] as { data: string[] };
  assert.equal(data.length, 1_000_002);
  assert.equal(data[0], JSON.parse(`"${long}"`));
  assert.deepEqual([data[1], data.at(-2), data.at(-1)], ['ab', 'ab', 'end']);
  assert.ok(longest < FINE_MS * 2, `the event loop stood still for ${longest} ms`);
});

test('requests behind a large one on the same connection get their responses in order, others at once', async () => {
  const count = 1_000_000;
  const large = httpRequest(
    server.http,
    'POST',
    '/v2/models/numbers/infer',
    inputOf('FP32', count, '0.5,'.repeat(count).slice(0, -1)),
  );
  const small = await httpRequest(server.http, 'POST', '/v2/models/numbers/infer', inputOf('FP32', 2, '1,2'));
  assert.equal(small.status, 200);
  assert.equal((await large).status, 200);
});

test('a bomb of values is refused without being built, on every route that reads JSON', {
  timeout: 120_000,
}, async () => {
  const values = Buffer.from(`[${'{},'.repeat(15_000_000)}{}]`);
  const deflated = deflateSync(values);
  const before = process.memoryUsage().heapUsed;
  const routes = [
    ['/v2/models/numbers/infer', deflated, { 'Content-Encoding': 'deflate' }],
    ['/v2/models/numbers/generate', values, {}],
    ['/v2/repository/index', values, {}],
    ['/v2/logging', values, {}],
    ['/v2/trace/setting', values, {}],
    ['/v2/systemsharedmemory/region/r/register', values, {}],
  ] as const;
  for (const [path, body, headers] of routes) {
    let answer: Answer | undefined;
    const longest = await longestTurn(async () => {
      answer = await send(path, body, headers);
    });
    assert.equal(answer?.status, 400, path);
    assert.match(
      Buffer.concat(answer.chunks).toString(),
      /more than 100000 members and elements outside of tensor data/,
      path,
    );
    assert.ok(longest < FINE_MS * 2, `${path}: the event loop stood still for ${longest} ms`);
  }
  assert.ok(process.memoryUsage().heapUsed - before < 500e6);
});

test('many inputs, and shapes of any rank, are refused in no time', async () => {
  const inputs = Array.from({ length: 9_000 }, (_, i) => `{"name":"${i}","datatype":"FP32","shape":[0],"data":[]}`);
  const shape = `[${'9223372036854775807,'.repeat(100_000)}1]`;
  for (const body of [
    `{"inputs":[${inputs.join(',')}]}`,
    `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":${shape},"data":[1]}]}`,
  ]) {
    const longest = await longestTurn(async () => {
      const answer = await httpRequest(server.http, 'POST', '/v2/models/numbers/infer', body);
      assert.equal(answer.status, 400);
      assert.ok(answer.body.length < 5000, 'an error echoes no more than 4 KB of the request');
    });
    assert.ok(longest < FINE_MS * 2, `the event loop stood still for ${longest} ms`);
  }
});

test('a name of a megabyte is not sent back', async () => {
  const body = `{"inputs":[{"name":"${'n'.repeat(1_000_000)}","datatype":"FP32","shape":[1],"data":[1]}]}`;
  const answer = await httpRequest(server.http, 'POST', '/v2/models/numbers/infer', body);
  assert.equal(answer.status, 400);
  assert.match(answer.text, /cut: \d+ characters/);
  assert.ok(answer.body.length < 5000);
});
