import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  int32Values,
  makeRequest,
  startEngine,
} from '../../../test/support/engine-harness.js';

/** A model of the test's own backend: OUT = IN. */
function member(name: string, more = 'max_batch_size: 8', dims = '[1]'): string {
  return `name: "${name}" backend: "gated" ${more}
    input { name: "IN" data_type: TYPE_INT32 dims: ${dims} } output { name: "OUT" data_type: TYPE_INT32 dims: ${dims} }
    instance_group { count: 1 kind: KIND_CPU }`;
}

function step(model: string, from: string, to: string): string {
  return `step { model_name: "${model}" model_version: -1
    input_map { key: "IN" value: "${from}" } output_map { key: "OUT" value: "${to}" } }`;
}

function ensemble(name: string, steps: string, more = 'max_batch_size: 8', dims = '[1]', outputs = ['RESULT']): string {
  return `name: "${name}" platform: "ensemble" ${more} input { name: "DATA" data_type: TYPE_INT32 dims: ${dims} }
    ${outputs.map((output) => `output { name: "${output}" data_type: TYPE_INT32 dims: ${dims} }`).join(' ')}
    ensemble_scheduling { ${steps} }`;
}

async function start(configs: Readonly<Record<string, string>>) {
  const backend = new GatedBackend();
  backend.open = true;
  const files = Object.entries(configs).flatMap(([name, text]) => [
    [`${name}/config.pbtxt`, text],
    [`${name}/1/`, ''],
  ]);
  return { ...(await startEngine(Object.fromEntries(files), { backends: [backend] })), backend };
}

const CHAIN = {
  first: member('first'),
  second: member('second'),
  chain: ensemble('chain', `${step('first', 'DATA', 'between')} ${step('second', 'between', 'RESULT')}`),
};

suite('an ensemble', () => {
  test('hands tensors from step to step without copying them', async () => {
    const { engine, backend, close } = await start(CHAIN);
    assert.equal(engine.startError, undefined);
    const input = int32('DATA', [2, 1], [3, 4]);
    const answer = await infer(engine.model('chain', ''), makeRequest([input], { id: 'x' }));
    assert.equal(answer.error, undefined);
    assert.deepEqual(int32Values(answer, 'RESULT'), [3, 4]);
    assert.deepEqual(answer.outputs[0]!.shape, [2, 1]);
    assert.equal(answer.outputs[0]!.data, input.data);
    assert.equal(answer.modelName, 'chain');
    assert.deepEqual(
      backend.executions.map(({ instance, ids }) => [instance, ids]),
      [
        ['first_0_0', ['x']],
        ['second_0_0', ['x']],
      ],
    );
    await close();
  });
});
