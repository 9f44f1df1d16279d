import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { int32, makeRequest, settle, startEngine } from '../../../test/support/engine/engine-harness.js';
import type { InferenceRequest, InferenceResponse, RequestInput } from '../../contract/request.js';

const CONFIG = `backend: "repeat" max_batch_size: 0 model_transaction_policy { decoupled: true }
  input { name: "IN" data_type: TYPE_INT32 dims: -1 } input { name: "DELAY" data_type: TYPE_UINT32 dims: -1 }
  input { name: "WAIT" data_type: TYPE_UINT32 dims: 1 }
  output { name: "OUT" data_type: TYPE_INT32 dims: 1 } output { name: "IDX" data_type: TYPE_UINT32 dims: 1 }
  instance_group { count: 1 kind: KIND_CPU }`;

const start = (config: string) => startEngine({ 'r/config.pbtxt': config, 'r/1/': '' });

function uint32(name: string, values: number[]): RequestInput {
  return { name, datatype: 'UINT32', shape: [values.length], data: new Uint8Array(Uint32Array.from(values).buffer) };
}

function request(values: number[], delays: number[], wait = 0): InferenceRequest {
  return makeRequest([int32('IN', [values.length], values), uint32('DELAY', delays), uint32('WAIT', [wait])]);
}

type Call = readonly [InferenceResponse | undefined, boolean];

async function ask(engine: Awaited<ReturnType<typeof start>>['engine'], one: InferenceRequest): Promise<Call[]> {
  return await new Promise((resolve) => {
    const calls: Call[] = [];
    engine.model('r', '').submit(one, (response, final) => {
      calls.push([response, final]);
      if (final) resolve(calls);
    });
  });
}

const number = (response: InferenceResponse | undefined, name: string) =>
  new Int32Array(new Uint8Array(response!.outputs.find((output) => output.name === name)!.data).buffer)[0];

describe('the repeat backend', () => {
  test('answers each element by itself, then ends', async () => {
    const { engine, close } = await start(CONFIG);
    const calls = await ask(engine, request([7, -8, 9], [0, 2, 0]));
    assert.deepEqual(
      calls.map(([response, final]) =>
        response === undefined ? final : [number(response, 'OUT'), number(response, 'IDX'), final],
      ),
      [[7, 0, false], [-8, 1, false], [9, 2, false], true],
    );
    await settle();
    const [stats] = engine.statistics('r', '');
    assert.deepEqual([stats!.inference_stats.success.count, stats!.execution_count], [1n, 1n]);
    assert.equal(stats!.inference_stats.compute_input.ns, 0n);
    await close();
  });

  test('nothing to repeat is just the end', async () => {
    const { engine, close } = await start(CONFIG);
    assert.deepEqual(await ask(engine, request([], [])), [[undefined, true]]);
    await close();
  });

  test('the next request may begin before the responses are all out', async () => {
    const { engine, close } = await start(CONFIG);
    const order: string[] = [];
    const slow = ask(engine, request([1], [50])).then(() => order.push('slow'));
    const quick = ask(engine, request([2], [0])).then(() => order.push('quick'));
    await Promise.all([slow, quick]);
    assert.deepEqual(order, ['quick', 'slow']);
    await close();
  });

  test('delays of another number than values are an error', async () => {
    const { engine, close } = await start(CONFIG);
    const [[response, final]] = (await ask(engine, request([1, 2], [0]))) as [Call];
    assert.equal(final, true);
    assert.equal(response!.error?.message, 'expected IN and DELAY shape to match, got [2] and [1]');
    await close();
  });

  const WRONG: readonly [string, string, string][] = [
    ['max_batch_size: 0', 'max_batch_size: 1', 'repeat backend only supports models with max_batch_size == 0'],
    ['name: "DELAY"', 'name: "LATE"', 'expected second input tensor name to be DELAY, got LATE'],
    ['name: "IDX"', 'name: "I"', 'expected second output tensor name to be IDX, got I'],
    [
      'input { name: "WAIT" data_type: TYPE_UINT32 dims: 1 }',
      'input { name: "WAIT" data_type: TYPE_UINT32 dims: 2 }',
      'expected WAIT shape to be [1], got [2]',
    ],
    [
      'name: "IN" data_type: TYPE_INT32',
      'name: "IN" data_type: TYPE_INT64',
      'expected IN datatype to be INT32, got TYPE_INT64',
    ],
    ['input { name: "WAIT" data_type: TYPE_UINT32 dims: 1 }', '', 'expected 3 inputs, got 2'],
  ];
  for (const [good, bad, text] of WRONG) {
    test(`refuses a configuration: ${text}`, async () => {
      const { engine, close } = await start(CONFIG.replace(good, bad));
      assert.equal(engine.versionState('r', '1')!.reason, `Invalid argument: ${text}`);
      await close();
    });
  }
});
