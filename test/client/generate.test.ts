/** Generate calls of the client: plain values in and out, streams of events. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import {
  createClient,
  type GenerateEvent,
  type InferenceServerClient,
  makeTensor,
  TritonError,
} from '../../src/client/index.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const repository = makeRepository({
  ...identityModel(
    'values',
    [
      ['TYPE_INT64', '[ -1 ]'],
      ['TYPE_STRING', '[ -1 ]'],
      ['TYPE_FP64', '[ -1 ]'],
      ['TYPE_BOOL', '[ -1 ]'],
    ],
    'max_batch_size: 0',
  ),
  'counts/config.pbtxt': `backend: "repeat" model_transaction_policy { decoupled: true }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
        { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]`,
  'counts/1/.keep': '',
});
let server: TestServer;
let client: InferenceServerClient;

before(async () => {
  server = await startTestServer([repository.path]);
  client = await createClient({ protocol: 'http', url: `127.0.0.1:${server.http}` });
});

after(async () => {
  await client.close();
  await server.stop();
  repository.remove();
});

test('values of every kind come back as they were', async () => {
  const list = <T>(element: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(element, { minLength: 2, maxLength: 4 });
  const any = fc.record({
    INPUT0: list(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    INPUT1: list(fc.string({ unit: 'grapheme' })),
    INPUT2: list(fc.double()),
    INPUT3: list(fc.boolean()),
  });
  await fc.assert(
    fc.asyncProperty(any, async (values) => {
      const result = await client.generate({ modelName: 'values', id: 'g', values });
      assert.deepEqual([result['id'], result['model_name'], result['model_version']], ['g', 'values', '1']);
      assert.deepEqual((result['OUTPUT0'] as (number | bigint)[]).map(BigInt), values.INPUT0);
      assert.deepEqual(result['OUTPUT1'], values.INPUT1);
      assert.deepEqual(result['OUTPUT2'], values.INPUT2);
      assert.deepEqual(result['OUTPUT3'], values.INPUT3);
    }),
    { numRuns: 50 },
  );
  const one = await client.generate({
    modelName: 'values',
    modelVersion: '1',
    values: { INPUT0: 5, INPUT1: 'a', INPUT2: 0.5, INPUT3: true },
    parameters: { any: 'thing' },
  });
  assert.deepEqual([one['OUTPUT0'], one['OUTPUT1'], one['OUTPUT2'], one['OUTPUT3']], [5, 'a', 0.5, true]);
});

const counted = (values: readonly number[]) => ({
  modelName: 'counts',
  id: 'c',
  values: { IN: values, DELAY: values.map(() => 0), WAIT: 0 },
});

test('a stream brings every response', async () => {
  const events: GenerateEvent[] = [];
  for await (const event of client.generateStream(counted([7, 8, 9]))) events.push(event);
  assert.deepEqual(
    events.map(({ result }) => [result?.['OUT'], result?.['IDX'], result?.['id']]),
    [
      [7, 0, 'c'],
      [8, 1, 'c'],
      [9, 2, 'c'],
    ],
  );
});

test('leaving the loop, a signal and a limit end a stream', async () => {
  const endless = { ...counted([1, 2]), values: { IN: [1, 2], DELAY: [0, 100_000], WAIT: 0 } };
  for await (const event of client.generateStream(endless)) {
    assert.equal(event.result?.['OUT'], 1);
    break;
  }
  const given = new AbortController();
  const read = async (options: { signal?: AbortSignal; timeoutMs?: number }): Promise<void> => {
    for await (const _ of client.generateStream(endless, options)) given.abort();
  };
  await assert.rejects(read({ signal: given.signal }), { code: 'CANCELLED' });
  await assert.rejects(read({ timeoutMs: 50 }), { code: 'UNAVAILABLE', message: 'Deadline Exceeded' });
});

test('refusals carry code, status, text and the id of the request', async () => {
  const wrong = { modelName: 'values', id: 'w', values: { INPUT0: 'no number' } };
  const expected = {
    code: 'INTERNAL',
    status: 500,
    requestId: 'w',
    message: "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
  };
  await assert.rejects(client.generate(wrong), expected);
  const { requestId: _, ...withoutId } = expected;
  await assert.rejects(client.generateStream(wrong)[Symbol.asyncIterator]().next(), withoutId);
  await assert.rejects(client.generate(counted([1, 2])), {
    code: 'INTERNAL',
    message:
      'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
  });
  const grpc = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  await assert.rejects(grpc.generate(counted([1])), { code: 'UNSUPPORTED' });
  assert.throws(() => grpc.generateStream(counted([1])), { code: 'UNSUPPORTED' });
  await grpc.close();
});

for (const protocol of ['http', 'grpc'] as const) {
  test(`${protocol}: errors of inference carry the id of their request`, async () => {
    const infers = await createClient({ protocol, url: `127.0.0.1:${server[protocol]}` });
    const call = { modelName: 'values', id: 'mine', inputs: [makeTensor('INPUT0', 'INT64', [1n])] };
    const expected = (error: unknown): boolean =>
      error instanceof TritonError &&
      error.requestId === 'mine' &&
      /^\[request id: mine\] expected 4/.test(error.message);
    await assert.rejects(infers.infer(call), expected);
    await assert.rejects(infers.inferPrepared(infers.prepare(call)), expected);
    await infers.close();
    const nowhere = await createClient({ protocol, url: '127.0.0.1:1' });
    await assert.rejects(nowhere.infer(call), { code: 'UNAVAILABLE', requestId: 'mine' });
    await nowhere.close();
  });
}
