/** Trace files of real servers: events, tensors, sampling, settings at run time. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor } from '../../src/protocol/tensor-values.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';
import { readTraces } from './trace-file.js';

const MODELS = {
  ...identityModel('plain', [['TYPE_INT32', '-1']], 'max_batch_size: 0'),
  'pair/config.pbtxt': `platform: "ensemble"
    input { name: "IN" data_type: TYPE_INT32 dims: -1 } output { name: "OUT" data_type: TYPE_INT32 dims: -1 }
    ensemble_scheduling {
      step { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "mid" } }
      step { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "mid" } output_map { key: "OUTPUT0" value: "OUT" } }
    }`,
  'pair/1/.keep': '',
};

const COMPUTE = ['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'];
const ENGINE = ['info', 'REQUEST_START', 'QUEUE_START', ...COMPUTE, 'REQUEST_END'];
const GRPC = [
  'GRPC_WAITREAD_START',
  'GRPC_WAITREAD_END',
  'INFER_RESPONSE_COMPLETE',
  'GRPC_SEND_START',
  'GRPC_SEND_END',
];
const HTTP_RECV = ['HTTP_RECV_START', 'HTTP_RECV_END'];
const HTTP_SEND = ['INFER_RESPONSE_COMPLETE', 'HTTP_SEND_START', 'HTTP_SEND_END'];

/** A server that writes traces into a directory of its own. */
async function start(...settings: string[]) {
  const repository = makeRepository(MODELS);
  const directory = temporaryDirectory();
  const file = directory.file('trace.json');
  const args = [`triton,file=${file}`, ...settings].map((setting) => `--trace-config=${setting}`);
  const server = await startTestServer([repository.path], args);
  const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  return {
    server,
    client,
    file,
    infer: (id: string, model = 'plain', input = 'INPUT0', data: unknown = [7]) =>
      httpRequest(
        server.http,
        'POST',
        `/v2/models/${model}/infer`,
        JSON.stringify({ id, inputs: [{ name: input, datatype: 'INT32', shape: [1], data }] }),
      ),
    set: async (settings: object, model = '') => {
      const target = `/v2${model === '' ? '' : `/models/${model}`}/trace/setting`;
      return await httpRequest(server.http, 'POST', target, JSON.stringify(settings));
    },
    async end() {
      await client.close();
      await server.stop();
      repository.remove();
    },
    remove: directory.remove,
  };
}

const ids = (file: string) =>
  readTraces(file).entries.flatMap(({ request_id, model_name }) =>
    model_name === undefined ? [] : (request_id ?? ''),
  );

test('timestamps of HTTP, gRPC, streams, refused requests and ensembles', async () => {
  const { server, client, file, infer, end, remove } = await start('rate=1', 'level=TIMESTAMPS');
  assert.equal((await infer('http')).status, 200);
  const inputs = [makeTensor('INPUT0', 'INT32', [1])];
  await client.infer({ modelName: 'plain', id: 'grpc', inputs });
  const stream = client.stream();
  await stream.send({ modelName: 'plain', id: 'stream', inputs });
  stream.end();
  for await (const event of stream) assert.equal(event.error, undefined);
  assert.equal((await infer('refused', 'plain', 'WRONG')).status, 400);
  assert.equal((await infer('ensemble', 'pair', 'IN')).status, 200);
  const generated = await httpRequest(
    server.http,
    'POST',
    '/v2/models/plain/generate',
    '{"id":"generate","INPUT0":[1]}',
  );
  assert.equal(generated.status, 200);
  assert.equal((await infer('nowhere', 'nowhere')).status, 404);
  await end();

  const { entries, events } = readTraces(file);
  const sorted = (names: readonly string[] | undefined) => [...(names ?? [])].sort();
  assert.deepEqual(sorted(events.get(1)), sorted([...HTTP_RECV, ...ENGINE, ...HTTP_SEND]));
  assert.deepEqual(events.get(2), [...ENGINE, ...GRPC]);
  assert.deepEqual(events.get(3), [...ENGINE, ...GRPC]);
  assert.deepEqual(events.get(4), HTTP_RECV);
  const outer = ['info', 'REQUEST_START', 'QUEUE_START', 'REQUEST_END'];
  assert.deepEqual(sorted(events.get(5)), sorted([...HTTP_RECV, ...outer, ...HTTP_SEND]));
  assert.deepEqual(events.get(6), ENGINE);
  assert.deepEqual(events.get(7), ENGINE);
  assert.deepEqual(sorted(events.get(8)), sorted([...HTTP_RECV, ...ENGINE, ...HTTP_SEND]));
  // Traces of steps stand before that of their ensemble.
  assert.deepEqual([...events.keys()], [1, 2, 3, 4, 7, 6, 5, 8]);
  const infos = entries.filter((entry) => entry.model_name !== undefined);
  assert.deepEqual(infos[0], { id: 1, model_name: 'plain', model_version: 1, request_id: 'http' });
  assert.deepEqual(infos[3], { id: 7, model_name: 'plain', model_version: 1, request_id: 'ensemble', parent_id: 5 });
  for (const id of events.keys()) {
    const at = new Map(entries.flatMap((e) => (e.id === id ? (e.timestamps ?? []) : [])).map((t) => [t.name, t.ns]));
    for (const chain of [[...HTTP_RECV, ...ENGINE], ['QUEUE_START', ...HTTP_SEND], [...GRPC]]) {
      const times = chain.flatMap((name) => at.get(name) ?? []);
      assert.deepEqual(
        times,
        [...times].sort((a, b) => a - b),
        `${id}: ${chain.join()}`,
      );
    }
  }
  remove();
});

test('tensors of both ends of the queue, and nothing else at level TENSORS', async () => {
  const { file, infer, end, remove } = await start('rate=1', 'level=TENSORS');
  await infer('a', 'plain', 'INPUT0', [-5]);
  await end();
  const tensor = (name: string) => ({ name, data: '-5', shape: '1', dtype: 'INT32' });
  assert.deepEqual(readTraces(file).entries, [
    { id: 1, activity: 'TENSOR_QUEUE_INPUT', tensor: tensor('INPUT0') },
    { id: 1, activity: 'TENSOR_BACKEND_OUTPUT', tensor: tensor('OUTPUT0') },
  ]);
  remove();
});

test('rate and count pick requests; log-frequency makes numbered files', async () => {
  const { file, infer, end, remove } = await start('rate=2', 'count=3', 'level=TIMESTAMPS', 'triton,log-frequency=2');
  for (let i = 0; i < 10; i++) await infer(String(i));
  await end();
  assert.deepEqual(ids(`${file}.0`), ['1', '3']);
  assert.deepEqual(ids(`${file}.1`), ['5']);
  assert.equal(existsSync(file), false);
  remove();
});

test('a count that every request used up makes a numbered file; an update starts again, traces on their way are kept', async () => {
  const { server, file, infer, set, end, remove } = await start('rate=1', 'count=2', 'level=TIMESTAMPS');
  for (const id of ['a', 'b', 'c']) await infer(id);
  const shown = await httpRequest(server.http, 'GET', '/v2/trace/setting');
  assert.equal((shown.json as { trace_count: string }).trace_count, '0');
  assert.deepEqual(ids(`${file}.0`), ['a', 'b']);
  assert.equal((await set({ trace_rate: '1' })).status, 200);
  await infer('d');
  await set({ trace_count: '1' });
  for (const id of ['e', 'f']) await infer(id);
  assert.deepEqual(ids(`${file}.1`), ['e']);
  await end();
  assert.deepEqual(ids(file), ['d']);
  remove();
});

test('a model follows the global settings but for its own', async () => {
  const { server, file, infer, set, end, remove } = await start();
  assert.equal(server.logText().includes('trace'), true); // the options table shows them
  await infer('off');
  await set({ trace_level: ['TIMESTAMPS'], trace_rate: '1' }, 'plain');
  await infer('model');
  await infer('global', 'pair', 'IN');
  await set({ trace_level: null }, 'plain');
  await infer('cleared');
  await set({ trace_level: ['TIMESTAMPS'] });
  await infer('follows');
  await set({ trace_level: ['OFF'] });
  await infer('off again');
  assert.deepEqual((await set({ trace_rate: '0' })).json, {
    trace_level: ['OFF'],
    trace_rate: '0',
    trace_count: '-1',
    log_frequency: '0',
    trace_file: file,
    trace_mode: 'triton',
  });
  const refused = await set({ trace_level: ['TENSORS'] });
  assert.equal(refused.status, 400);
  assert.equal(
    (refused.json as { error: string }).error,
    'Attempting to set invalid trace setting :sample rate must be non-zero',
  );
  await end();
  assert.deepEqual(ids(file), ['model', 'follows']);
  remove();
});

test('a long run does not keep its traces in memory', async () => {
  const { file, infer, end, remove } = await start('rate=1', 'level=TIMESTAMPS');
  let count = 0;
  while (!existsSync(file)) {
    await Promise.all(Array.from({ length: 50 }, () => infer('x')));
    count += 50;
    assert.ok(count < 5000);
  }
  assert.equal(readFileSync(file, 'utf8')[0], '[');
  await end();
  assert.equal(ids(file).length, count);
  remove();
});

test('a file that cannot be written is reported and stops nothing', async () => {
  const { server, infer, end, remove } = await start('triton,file=/nowhere/x', 'rate=1', 'level=TIMESTAMPS');
  assert.equal((await infer('a')).status, 200);
  await end();
  assert.match(server.logText(), /E\d{4} .*failed creating trace file: ENOENT/);
  remove();
});
