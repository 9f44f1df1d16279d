/** ONNX models that hang, exhaust memory, or are not files: only they fail, the server goes on. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { infer, int32, int32Values, makeRequest, startEngine } from '../support/engine/engine-harness.js';
import { runTriton } from '../support/programs/run-triton.js';
import { httpPort, serveProgram } from '../support/programs/serve-program.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { block, externalTensor, initializer, node, onnxModel } from '../support/repositories/onnx-builder.js';
import { httpRequest } from '../support/wire/http-request.js';

const INT64 = 7;
const STRING = 8;
const int64 = (...values: number[]) => new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);

/** The runtime computes a chain of constants for minutes when it opens this; it also has to be asked for the shape of OUT. */
const HANGING = (() => {
  const graph = [initializer('shape', [2], int64(2000, 2000), INT64), node('ConstantOfShape', ['shape'], ['m0'])];
  for (let i = 0; i < 400; i++) graph.push(node('MatMul', [`m${i}`, `m${i}`], [`m${i + 1}`]));
  graph.push(node('ReduceSum', ['m400'], ['sum']), node('Add', ['IN', 'sum'], ['OUT']));
  return onnxModel({ inputs: [{ name: 'IN', dims: ['N'] }], outputs: [{ name: 'OUT' }], graph });
})();

const GOOD = onnxModel({
  inputs: [{ name: 'IN', type: 6, dims: ['N', 2] }],
  outputs: [{ name: 'OUT', type: 6, dims: ['N', 2] }],
});

/** Processes of this one that open models. */
function describers(): number {
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  const commands = children.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  return commands.filter((command) => command.includes('describe-entry')).length;
}

test('completion of a model that the runtime never opens ends after its time, the process with it', async () => {
  const { engine, close } = await startEngine(
    { 'good/1/model.onnx': GOOD, 'hangs/1/model.onnx': HANGING },
    { backendConfig: [{ backend: 'onnxruntime', key: 'completion-timeout-seconds', value: '3' }] },
  );
  const { state, reason } = engine.versionState('hangs', '1') ?? {};
  assert.equal(state, 'UNAVAILABLE');
  assert.match(
    reason ?? '',
    /the runtime did not open '.*hangs\/1\/model\.onnx' within 3 s to report its inputs and outputs\. Write them into config/,
  );
  const answer = await infer(engine.model('good', ''), makeRequest([int32('IN', [1, 2], [1, 2])]));
  assert.deepEqual(int32Values(answer, 'OUT'), [1, 2]);
  for (let i = 0; i < 500 && describers() > 0; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(describers(), 0);
  await close();
});

test('a wrong time limit of completion is refused', async () => {
  const { engine, close } = await startEngine(
    { 'm/1/model.onnx': onnxModel({ inputs: [{ name: 'IN', dims: ['N'] }], outputs: [{ name: 'OUT' }] }) },
    { backendConfig: [{ backend: 'onnxruntime', key: 'completion-timeout-seconds', value: 'soon' }] },
  );
  assert.match(
    engine.versionState('m', '1')?.reason ?? '',
    /completion-timeout-seconds is a number of seconds above 0, up to 1000000: --backend-config=onnxruntime,completion-timeout-seconds=soon/,
  );
  await close();
});

test('a pipe in place of a model or of its data is refused, in the server and by repo validate', async () => {
  const config = `backend: "onnxruntime" input { name: "IN" data_type: TYPE_FP32 dims: [2] }
    output { name: "OUT" data_type: TYPE_FP32 dims: [2] }`;
  const external = onnxModel({
    inputs: [{ name: 'IN', dims: [2] }],
    outputs: [{ name: 'OUT', dims: [2] }],
    graph: [block(5, externalTensor('W', [2], 'weights.bin', { length: 8 })), node('Add', ['IN', 'W'], ['OUT'])],
  });
  const files = {
    'pipe/config.pbtxt': config,
    'pipe/1/.keep': '',
    'data/config.pbtxt': config,
    'data/1/model.onnx': external,
  };
  const repository = makeRepository(files);
  try {
    for (const pipe of ['pipe/1/model.onnx', 'data/1/weights.bin']) {
      assert.equal(spawnSync('mkfifo', [path.join(repository.path, pipe)]).status, 0);
    }
    const { engine, close } = await startEngine({}, { repositories: [repository.path] });
    for (const name of ['pipe', 'data']) {
      assert.match(engine.versionState(name, '1')?.reason ?? '', /named pipe, not a regular file/, name);
    }
    await close();
    const validated = await runTriton(['repo', 'validate', repository.path]);
    assert.equal(validated.status, 1, validated.stdout);
    assert.match(validated.stdout, /named pipe/);
  } finally {
    repository.remove();
  }
});

test('a run that needs more memory than there is fails alone', async () => {
  const huge = onnxModel({
    inputs: [{ name: 'SHAPE', type: INT64, dims: [2] }],
    outputs: [{ name: 'OUT', dims: ['A', 'B'] }],
    graph: [node('ConstantOfShape', ['SHAPE'], ['OUT'])],
  });
  const { engine, close } = await startEngine({ 'm/1/model.onnx': huge });
  const shape = (...dims: number[]) =>
    makeRequest([{ name: 'SHAPE', datatype: 'INT64', shape: [2], data: int64(...dims) }]);
  const { error } = await infer(engine.model('m', ''), shape(2 ** 22, 2 ** 22));
  assert.equal(error?.code, 'INTERNAL');
  assert.match(error?.message ?? '', /^onnx runtime error /);
  const { outputs } = await infer(engine.model('m', ''), shape(2, 3));
  assert.deepEqual(outputs[0]?.shape, [2, 3]);
  await close();
});

test('a thread that dies for want of memory fails its run; the model and the server go on', async () => {
  const strings = onnxModel({
    inputs: [{ name: 'IN', type: STRING, dims: ['N'] }],
    outputs: [{ name: 'OUT', type: STRING, dims: ['N'] }],
  });
  const config = `backend: "onnxruntime" input { name: "IN" data_type: TYPE_STRING dims: [-1] }
    output { name: "OUT" data_type: TYPE_STRING dims: [-1] } instance_group { count: 1 kind: KIND_CPU }`;
  const repository = makeRepository({ 'm/config.pbtxt': config, 'm/1/model.onnx': strings });
  // The limit of the heap is one for every thread; the main thread holds strings as bytes outside it.
  const program = serveProgram(repository.path, [], { nodeArgs: ['--max-old-space-size=64'] });
  try {
    const port = await httpPort(program);
    const ask = (count: number) => {
      const data = Buffer.alloc(count * 14);
      for (let i = 0; i < count; i++) {
        data.writeUInt32LE(10, i * 14);
        data.write(String(1e9 + i), i * 14 + 4);
      }
      const head = Buffer.from(
        JSON.stringify({
          inputs: [{ name: 'IN', datatype: 'BYTES', shape: [count], parameters: { binary_data_size: data.length } }],
          outputs: [{ name: 'OUT', parameters: { binary_data: true } }],
        }),
      );
      const headers = { 'Inference-Header-Content-Length': String(head.length) };
      return httpRequest(port, 'POST', '/v2/models/m/infer', { body: Buffer.concat([head, data]), headers });
    };
    assert.equal((await ask(10)).status, 200);
    const failed = await ask(2_500_000);
    assert.equal(failed.status, 500);
    assert.match(failed.text, /the thread of onnxruntime failed: .*ERR_WORKER_OUT_OF_MEMORY/);
    let answer = await ask(10);
    // In the pause after a thread's death the model is refused, with the time that is left.
    for (let i = 0; i < 100 && answer.status === 503; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      answer = await ask(10);
    }
    assert.equal(answer.status, 200, answer.text);
    assert.match(
      program.output(),
      /model 'm' version 1 moves to threads of its own: a shared thread ended while it ran there/,
    );
  } finally {
    program.kill('SIGTERM');
    const { status } = await program.ended();
    repository.remove();
    assert.equal(status, 0);
  }
});
