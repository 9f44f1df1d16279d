/** Every call of the client, over both transports, against the project's own server. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TritonError } from '../../src/base/error.js';
import type { InferenceServerClient } from '../../src/client/api/client.js';
import { createClient } from '../../src/client/create-client.js';
import { DATATYPES, type Datatype } from '../../src/protocol/datatype.js';
import { makeTensor, type TensorValue, tensorStrings, tensorValues } from '../../src/protocol/tensor-values.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const all = makeRepository({
  ...identityModel(
    'any',
    DATATYPES.map((datatype) => [datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`, '[ -1 ]'] as const),
  ),
  ...identityModel('big', [['TYPE_FP32', '[ -1 ]']], 'max_batch_size: 0'),
});
let server: TestServer;

before(async () => {
  server = await startTestServer([FIXTURES, all.path]);
});

after(async () => {
  await server.stop();
  all.remove();
});

const VALUES: Readonly<Record<Datatype, TensorValue[]>> = {
  BOOL: [true, false],
  UINT8: [0, 255],
  UINT16: [0, 65535],
  UINT32: [0, 2 ** 32 - 1],
  UINT64: [0n, 2n ** 64n - 1n],
  INT8: [-128, 127],
  INT16: [-32768, 32767],
  INT32: [-(2 ** 31), 2 ** 31 - 1],
  INT64: [-(2n ** 63n), 2n ** 63n - 1n],
  FP16: [0.5, Number.NEGATIVE_INFINITY],
  FP32: [-0, Number.NaN],
  FP64: [Math.PI, Number.MIN_VALUE],
  BYTES: [Buffer.from([0, 255, 0]), Buffer.alloc(0)],
  BF16: [1.5, -2],
};

for (const protocol of ['http', 'grpc'] as const) {
  describe(`client over ${protocol}`, () => {
    let client: InferenceServerClient;

    before(async () => {
      client = await createClient({ protocol, url: `127.0.0.1:${server[protocol]}` });
    });

    after(() => client.close());

    test('reports that the server and a model are ready', async () => {
      assert.equal(await client.isServerLive(), true);
      assert.equal(await client.isServerReady(), true);
      assert.equal(await client.isModelReady('simple'), true);
      assert.equal(await client.isModelReady('simple', '1'), true);
    });

    test('reads the metadata of the server and of a model', async () => {
      const metadata = await client.serverMetadata();
      assert.equal(metadata.name, 'triton');
      assert.ok(metadata.extensions.includes('binary_tensor_data'));
      const model = await client.modelMetadata('simple');
      assert.deepEqual([model.name, model.versions, model.platform], ['simple', ['1'], 'onnxruntime_onnx']);
      assert.deepEqual(model.inputs[0], { name: 'INPUT0', datatype: 'INT32', shape: [-1, 16] });
      assert.deepEqual(
        model.outputs.map((output) => output.name),
        ['OUTPUT0', 'OUTPUT1'],
      );
    });

    test('reads the configuration', async () => {
      const config = await client.modelConfig('simple');
      assert.deepEqual([config.name, config.max_batch_size, config.input[0]?.dims], ['simple', 8, [16n]]);
    });

    test('computes', async () => {
      const first = Array.from({ length: 16 }, (_, i) => i);
      const result = await client.infer({
        modelName: 'simple',
        id: 'request 1',
        inputs: [
          makeTensor('INPUT0', 'INT32', first, [1, 16]),
          makeTensor('INPUT1', 'INT32', new Array<number>(16).fill(1), [1, 16]),
        ],
      });
      assert.deepEqual([result.modelName, result.modelVersion, result.id], ['simple', '1', 'request 1']);
      assert.deepEqual(
        tensorValues(result.output('OUTPUT0')!),
        first.map((v) => v + 1),
      );
      assert.deepEqual(
        tensorValues(result.output('OUTPUT1')!),
        first.map((v) => v - 1),
      );
    });

    test('brings every datatype back as it was, and only the outputs that were asked for', async () => {
      const inputs = DATATYPES.map((datatype, i) => makeTensor(`INPUT${i}`, datatype, VALUES[datatype], [1, 2]));
      const result = await client.infer({ modelName: 'any', inputs });
      for (const [i, input] of inputs.entries()) {
        const output = result.output(`OUTPUT${i}`);
        assert.deepEqual([output?.datatype, output?.shape], [input.datatype, [1, 2]]);
        assert.ok(Buffer.from(input.data).equals(output!.data), input.datatype);
      }
      const one = await client.infer({ modelName: 'any', inputs, outputs: [{ name: 'OUTPUT12' }] });
      assert.deepEqual(
        one.outputs.map((output) => output.name),
        ['OUTPUT12'],
      );
    });

    test('moves a tensor of 8 MB', async () => {
      const data = new Float32Array(2 << 20).map((_, i) => i);
      const { outputs } = await client.infer({ modelName: 'big', inputs: [makeTensor('INPUT0', 'FP32', data)] });
      assert.ok(Buffer.from(data.buffer).equals(outputs[0]!.data));
    });

    test('classifies', async () => {
      const result = await client.infer({
        modelName: 'simple',
        inputs: [
          makeTensor('INPUT0', 'INT32', [...new Array<number>(15).fill(0), 7], [1, 16]),
          makeTensor('INPUT1', 'INT32', new Array<number>(16).fill(0), [1, 16]),
        ],
        outputs: [{ name: 'OUTPUT0', classification: 1 }],
      });
      assert.deepEqual(tensorStrings(result.output('OUTPUT0')!), ['7:15']);
    });

    test('sends a prepared request many times at once', async () => {
      const prepared = client.prepare({
        modelName: 'big',
        inputs: [makeTensor('INPUT0', 'FP32', [1, 2, 3])],
      });
      const results = await Promise.all(Array.from({ length: 50 }, () => client.inferPrepared(prepared)));
      for (const result of results) assert.deepEqual(tensorValues(result.decode().outputs[0]!), [1, 2, 3]);
    });

    test('counts in the statistics', async () => {
      const [before] = await client.modelStatistics('big');
      await client.infer({ modelName: 'big', inputs: [makeTensor('INPUT0', 'FP32', [1])] });
      const [after] = await client.modelStatistics('big', '1');
      assert.equal(after!.inference_count - before!.inference_count, 1n);
      assert.ok(after!.inference_stats.success.ns > before!.inference_stats.success.ns);
      const every = await client.modelStatistics();
      assert.deepEqual(every.find(({ name }) => name === 'any')?.version, '1');
    });

    test('reads and changes trace and log settings', async () => {
      const { control } = client;
      assert.deepEqual((await control.traceSettings())['trace_level'], ['OFF']);
      const changed = await control.updateTraceSettings({ trace_rate: '7', trace_level: ['OFF'] }, 'simple');
      assert.equal(changed['trace_rate'], '7');
      assert.equal((await control.traceSettings('simple'))['trace_rate'], '7');
      assert.equal((await control.updateTraceSettings({ trace_rate: null }, 'simple'))['trace_rate'], '1000');
      const settings = await control.updateLogSettings({ log_verbose_level: 1, log_format: 'ISO8601' });
      assert.deepEqual([settings['log_verbose_level'], settings['log_format']], [1, 'ISO8601']);
      await control.updateLogSettings({ log_verbose_level: 0, log_format: 'default' });
      assert.equal((await control.logSettings())['log_verbose_level'], 0);
      await assert.rejects(control.updateLogSettings({ log_file: 'x' }), { code: 'UNSUPPORTED' });
    });

    test('lists shared memory; registering is refused where it is switched off', async () => {
      const { control } = client;
      assert.deepEqual(await control.systemSharedMemory(), []);
      assert.deepEqual(await control.cudaSharedMemory(), []);
      const off = { code: 'UNSUPPORTED', message: /^Client shared memory is disabled\./ };
      const rawHandle = new Uint8Array(64);
      await assert.rejects(control.registerSystemSharedMemory({ name: 'r', key: '/r', byteSize: 8 }), off);
      await assert.rejects(control.registerCudaSharedMemory({ name: 'r', deviceId: 0, byteSize: 8, rawHandle }), off);
    });

    test('lists the repository', async () => {
      const index = await client.repositoryIndex(true);
      assert.deepEqual(
        index.find(({ name }) => name === 'simple'),
        { name: 'simple', version: '1', state: 'READY' },
      );
    });

    const inputs = [makeTensor('INPUT0', 'FP32', [1])];
    const failures: readonly [what: string, run: () => Promise<unknown>, code: string, message: RegExp | string][] = [
      [
        'an unknown model',
        () => client.modelMetadata('none'),
        'NOT_FOUND',
        "Request for unknown model: 'none' is not found",
      ],
      [
        'an unknown version',
        () => client.modelConfig('big', '7'),
        'NOT_FOUND',
        "Request for unknown model: 'big' version 7 is not found",
      ],
      [
        'statistics of an unknown model',
        () => client.modelStatistics('none'),
        'INVALID_ARG',
        "requested model 'none' is not available",
      ],
      [
        'an unknown input',
        () => client.infer({ modelName: 'big', inputs: [{ ...inputs[0]!, name: 'X' }] }),
        'INVALID_ARG',
        "unexpected inference input 'X' for model 'big'",
      ],
      [
        'an unknown output',
        () => client.infer({ modelName: 'big', inputs, outputs: [{ name: 'X' }] }),
        'INVALID_ARG',
        "unexpected inference output 'X' for model 'big'",
      ],
      [
        'a wrong datatype',
        () => client.infer({ modelName: 'big', inputs: [makeTensor('INPUT0', 'INT8', [1])] }),
        'INVALID_ARG',
        /data-type is 'INT8', but model 'big' expects 'FP32'$/,
      ],
      [
        'too few bytes',
        () => client.infer({ modelName: 'big', inputs: [{ ...inputs[0]!, shape: [2] }] }),
        'INVALID_ARG',
        /^input 'INPUT0' of datatype FP32 and shape \[2\] needs 8 bytes, got 4$/,
      ],
      [
        'a load without explicit control',
        () => client.loadModel('big'),
        'UNAVAILABLE',
        'explicit model load / unload is not allowed if polling is enabled',
      ],
      [
        'an unload without explicit control',
        () => client.unloadModel('big'),
        'UNAVAILABLE',
        'explicit model load / unload is not allowed if polling is enabled',
      ],
    ];
    for (const [what, run, code, message] of failures) {
      test(`refuses ${what}`, async () => {
        await assert.rejects(run(), (error) => {
          assert.ok(error instanceof TritonError);
          assert.equal(error.code, code);
          if (typeof message === 'string') assert.equal(error.message, message);
          else assert.match(error.message, message);
          return true;
        });
      });
    }
  });
}

describe('client streams', () => {
  let client: InferenceServerClient;

  before(async () => {
    client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  });

  after(() => client.close());

  test('results come in the order of the requests, errors among them, and the stream ends', async () => {
    const stream = client.stream();
    const count = 20;
    for (let i = 0; i < count; i++) {
      const name = i === 7 ? 'X' : 'INPUT0';
      await stream.send({ modelName: 'big', id: String(i), inputs: [makeTensor(name, 'FP32', [i])] });
    }
    await stream.send(client.prepare({ modelName: 'big', id: 'p', inputs: [makeTensor('INPUT0', 'FP32', [1])] }));
    stream.end();
    const ids: string[] = [];
    const errors: string[] = [];
    for await (const event of stream) {
      if (event.error === undefined) ids.push(event.result.id);
      else errors.push(`${event.id}: ${event.error}`);
    }
    assert.deepEqual(ids, [...Array.from({ length: count }, (_, i) => String(i)).filter((id) => id !== '7'), 'p']);
    assert.deepEqual(errors, ["7: unexpected inference input 'X' for model 'big'"]);
  });

  test('a sequence goes through one stream', async () => {
    const stream = client.stream();
    for (const [i, value] of [11, 7, 5].entries()) {
      await stream.send({
        modelName: 'simple_sequence',
        id: String(i),
        inputs: [makeTensor('INPUT', 'INT32', [value], [1, 1])],
        sequenceId: 1000,
        sequenceStart: i === 0,
        sequenceEnd: i === 2,
      });
    }
    stream.end();
    const values: TensorValue[] = [];
    for await (const event of stream) {
      assert.equal(event.error, undefined);
      values.push(...tensorValues(event.result!.output('OUTPUT')!));
    }
    assert.deepEqual(values, [12, 7, 5]);
  });
});
