/** The log of real servers: verbose records of a request, switches and formats at run time. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor } from '../../src/protocol/tensor-values.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const repository = makeRepository({
  ...identityModel('plain', [['TYPE_INT32', '-1']]),
  ...identityModel(
    'sequence',
    [['TYPE_INT32', '1']],
    `max_batch_size: 2 sequence_batching { max_sequence_idle_microseconds: 60000000 }`,
  ),
});
after(() => repository.remove());

const infer = (server: TestServer, model: string, id: string, more: object = {}) =>
  httpRequest(
    server.http,
    'POST',
    `/v2/models/${model}/infer`,
    JSON.stringify({ id, inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 1], data: [7] }], ...more }),
  );

/** Messages of the records after a mark, addresses as `<n>`. */
function messages(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line.slice(line.indexOf('] "') + 2)) as string)
    .map((message) => message.replace(/0x(0x)?[0-9a-f]{5,}/g, '<n>'));
}

test('level 1 shows the way of a request', async () => {
  const server = await startTestServer([repository.path], ['--log-verbose=1', '--allow-metrics=false']);
  const from = server.logText().length;
  assert.equal((await infer(server, 'plain', 'a')).status, 200);
  const input = '[<n>] input: INPUT0, type: INT32, original shape: [1,1], batch + shape: [1,1], shape: [1]\n';
  const said = messages(server.logText().slice(from));
  assert.deepEqual(said, [
    'HTTP request: 2 /v2/models/plain/infer',
    '[request id: a] Setting state from INITIALIZED to INITIALIZED',
    '[request id: a] prepared: [<n>] request id: a, model: plain, requested version: -1, actual version: 1, flags: 0x0, ' +
      'correlation id: 0, batch size: 1, priority: 0, timeout (us): 0\n' +
      `original inputs:\n${input}override inputs:\ninputs:\n${input}original requested outputs:\nrequested outputs:\nOUTPUT0\n`,
    '[request id: a] Setting state from INITIALIZED to PENDING',
    '[request id: a] Setting state from PENDING to EXECUTING',
    'model plain, instance plain_0, executing 1 requests',
    'add response output: output: OUTPUT0, type: INT32, shape: [1,1]',
    "HTTP using buffer for: 'OUTPUT0', size: 4, addr: <n>",
    'HTTP release: size 4, addr <n>',
    '[request id: a] Setting state from EXECUTING to RELEASED',
    'TRITONBACKEND_ModelInstanceExecute: model instance name plain_0 released 1 requests',
  ]);
  await server.stop();
});

test('refused requests, sequences and gRPC', async () => {
  const server = await startTestServer([repository.path], ['--log-verbose=1', '--allow-metrics=false']);
  let from = server.logText().length;
  assert.equal((await infer(server, 'sequence', 'b', { parameters: { sequence_id: 7 } })).status, 400);
  const refused = messages(server.logText().slice(from));
  assert.deepEqual(refused.slice(-2), [
    '[request id: b] Setting state from PENDING to FAILED_ENQUEUE',
    "[request id: b] Infer failed: inference request for sequence 7 to model 'sequence' must specify the START flag on the first request of the sequence",
  ]);
  from = server.logText().length;
  await infer(server, 'sequence', 'c', { parameters: { sequence_id: 7, sequence_start: true, sequence_end: true } });
  const started = messages(server.logText().slice(from));
  assert.ok(started.includes('Enqueuing CORRID 7 into batcher sequence_0, sequence slot 0: sequence'));
  assert.ok(started.some((message) => message.includes('flags: 0x3, correlation id: 7')));
  from = server.logText().length;
  const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  await client.infer({
    modelName: 'plain',
    modelVersion: '1',
    id: 'g',
    inputs: [makeTensor('INPUT0', 'INT32', [1], [1, 1])],
  });
  const grpc = messages(server.logText().slice(from));
  assert.ok(grpc.some((message) => message.includes('requested version: 1, actual version: 1')));
  assert.ok(grpc.includes("GRPC: using buffer for 'OUTPUT0', size: 4, addr: <n>"));
  await client.close();
  await server.stop();
});

test('settings take effect at once, from the next record on', async () => {
  const directory = temporaryDirectory();
  const file = directory.file('server.log');
  const server = await startTestServer([repository.path], [`--log-file=${file}`, '--allow-metrics=false']);
  const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  const lines = () => readFileSync(file, 'utf8').trim().split('\n');
  const before = lines().length;
  await infer(server, 'plain', 'quiet');
  assert.equal(lines().length, before);
  const shown = await client.control.updateLogSettings({ log_verbose_level: 1, log_format: 'ISO8601' });
  assert.deepEqual(shown, {
    log_file: file,
    log_info: true,
    log_warning: true,
    log_error: true,
    log_verbose_level: 1,
    log_format: 'ISO8601',
  });
  await infer(server, 'plain', 'loud');
  assert.match(lines()[before] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I \d+ http_server\.cc:\d+\] "HTTP request: 2 /);
  await httpRequest(
    server.http,
    'POST',
    '/v2/logging',
    '{"log_verbose_level":0,"log_format":"default","log_info":false}',
  );
  const quiet = lines().length;
  await infer(server, 'plain', 'quiet again');
  assert.equal(lines().length, quiet);
  await client.close();
  await server.stop();
  directory.remove();
});
