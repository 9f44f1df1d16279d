/** System shared memory from registration to results, over both protocols, with the client's own objects. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import {
  createClient,
  DATATYPES,
  type InferenceServerClient,
  makeTensor,
  SharedMemoryObject,
  type Tensor,
  tensorStrings,
  tensorValues,
} from '../../src/client/index.js';
import { NEEDS_SHARED_MEMORY } from '../support/machine/linux-only.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { arbitraryTensor } from '../support/values/arbitrary-tensor.js';
import { httpRequest } from '../support/wire/http-request.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const repository = makeRepository({
  ...identityModel(
    'any',
    DATATYPES.map((type) => [type === 'BYTES' ? 'TYPE_STRING' : `TYPE_${type}`, '[ -1 ]'] as const),
    'max_batch_size: 0',
  ),
  // Two requests make a batch; the first waits for the second.
  ...identityModel(
    'pairs',
    [['TYPE_UINT8', '[ 4 ]']],
    'max_batch_size: 2\ndynamic_batching { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 100000000 }',
  ),
});
let server: TestServer;
const objects: SharedMemoryObject[] = [];

function makeObject(name: string, byteSize: number): SharedMemoryObject {
  const object = SharedMemoryObject.create(name, `/triton_test_${randomUUID()}`, byteSize, { createOnly: true });
  objects.push(object);
  return object;
}

before(async () => {
  server = await startTestServer([FIXTURES, repository.path], ['--allow-client-shm=true']);
});

after(async () => {
  for (const object of objects) object.destroy();
  await server.stop();
  repository.remove();
});

for (const protocol of ['http', 'grpc'] as const) {
  describe(`shared memory over ${protocol}`, NEEDS_SHARED_MEMORY, () => {
    let client: InferenceServerClient;

    before(async () => {
      client = await createClient({ protocol, url: `127.0.0.1:${server[protocol]}` });
    });

    after(async () => {
      await client.control.unregisterSystemSharedMemory();
      await client.close();
    });

    test('regions are registered, listed and forgotten', async () => {
      const { control } = client;
      const [a, b] = [makeObject('b', 8192), makeObject('a', 100)];
      await control.registerSystemSharedMemory({ name: 'b', key: a.key, offset: 4096, byteSize: 10 });
      await control.registerSystemSharedMemory(b);
      const all = [
        { name: 'a', key: b.key, offset: 0n, byteSize: 100n },
        { name: 'b', key: a.key, offset: 4096n, byteSize: 10n },
      ];
      const byName = (x: { name: string }, y: { name: string }) => (x.name < y.name ? -1 : 1);
      assert.deepEqual([...(await control.systemSharedMemory())].sort(byName), all);
      assert.deepEqual(await control.systemSharedMemory('b'), all.slice(1));
      await assert.rejects(control.registerSystemSharedMemory(b), {
        code: protocol === 'grpc' ? 'ALREADY_EXISTS' : 'INVALID_ARG',
        message: "shared memory region 'a' already in manager",
      });
      await assert.rejects(control.systemSharedMemory('c'), {
        code: 'NOT_FOUND',
        message: "Unable to find system shared memory region: 'c'",
      });
      await control.unregisterSystemSharedMemory('c');
      await control.unregisterSystemSharedMemory('b');
      assert.deepEqual(await control.systemSharedMemory(), all.slice(0, 1));
      await control.unregisterSystemSharedMemory();
      assert.deepEqual(await control.systemSharedMemory(), []);
      assert.deepEqual(await control.cudaSharedMemory(), []);
      await control.unregisterCudaSharedMemory();
      const cuda = { name: 'c', deviceId: 0, byteSize: 8, rawHandle: new Uint8Array(64) };
      await assert.rejects(control.registerCudaSharedMemory(cuda), {
        code: 'INVALID_ARG',
        message: 'failed to register shared memory region: invalid args',
      });
    });

    test('tensors of every datatype go in and come out through regions, at any offset', async () => {
      const input = makeObject('in', 1 << 16);
      const output = makeObject('out', 1 << 16);
      await client.control.registerSystemSharedMemory(input);
      await client.control.registerSystemSharedMemory(output);
      const tensors = fc.tuple(
        ...DATATYPES.map((datatype) => fc.integer({ min: 1, max: 5 }).chain((n) => arbitraryTensor([datatype], [n]))),
      );
      await fc.assert(
        fc.asyncProperty(tensors, fc.nat({ max: 50 }), fc.nat({ max: 50 }), async (given, inAt, outAt) => {
          const places = input.set(given, inAt);
          let next = outAt;
          const outputs = given.map((tensor, i) => {
            // A range may be larger than what is written to it.
            const sharedMemory = output.reference(next, tensor.data.length + (i % 3));
            next += sharedMemory.byteSize;
            return { name: `OUTPUT${i}`, sharedMemory };
          });
          const before = output.read();
          const result = await client.infer({
            modelName: 'any',
            inputs: given.map(({ datatype, shape }, i) => ({
              name: `INPUT${i}`,
              datatype,
              shape,
              sharedMemory: places[i]!,
            })),
            outputs,
          });
          const expected = Buffer.from(before);
          for (const [i, { datatype, shape, data }] of given.entries()) {
            const { offset = 0 } = outputs[i]!.sharedMemory;
            const answered = result.output(`OUTPUT${i}`)!;
            assert.deepEqual([answered.datatype, answered.shape, answered.data.length], [datatype, shape, 0]);
            assert.deepEqual(Buffer.from(output.get('x', datatype, shape, offset).data), Buffer.from(data), datatype);
            expected.set(data, offset);
          }
          // Nothing else was touched.
          assert.ok(expected.equals(output.read()));
        }),
        { numRuns: 25 },
      );
      await client.control.unregisterSystemSharedMemory();
    });

    test('regions stand beside data in the request, and classes beside regions', async () => {
      const input = makeObject('in', 64);
      const values = Array.from({ length: 16 }, (_, i) => i);
      const [place] = input.set([makeTensor('x', 'INT32', values)]);
      await client.control.registerSystemSharedMemory(input);
      const inputs = [
        { name: 'INPUT0', datatype: 'INT32', shape: [1, 16], sharedMemory: place! },
        makeTensor('INPUT1', 'INT32', new Array<number>(16).fill(1), [1, 16]),
      ] as const;
      const outputs = [
        { name: 'OUTPUT0', classification: 2 },
        { name: 'OUTPUT1', sharedMemory: place! },
      ];
      const result = await client.infer({ modelName: 'simple', inputs, outputs });
      assert.deepEqual(tensorStrings(result.output('OUTPUT0')!), ['16:15', '15:14']);
      assert.deepEqual(
        tensorValues(input.get('y', 'INT32', [16])),
        values.map((value) => value - 1),
      );
      await client.control.unregisterSystemSharedMemory();
    });

    test('what does not fit is refused, and the region is free again', async () => {
      const region = makeObject('r', 64);
      await client.control.registerSystemSharedMemory(region);
      const input = (sharedMemory: { region: string; byteSize: number; offset?: number }) =>
        client.infer({
          modelName: 'pairs',
          inputs: [{ name: 'INPUT0', datatype: 'UINT8', shape: [1, 4], sharedMemory }],
        });
      for (const [place, code, message] of [
        [{ region: 'no', byteSize: 4 }, 'NOT_FOUND', "Unable to find shared memory region: 'no'"],
        [{ region: 'r', byteSize: 4, offset: 64 }, 'INVALID_ARG', "Invalid offset for shared memory region: 'r'"],
        [{ region: 'r', byteSize: 65 }, 'INVALID_ARG', "Invalid offset + byte size for shared memory region: 'r'"],
        [
          { region: 'r', byteSize: 3 },
          'INVALID_ARG',
          "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'pairs'. Expected 4, got 3",
        ],
      ] as const) {
        await assert.rejects(input(place), { code, message });
      }
      const small = { name: 'OUTPUT0', sharedMemory: { region: 'r', byteSize: 3 } };
      const data = makeTensor('INPUT0', 'UINT8', [1, 2, 3, 4, 5, 6, 7, 8], [2, 4]);
      await assert.rejects(client.infer({ modelName: 'pairs', inputs: [data], outputs: [small] }), {
        code: 'INTERNAL',
        message:
          "shared memory size specified with the request for output 'OUTPUT0' (3 bytes) should be at least 8 bytes to hold the results",
      });
      // Nothing holds it any more: it goes at once.
      await client.control.unregisterSystemSharedMemory('r');
      assert.deepEqual(await client.control.systemSharedMemory(), []);
    });

    test('a region that a request uses stays until its response', async () => {
      const region = makeObject('held', 8);
      const [place] = region.set([Uint8Array.of(1, 2, 3, 4)]);
      await client.control.registerSystemSharedMemory(region);
      const call = {
        modelName: 'pairs',
        inputs: [{ name: 'INPUT0', datatype: 'UINT8' as const, shape: [1, 4], sharedMemory: place! }],
        outputs: [{ name: 'OUTPUT0', sharedMemory: region.reference(4, 4) }],
      };
      const waiting = client.infer(call);
      // Its data were read once the region shows up as held: unregistering leaves it there.
      for (;;) {
        await client.control.unregisterSystemSharedMemory('held');
        const listed = await client.control.systemSharedMemory();
        if (listed.length > 0) break;
        await client.control.registerSystemSharedMemory(region);
      }
      await assert.rejects(client.control.registerSystemSharedMemory(region), {
        message: "shared memory region 'held' already in manager",
      });
      await Promise.all([waiting, client.infer(call)]);
      assert.deepEqual([...region.read(4)], [1, 2, 3, 4]);
      assert.deepEqual(await client.control.systemSharedMemory(), []);
    });
  });
}

test('a stream writes its responses into regions', NEEDS_SHARED_MEMORY, async () => {
  const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  const region = makeObject('s', 64);
  await client.control.registerSystemSharedMemory(region);
  const stream = client.stream();
  for (let i = 0; i < 4; i++) {
    const [sharedMemory] = region.set([Uint8Array.of(i, i, i)], i * 3);
    await stream.send({
      modelName: 'any',
      inputs: DATATYPES.map((datatype, n) => ({
        ...(datatype === 'UINT8' ? { sharedMemory: sharedMemory! } : { data: new Uint8Array(0) }),
        name: `INPUT${n}`,
        datatype,
        shape: [datatype === 'UINT8' ? 3 : 0],
      })),
      outputs: [{ name: `OUTPUT${DATATYPES.indexOf('UINT8')}`, sharedMemory: region.reference(32 + i * 3, 3) }],
    });
  }
  stream.end();
  let count = 0;
  for await (const event of stream) {
    assert.equal(event.error, undefined);
    count++;
  }
  assert.equal(count, 4);
  assert.deepEqual([...region.read(32, 12)], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
  await client.control.unregisterSystemSharedMemory();
  await client.close();
});

test('HTTP: bodies of register that are not right', NEEDS_SHARED_MEMORY, async () => {
  const handle = Buffer.alloc(64).toString('base64');
  const cuda = (change: object) =>
    JSON.stringify({ raw_handle: { b64: handle }, device_id: 0, byte_size: 4, ...change });
  const notUint = 'attempt to access JSON non-unsigned-integer as unsigned-integer';
  const noHandle = "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t";
  // Every expected response is Triton's (2.51).
  const cases: [kind: string, body: string, status: number, error: string][] = [
    ['system', '', 500, 'failed to parse the request JSON buffer: The document is empty. at 0'],
    ['system', '[]', 400, "Shared memory register request has no 'key' field"],
    ['system', '{"byte_size":4}', 400, "Shared memory register request has no 'key' field"],
    ['system', '{"key":5,"byte_size":4}', 500, 'attempt to access JSON non-string as string'],
    ['system', '{"key":"/none"}', 400, "Shared memory register request has no 'byte_size' field"],
    ['system', '{"key":"/none","byte_size":-1}', 500, notUint],
    ['system', '{"key":"/none","byte_size":4,"offset":1.5}', 500, notUint],
    ['system', '{"key":"a\\u005fb\\u0000c","byte_size":4}', 500, "Unable to open shared memory region: 'a_b'"],
    ['cuda', '', 500, 'failed to parse the request JSON buffer: The document is empty. at 0'],
    ['cuda', '{}', 400, "Shared memory register request has no 'raw_handle' field"],
    ['cuda', cuda({ raw_handle: {} }), 500, "attempt to access non-existing object member 'b64'"],
    ['cuda', cuda({ raw_handle: { b64: 5 } }), 500, 'attempt to access JSON non-string as string'],
    ['cuda', cuda({ device_id: undefined }), 500, "attempt to access non-existing object member 'device_id'"],
    ['cuda', cuda({ device_id: -1 }), 500, notUint],
    ['cuda', cuda({ byte_size: undefined }), 500, "attempt to access non-existing object member 'byte_size'"],
    ['cuda', cuda({ raw_handle: { b64: '!!' } }), 400, noHandle],
    ['cuda', cuda({ raw_handle: { b64: Buffer.alloc(60).toString('base64') } }), 400, noHandle],
    ['cuda', cuda({}), 400, 'failed to register shared memory region: invalid args'],
  ];
  for (const [kind, body, status, error] of cases) {
    const path = `/v2/${kind}sharedmemory/region/x/register`;
    const answer = await httpRequest(server.http, 'POST', path, body);
    assert.deepEqual([answer.status, answer.json], [status, { error }], `${kind} ${body}`);
  }
  const answer = await httpRequest(server.http, 'POST', '/v2/cudasharedmemory/register', '{}');
  assert.equal(answer.text, `{"error":"'region name' is necessary to register cuda shared memory region"}`);
});

test("the client's objects", NEEDS_SHARED_MEMORY, () => {
  const object = makeObject('o', 100);
  const same = SharedMemoryObject.create('p', object.key, 50);
  const words: Tensor = makeTensor('w', 'BYTES', ['a', 'bcd', '']);
  const [first, second] = object.set([Uint8Array.of(9, 9), words], 3);
  assert.deepEqual(
    [first, second],
    [
      { region: 'o', byteSize: 2, offset: 3 },
      { region: 'o', byteSize: words.data.length, offset: 5 },
    ],
  );
  assert.deepEqual(tensorStrings(same.get('w', 'BYTES', [3], 5)), ['a', 'bcd', '']);
  assert.throws(() => same.get('w', 'BYTES', [100], 5), { code: 'INVALID_ARG' });
  assert.throws(() => object.set([new Uint8Array(4)], 97), {
    code: 'INVALID_ARG',
    message: "4 bytes at 97 do not lie within the 100 bytes of the shared memory region 'o'",
  });
  assert.throws(() => SharedMemoryObject.create('q', object.key, 101), { code: 'INVALID_ARG' });
  assert.throws(() => SharedMemoryObject.create('q', object.key, 1, { createOnly: true }), { code: 'ALREADY_EXISTS' });
  for (const key of ['', '../x', 'a/b', '..']) {
    assert.throws(() => SharedMemoryObject.create('q', key, 1), { code: 'INVALID_ARG' });
  }
  object.destroy();
  object.destroy();
  assert.equal(existsSync(`/dev/shm${object.key}`), false);
  assert.throws(() => object.read(), { code: 'INVALID_ARG', message: "the shared memory region 'o' was destroyed" });
  same.destroy();
});
