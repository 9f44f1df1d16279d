/** Where models run: nobody waits for another's long run, the main thread for none at all. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { earnMainThread } from '../../../../test/support/engine/earn-main-thread.js';
import { infer, int32, int32Values, makeRequest, startEngine } from '../../../../test/support/engine/engine-harness.js';
import {
  block,
  initializer,
  integer,
  node,
  onnxModel,
  value,
} from '../../../../test/support/repositories/onnx-builder.js';
import type { RequestInput } from '../../../contract/request.js';
import type { EngineOptions } from '../../../engine/options/engine-options.js';
import { pool } from './thread-pool.js';

const INT64 = 7;
const BOOL = 9;
const config = (more = '') => `backend: "onnxruntime" ${more}
  input { name: "IN" data_type: TYPE_INT32 dims: [-1] } output { name: "OUT" data_type: TYPE_INT32 dims: [-1] }
  instance_group { count: 1 kind: KIND_CPU }`;

/** OUT = IN + IN, of any number of elements. */
const DOUBLE = onnxModel({
  inputs: [{ name: 'IN', type: 6, dims: ['N'] }],
  outputs: [{ name: 'OUT', type: 6, dims: ['N'] }],
  graph: [node('Add', ['IN', 'IN'], ['OUT'])],
});

/** OUT = N, after N rounds of a loop: the time of a run depends on a value. */
const LOOP = (() => {
  const body = Buffer.concat([
    node('Identity', ['condition'], ['condition_out']),
    node('Add', ['sum', 'one'], ['sum_out']),
    block(2, 'body'),
    initializer('one', [1], new Uint8Array(BigInt64Array.of(1n).buffer), INT64),
    ...[
      { name: 'i', type: INT64, dims: [] },
      { name: 'condition', type: BOOL, dims: [] },
      { name: 'sum', type: INT64, dims: [1] },
    ].map((input) => block(11, value(input))),
    ...[
      { name: 'condition_out', type: BOOL, dims: [] },
      { name: 'sum_out', type: INT64, dims: [1] },
    ].map((output) => block(12, value(output))),
  ]);
  const attribute = block(5, block(1, 'body'), integer(20, 5), block(6, body));
  return onnxModel({
    inputs: [{ name: 'N', type: INT64, dims: [1] }],
    outputs: [{ name: 'OUT', type: INT64, dims: [1] }],
    graph: [
      initializer('go_on', [], Uint8Array.of(1), BOOL),
      initializer('zero', [1], new Uint8Array(8), INT64),
      initializer('none', [0], new Uint8Array(0), INT64),
      node('Squeeze', ['N'], ['rounds']),
      node('Loop', ['rounds', 'go_on', 'zero'], ['OUT'], attribute),
    ],
  });
})();

const LOOP_CONFIG = `backend: "onnxruntime" input { name: "N" data_type: TYPE_INT64 dims: [1] }
  output { name: "OUT" data_type: TYPE_INT64 dims: [1] } instance_group { count: 1 kind: KIND_CPU }`;

const loops = (count: bigint): RequestInput => ({
  name: 'N',
  datatype: 'INT64',
  shape: [1],
  data: new Uint8Array(BigInt64Array.of(count).buffer),
});

/** Enough rounds for a second or more on any machine. */
const LONG = 1_000_000n;

/** An engine that ends with the test, whatever becomes of it. */
async function start(t: TestContext, files: Record<string, string | Uint8Array>, options: Partial<EngineOptions> = {}) {
  const started = await startEngine(files, options);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= started.close());
  t.after(close);
  return { ...started, close };
}

test('a model earns the main thread by quick runs; inputs beyond its bound go to a thread', async (t) => {
  const { engine, log } = await start(t, { 'm/config.pbtxt': config(), 'm/1/model.onnx': DOUBLE });
  assert.ok(!log.some((line) => line.includes('main thread')), 'nothing is tried at load');
  const model = engine.model('m', '');
  await earnMainThread(log, 'm', model, makeRequest([int32('IN', [3], [1, 2, 3])]));
  const small = infer(model, makeRequest([int32('IN', [2], [7, 8])]));
  assert.deepEqual(int32Values(await small, 'OUT'), [14, 16]);
  const count = 100_000;
  const large = await infer(model, makeRequest([int32('IN', [count], new Array(count).fill(21))]));
  assert.ok(int32Values(large, 'OUT').every((number) => number === 42));
  const moves = engine.customMetrics().find(({ name }) => name === 'triton_onnxruntime_moves');
  const toMain = moves?.series.find(({ labels }) => labels['to'] === 'main');
  assert.deepEqual(
    [toMain?.labels, toMain !== undefined && toMain.value >= 1],
    [{ model: 'm', version: '1', to: 'main' }, true],
  );
});

test('inline-execution=off keeps every model in threads', async (t) => {
  const backendConfig = [{ backend: 'onnxruntime', key: 'inline-execution', value: 'off' }];
  const { engine, log } = await start(t, { 'm/config.pbtxt': config(), 'm/1/model.onnx': DOUBLE }, { backendConfig });
  for (let i = 0; i < 200; i++) await infer(engine.model('m', ''), makeRequest([int32('IN', [1], [i])]));
  assert.ok(!log.some((line) => line.includes('main thread')), log.join('\n'));
});

test('a loop whose length is an input never runs on the main thread, however quick its first runs are', async (t) => {
  const { engine, log } = await start(t, { 'loop/config.pbtxt': LOOP_CONFIG, 'loop/1/model.onnx': LOOP });
  const model = engine.model('loop', '');
  for (let i = 0; i < 200; i++) await infer(model, makeRequest([loops(1n)]));
  assert.ok(!log.some((line) => line.includes('main thread')), log.join('\n'));
  let ended = false;
  const long = infer(model, makeRequest([loops(LONG)])).then((response) => {
    ended = true;
    return response;
  });
  let turns = 0;
  let longest = 0;
  for (let before = performance.now(); !ended; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    longest = Math.max(longest, performance.now() - before);
    before = performance.now();
  }
  const { outputs, error } = await long;
  assert.equal(error, undefined);
  assert.equal(new BigInt64Array(new Uint8Array(outputs[0]!.data).buffer)[0], LONG);
  assert.ok(turns > 10 && longest < 1000, `${turns} turns of the event loop meanwhile, the longest ${longest} ms`);
});

describe('shared threads', () => {
  test('long runs take their threads with them: other models go on, and the moves are logged', async (t) => {
    const files: Record<string, string | Uint8Array> = {
      'small/config.pbtxt': config(),
      'small/1/model.onnx': DOUBLE,
    };
    for (const name of ['a', 'b']) {
      files[`${name}/config.pbtxt`] = LOOP_CONFIG;
      files[`${name}/1/model.onnx`] = LOOP;
    }
    const { engine, log } = await start(t, files, { threadBudget: 2 });
    let ended = 0;
    const long = ['a', 'b'].map((name) =>
      infer(engine.model(name, ''), makeRequest([loops(LONG * 2n)])).finally(() => ended++),
    );
    const answer = await infer(engine.model('small', ''), makeRequest([int32('IN', [1], [4])]));
    assert.deepEqual(int32Values(answer, 'OUT'), [8]);
    assert.equal(ended, 0, 'the small model waited for a long one');
    assert.ok(
      log.some((line) => /model '[ab]' version 1 moves to threads of its own: a run has kept a shared/.test(line)),
      log.join('\n'),
    );
    for (const { error } of await Promise.all(long)) assert.equal(error, undefined);
    // Their next runs happen in threads of their own.
    const again = await infer(engine.model('a', ''), makeRequest([loops(3n)]));
    assert.equal(new BigInt64Array(new Uint8Array(again.outputs[0]!.data).buffer)[0], 3n);
  });

  test('hundreds of models share a few threads and little memory, and end with the engine', async (t) => {
    const files: Record<string, string | Uint8Array> = {};
    for (let i = 0; i < 200; i++) {
      files[`m${i}/config.pbtxt`] = config();
      files[`m${i}/1/model.onnx`] = DOUBLE;
    }
    const before = threadCount();
    const { engine, close } = await start(t, files, { threadBudget: 4 });
    assert.ok(pool.threads <= 4, `${pool.threads} threads in the pool`);
    assert.ok(threadCount() - before <= 8, `${threadCount() - before} more threads`);
    const answers = Array.from({ length: 200 }, (_, i) =>
      infer(engine.model(`m${i}`, ''), makeRequest([int32('IN', [1], [i])])),
    );
    for (const [i, answer] of answers.entries()) assert.deepEqual(int32Values(await answer, 'OUT'), [2 * i]);
    await close();
    assert.equal(pool.threads, 0);
  });
});

function threadCount(): number {
  return Number(/^Threads:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0);
}
