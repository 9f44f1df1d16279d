/** What a program passes wrongly to the client is reported before anything is sent. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeTensor, type ValuesOf } from '../../protocol/tensor-values.js';
import type { ClientOptions, InferCall } from '../api/client.js';
import { createClient } from '../create-client.js';
import { createGrpcClient } from '../grpc/grpc-client.js';
import { createHttpClient } from '../http/http-client.js';

const input = { name: 'A', datatype: 'INT32', shape: [2], data: new Uint8Array(8) } as const;
/** Nothing listens there: a request that is sent fails with UNAVAILABLE, not with INVALID_ARG. */
const clients = [createHttpClient({ url: '127.0.0.1:9' }), createGrpcClient({ url: '127.0.0.1:9' })];
after(() => Promise.all(clients.map((client) => client.close())));

const WRONG_CALLS: readonly (readonly [what: object, message: RegExp])[] = [
  [{ modelName: '', inputs: [] }, /^modelName: expected a name, got an empty string$/],
  [{ inputs: [] }, /^modelName: expected a name, got undefined$/],
  [{ modelName: 'm' }, /^inputs: expected a list of tensors, got undefined$/],
  [{ modelName: 'm', modelVersion: 1, inputs: [] }, /^modelVersion: a version is passed as a string, such as "1"/],
  [{ modelName: 'm', inputs: [undefined] }, /^inputs\[0\]\.name: expected a name, got undefined$/],
  [{ modelName: 'm', inputs: [{ ...input, datatype: 'INT' }] }, /^input 'A': 'INT' is not a datatype; there are BOOL/],
  [{ modelName: 'm', inputs: [{ ...input, shape: [-1] }] }, /^input 'A': a shape is a list .*, got \[-1\]$/],
  [{ modelName: 'm', inputs: [{ ...input, shape: 2 }] }, /^input 'A': a shape is a list .*, got 2$/],
  [
    { modelName: 'm', inputs: [{ ...input, data: new Int32Array(2) }] },
    /^input 'A': data is a Uint8Array in wire form/,
  ],
  [{ modelName: 'm', inputs: [{ ...input, data: new Uint8Array(7) }] }, /INT32 and shape \[2\] needs 8 bytes, got 7$/],
  [
    { modelName: 'm', inputs: [{ ...input, sharedMemory: { region: 'r', byteSize: 8 } }] },
    /^input 'A' has both data and a shared memory reference/,
  ],
  [
    { modelName: 'm', inputs: [{ ...input, data: undefined, sharedMemory: { region: 'r', byteSize: -8 } }] },
    /^input 'A': sharedMemory\.byteSize is a number of bytes, got -8$/,
  ],
  [{ modelName: 'm', inputs: [input], outputs: ['O'] }, /^outputs\[0\]\.name: expected a name, got undefined$/],
  [{ modelName: 'm', inputs: [input], outputs: [{ name: 'O', classification: 1.5 }] }, /got 1\.5$/],
  [
    { modelName: 'm', inputs: [input], priority: -1 },
    /^priority: expected a whole number from 0 to 2\^64-1 .*, got -1$/,
  ],
  [{ modelName: 'm', inputs: [input], timeoutMicroseconds: 0.5 }, /^timeoutMicroseconds: .*, got 0\.5$/],
  [{ modelName: 'm', inputs: [input], sequenceId: 2n ** 64n }, /^sequenceId: .*, got 18446744073709551616$/],
];

for (const [call, message] of WRONG_CALLS) {
  test(`infer and prepare refuse: ${message.source}`, async () => {
    for (const client of clients) {
      await assert.rejects(client.infer(call as InferCall), { code: 'INVALID_ARG', message });
      assert.throws(() => client.prepare(call as InferCall), { code: 'INVALID_ARG', message });
    }
  });
}

test('a call without a mistake is sent', async () => {
  for (const client of clients) {
    await assert.rejects(client.infer({ modelName: 'm', inputs: [input], priority: 1 }), { code: 'UNAVAILABLE' });
  }
});

const WRONG_OPTIONS: readonly (readonly [what: unknown, message: RegExp])[] = [
  ['localhost:8000', /^options of a client are an object such as/],
  [{}, /^url: expected a string/],
  [{ url: 'h:1', timeout: 5 }, /^'timeout' is not an option of a client; there are .*timeoutMs/],
  [{ url: 'h:1', timeoutMs: -5 }, /^timeoutMs: expected milliseconds, 0 or more, got -5$/],
  [{ url: 'h:1', timeoutMs: '5' }, /^timeoutMs: expected milliseconds, 0 or more, got "5"$/],
  [{ url: 'h:1', maxConnections: 0 }, /^maxConnections: expected a whole number above 0, got 0$/],
  [{ url: 'h:1', compression: 'br' }, /^compression: expected 'none' or 'gzip' or 'deflate', got "br"$/],
  [{ url: 'h:1', tls: true }, /^tls: expected an object, got true$/],
  [{ url: 'h:1', tls: { ca: 'x' } }, /^'tls\.ca' is not an option of a client; there are rootCertificates/],
  [{ url: 'h:1', tls: { verifyPeer: 'no' } }, /^tls\.verifyPeer: expected true or false, got "no"$/],
];

for (const [options, message] of WRONG_OPTIONS) {
  test(`clients refuse the options: ${message.source}`, async () => {
    const given = options as ClientOptions;
    assert.throws(() => createHttpClient(given), { code: 'INVALID_ARG', message });
    assert.throws(() => createGrpcClient(given), { code: 'INVALID_ARG', message });
    await assert.rejects(createClient(options as ClientOptions & { protocol: 'http' }), {
      code: 'INVALID_ARG',
      message,
    });
  });
}

test('a protocol that does not exist is refused', async () => {
  const options = { protocol: 'grcp', url: 'h:1' } as unknown as ClientOptions & { protocol: 'grpc' };
  await assert.rejects(createClient(options), { message: /^protocol: expected 'http' or 'grpc', got "grcp"$/ });
});

test('makeTensor takes the typed array of its datatype and no other', () => {
  // @ts-expect-error: the array is not that of the datatype, which does not compile either
  assert.throws(() => makeTensor('A', 'INT32', new Float32Array(2)), {
    code: 'INVALID_ARG',
    message:
      "tensor 'A' of datatype INT32 is made of a list of values or a Int32Array, got a Float32Array; " +
      'bytes that are in wire form already go into the `data` of a tensor',
  });
  // @ts-expect-error: bytes are not the elements of an INT64 tensor
  assert.throws(() => makeTensor('A', 'INT64', new Uint8Array(8)), /got a Uint8Array/);
  // @ts-expect-error: BYTES elements are strings or bytes of their own
  assert.throws(() => makeTensor('A', 'BYTES', new Uint8Array(8)), /is made of a list of strings or Uint8Arrays/);
  assert.throws(() => makeTensor('A', 'BOOL', Uint8Array.of(0, 2)), /datatype BOOL cannot hold the value 2/);
  assert.throws(() => makeTensor('A', 'FP32', new DataView(new ArrayBuffer(4)) as never), /got a DataView/);
  assert.deepEqual(makeTensor('A', 'UINT8', Buffer.from([1, 2])).shape, [2]);
  assert.deepEqual(makeTensor('A', 'BOOL', Uint8Array.of(0, 1)).data, Uint8Array.of(0, 1));
  assert.deepEqual(makeTensor('A', 'FP16', Uint16Array.of(0x3c00)).data, Uint8Array.of(0, 0x3c));
});

test('makeTensor refuses names, datatypes, values and shapes of a wrong kind', () => {
  const dynamic = 'INT' as 'INT32';
  assert.throws(
    () => makeTensor('A', dynamic, [1]),
    /^TritonError: tensor 'A': 'INT' is not a datatype; there are BOOL/,
  );
  assert.throws(() => makeTensor('A', 'INT32', [1, 2], [1, -2]), /not negative, got \[1,-2\]/);
  assert.throws(() => makeTensor('A', 'INT32', [1, 2], 2 as never), /not negative, got \[2\]/);
  assert.throws(() => makeTensor('A', 'INT32', 7 as never), /are a flat list or a typed array, got number/);
  const nested = [[1], [2]] as unknown as ValuesOf<'INT32'>;
  assert.throws(() => makeTensor('A', 'INT32', nested), /cannot hold the value of a nested list/);
});
