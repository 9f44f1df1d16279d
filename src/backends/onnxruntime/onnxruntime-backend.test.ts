import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { earnMainThread } from '../../../test/support/engine/earn-main-thread.js';
import {
  infer,
  int32,
  int32Values,
  makeRequest,
  startEngine,
  strings,
} from '../../../test/support/engine/engine-harness.js';
import { block, integer, node, onnxModel } from '../../../test/support/repositories/onnx-builder.js';
import type { RequestInput } from '../../contract/request.js';
import type { EngineOptions } from '../../engine/options/engine-options.js';
import { DATATYPES, elementSize } from '../../protocol/datatype.js';

const INT32 = 6;
const STRING = 8;

/** SUM = A + B and COPY = A, both [N, 2] of INT32. */
const SUM = onnxModel({
  inputs: [
    { name: 'A', type: INT32, dims: ['N', 2] },
    { name: 'B', type: INT32, dims: ['N', 2] },
  ],
  outputs: [
    { name: 'SUM', type: INT32, dims: ['N', 2] },
    { name: 'COPY', type: INT32, dims: ['N', 2] },
  ],
  graph: [node('Add', ['A', 'B'], ['SUM']), node('Identity', ['A'], ['COPY'])],
});

const identity = (type: number, dims: (string | number)[]) =>
  onnxModel({ inputs: [{ name: 'IN', type, dims }], outputs: [{ name: 'OUT', type, dims }] });

function start(files: Record<string, string | Uint8Array>, mode: 'auto' | 'off', more: Partial<EngineOptions> = {}) {
  return startEngine(files, {
    backendConfig: [{ backend: 'onnxruntime', key: 'inline-execution', value: mode }],
    ...more,
  });
}

for (const mode of ['auto', 'off'] as const) {
  describe(`inline-execution=${mode}`, () => {
    test('a bare model is completed and answers, outputs in byte order of their names', async () => {
      const { engine, log, close } = await start({ 'm/1/model.onnx': SUM }, mode);
      assert.equal(engine.startError, undefined, log.join('\n'));
      const model = engine.model('m', '');
      assert.equal(model.maxBatchSize, 4);
      assert.deepEqual(model.inputs[0], { name: 'A', datatype: 'INT32', shape: [-1, 2] });
      const request = makeRequest([int32('A', [2, 2], [1, 2, 3, 4]), int32('B', [2, 2], [10, 20, 30, 40])]);
      if (mode === 'auto') await earnMainThread(log, 'm', model, request);
      const response = await infer(model, request);
      assert.deepEqual(
        response.outputs.map(({ name, shape }) => [name, shape]),
        [
          ['COPY', [2, 2]],
          ['SUM', [2, 2]],
        ],
      );
      assert.deepEqual(int32Values(response, 'SUM'), [11, 22, 33, 44]);
      await close();
    });

    test('requests that come together share a batch and get their own rows', async () => {
      const { engine, close } = await start({ 'm/1/model.onnx': SUM }, mode);
      const model = engine.model('m', '');
      const request = (first: number, rows: number, requestedOutputs: string[] = []) => {
        const values = Array.from({ length: 2 * rows }, (_, i) => first + i);
        return makeRequest([int32('A', [rows, 2], values), int32('B', [rows, 2], values)], { requestedOutputs });
      };
      const [a, b, c] = await Promise.all([
        infer(model, request(1, 1)),
        infer(model, request(10, 2, ['SUM'])),
        infer(model, request(100, 1)),
      ]);
      assert.deepEqual(int32Values(a, 'SUM'), [2, 4]);
      assert.deepEqual(
        b.outputs.map(({ name, shape }) => [name, shape]),
        [['SUM', [2, 2]]],
      );
      assert.deepEqual(int32Values(b, 'SUM'), [20, 22, 24, 26]);
      assert.deepEqual(int32Values(c, 'COPY'), [100, 101]);
      const [statistics] = engine.statistics('m', '');
      assert.equal(statistics!.inference_count, 4n);
      assert.deepEqual(
        statistics!.batch_stats.map(({ batch_size: size }) => size),
        [4n],
      );
      await close();
    });

    test('every datatype comes back unchanged, also from unaligned bytes', async () => {
      const types: Record<string, number> = {
        FP32: 1,
        UINT8: 2,
        INT8: 3,
        UINT16: 4,
        INT16: 5,
        INT32: 6,
        INT64: 7,
        BOOL: 9,
        FP16: 10,
        FP64: 11,
        UINT32: 12,
        UINT64: 13,
      };
      const files: Record<string, Uint8Array> = {};
      for (const [name, type] of Object.entries(types)) files[`${name}/1/model.onnx`] = identity(type, [3]);
      const { engine, log, close } = await start(files, mode);
      assert.equal(engine.startError, undefined, log.join('\n'));
      for (const datatype of DATATYPES.filter((name) => name in types)) {
        const size = 3 * elementSize(datatype);
        const whole = Uint8Array.from({ length: size + 1 }, (_, i) => (datatype === 'BOOL' ? i % 2 : (i * 37) % 120));
        const data = whole.subarray(1);
        const request = makeRequest([{ name: 'IN', datatype, shape: [3], data }]);
        if (mode === 'auto') await earnMainThread(log, datatype, engine.model(datatype, ''), request);
        const response = await infer(engine.model(datatype, ''), request);
        assert.equal(response.error, undefined);
        assert.deepEqual([...response.outputs[0]!.data], [...data], datatype);
      }
      await close();
    });

    test('strings end at a NUL; bytes that are no UTF-8 are refused', async () => {
      const { engine, log, close } = await start({ 'm/1/model.onnx': identity(STRING, [3]) }, mode);
      const model = engine.model('m', '');
      if (mode === 'auto') await earnMainThread(log, 'm', model, makeRequest([strings('IN', [3], ['x', 'y', 'z'])]));
      const response = await infer(model, makeRequest([strings('IN', [3], ['a\0b', '', 'gr\u00fc\u00dfe'])]));
      assert.deepEqual(response.outputs[0]!.data, new Uint8Array(strings('', [], ['a', '', 'gr\u00fc\u00dfe']).data));
      const refused = await infer(model, makeRequest([strings('IN', [3], ['a', 'b', Uint8Array.of(0xff, 0xfe)])]));
      assert.equal(refused.error?.code, 'INVALID_ARG');
      assert.match(refused.error!.message, /^string 2 of inference input 'IN' is not valid UTF-8/);
      await close();
    });

    test('a scalar output has the configured shape', async () => {
      const keep = block(5, block(1, 'keepdims'), integer(3, 0), integer(20, 2));
      const sum = onnxModel({
        inputs: [{ name: 'IN', type: 1, dims: [4] }],
        outputs: [{ name: 'OUT', type: 1, dims: [] }],
        graph: [node('ReduceSum', ['IN'], ['OUT'], keep)],
      });
      const { engine, log, close } = await start({ 'm/1/model.onnx': sum }, mode);
      const model = engine.model('m', '');
      const data = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer);
      const request = makeRequest([{ name: 'IN', datatype: 'FP32', shape: [4], data }]);
      if (mode === 'auto') await earnMainThread(log, 'm', model, request);
      const { outputs } = await infer(model, request);
      assert.deepEqual(model.outputs[0]?.shape, [1]);
      assert.deepEqual([outputs[0]?.shape, new Float32Array(new Uint8Array(outputs[0]!.data).buffer)[0]], [[1], 10]);
      await close();
    });

    test('zero elements', async () => {
      const { engine, close } = await start({ 'm/1/model.onnx': identity(INT32, ['N', 'M']) }, mode);
      const response = await infer(engine.model('m', ''), makeRequest([int32('IN', [1, 0], [])]));
      assert.equal(response.error, undefined);
      assert.deepEqual(response.outputs[0]!.shape, [1, 0]);
      assert.equal(response.outputs[0]!.data.byteLength, 0);
      await close();
    });

    test('a run that fails answers with the text of the runtime', async () => {
      const reshape = onnxModel({
        inputs: [
          { name: 'IN', type: INT32, dims: ['N'] },
          { name: 'SHAPE', type: 7, dims: [1] },
        ],
        outputs: [{ name: 'OUT', type: INT32, dims: ['M'] }],
        graph: [node('Reshape', ['IN', 'SHAPE'], ['OUT'])],
      });
      const { engine, close } = await start({ 'm/1/model.onnx': reshape }, mode);
      const shape: RequestInput = {
        name: 'SHAPE',
        datatype: 'INT64',
        shape: [1],
        data: new Uint8Array(BigInt64Array.of(7n).buffer),
      };
      const { error } = await infer(engine.model('m', ''), makeRequest([int32('IN', [2], [1, 2]), shape]));
      assert.equal(error?.code, 'INTERNAL');
      assert.match(error!.message, /^onnx runtime error 1: Non-zero status code returned while running Reshape node/);
      await close();
    });

    test('an output with too few rows', async () => {
      const text = `backend: "onnxruntime" max_batch_size: 4
        input { name: "IN" data_type: TYPE_FP32 dims: [2] } output { name: "OUT" data_type: TYPE_FP32 dims: [2] }`;
      const axis = block(5, block(1, 'axis'), integer(3, 0), integer(20, 2));
      const sum = onnxModel({
        inputs: [{ name: 'IN', type: 1, dims: ['N', 2] }],
        outputs: [{ name: 'OUT', type: 1, dims: ['K', 2] }],
        graph: [node('Unique', ['IN'], ['OUT'], axis)],
      });
      const { engine, close } = await start({ 'm/config.pbtxt': text, 'm/1/model.onnx': sum }, mode);
      const { error } = await infer(
        engine.model('m', ''),
        makeRequest([{ ...int32('IN', [2, 2], [1, 2, 1, 2]), datatype: 'FP32' }], { id: 'x' }),
      );
      assert.equal(error?.code, 'UNSUPPORTED');
      assert.equal(
        error?.message,
        "[request id: x] failed to split the output tensor 'OUT' in responses: expected batch size of at least 2 in model output, got 1",
      );
      await close();
    });
  });
}

test('models that do not load say why', async () => {
  const { engine, close } = await start(
    {
      'empty/1/model.onnx': '',
      'text/1/model.onnx': 'this is not a model',
      'gone/config.pbtxt': 'backend: "onnxruntime"',
      'gone/1/': '',
      'gpu/config.pbtxt': 'backend: "onnxruntime" instance_group { kind: KIND_GPU }',
      'gpu/1/model.onnx': SUM,
      'names/config.pbtxt': `backend: "onnxruntime" max_batch_size: 4
        input { name: "A" data_type: TYPE_INT32 dims: [2] } input { name: "X" data_type: TYPE_INT32 dims: [2] }
        output { name: "SUM" data_type: TYPE_INT32 dims: [2] }`,
      'names/1/model.onnx': SUM,
      'number/config.pbtxt':
        'backend: "onnxruntime" parameters { key: "intra_op_thread_count" value { string_value: "many" } }',
      'number/1/model.onnx': SUM,
      'mode/config.pbtxt': 'backend: "onnxruntime" parameters { key: "execution_mode" value { string_value: "7" } }',
      'mode/1/model.onnx': SUM,
    },
    'auto',
  );
  const reason = (name: string) => engine.versionState(name, '1')?.reason ?? '';
  assert.match(reason('empty'), /^Internal: onnx runtime error 1: /);
  assert.match(reason('text'), /^Internal: onnx runtime error 7: Load model from .* failed:Protobuf parsing failed\.$/);
  assert.match(reason('gone'), /^Internal: failed to stat file .*\/gone\/1\/model\.onnx$/);
  assert.match(reason('gpu'), /^Invalid argument: instance group gpu_0 of model gpu has kind KIND_GPU but /);
  assert.equal(reason('names'), "Invalid argument: unexpected inference input 'X', allowed inputs are: A, B");
  assert.equal(reason('number'), "Invalid argument: failed to convert 'many' to integral number");
  assert.equal(
    reason('mode'),
    'Invalid argument: Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got 7 .',
  );
  await close();
});

test('many requests in flight, then an orderly end', async () => {
  const { engine, close } = await start({ 'm/1/model.onnx': SUM }, 'off');
  const model = engine.model('m', '');
  const answers = Array.from({ length: 200 }, (_, i) =>
    infer(model, makeRequest([int32('A', [1, 2], [i, i]), int32('B', [1, 2], [1, 2])])),
  );
  const stopped = close();
  for (const [i, answer] of answers.entries()) assert.deepEqual(int32Values(await answer, 'SUM'), [i + 1, i + 2]);
  await stopped;
});
