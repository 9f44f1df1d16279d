import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  makeRequest,
  settle,
  startEngine,
} from '../../../../test/support/engine/engine-harness.js';

const config = (groups: string, more = 'dynamic_batching {}') => `name: "m" backend: "gated" max_batch_size: 8
  input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] }
  instance_group [ ${groups} ] ${more}`;
const cpu = (count: number) => `{ count: ${count} kind: KIND_CPU }`;

async function start(text: string) {
  const backend = new GatedBackend();
  const started = await startEngine(
    { 'm/config.pbtxt': text, 'm/1/model.txt': '' },
    { backends: [backend], modelControlMode: 'explicit', loadModels: ['m'] },
  );
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  const reload = async (changed: string): Promise<void> => {
    // The time of a file has whole milliseconds in some file systems.
    const before = Date.now();
    while (Date.now() < before + 5) await settle();
    started.write({ 'm/config.pbtxt': changed });
    await started.engine.load('m', {});
    await settle();
  };
  const send = (id: string) => infer(started.engine.model('m', ''), makeRequest([int32('IN', [1, 1], [1])], { id }));
  return { ...started, backend, reload, send };
}

test('more instances: the version that serves gets them, requests in flight go on', async () => {
  const { engine, backend, log, reload, send, close } = await start(config(cpu(1)));
  const answers = [send('a')];
  await backend.begun(1);
  answers.push(send('b'));
  await settle();
  assert.equal(backend.executions.length, 1, 'one instance is busy');
  const model = engine.model('m', '');
  log.length = 0;
  await reload(config(cpu(3)));
  assert.equal(engine.model('m', ''), model, 'the same object serves');
  assert.deepEqual(backend.made, ['m_0_0', 'm_0_1', 'm_0_2']);
  assert.deepEqual(log, [
    'I loading: m:1',
    'I TRITONBACKEND_ModelInstanceInitialize: m_0_1 (CPU device 0)',
    'I TRITONBACKEND_ModelInstanceInitialize: m_0_2 (CPU device 0)',
    "I successfully loaded 'm'",
  ]);
  await backend.begun(2);
  assert.deepEqual(backend.executions[1]!.ids, ['b'], 'a new instance takes what waited');
  assert.equal(model.config.instance_group[0]!.count, 3);
  assert.equal(engine.threads.instances, 3);
  for (const execution of backend.executions) execution.finish();
  await Promise.all(answers);
  await settle();
  assert.equal(engine.statistics('m', '')[0]!.inference_count, 2n, 'the statistics go on');
  await close();
});

test('fewer instances: the last ones stay, a busy one ends after its batch', async () => {
  const { engine, backend, reload, send, close } = await start(config(cpu(3)));
  const answers = ['a', 'b', 'c'].map(send);
  await settle();
  backend.open = true;
  // The batcher gave all three to the first instance.
  assert.deepEqual(
    backend.executions.map(({ instance, ids }) => [instance, ids]),
    [['m_0_0', ['a', 'b', 'c']]],
  );
  let reloaded = false;
  const reloading = reload(config(cpu(1))).then(() => {
    reloaded = true;
  });
  while (backend.closed.length === 0) await settle();
  assert.deepEqual(backend.closed, ['m_0_1'], 'the busy one is still needed');
  assert.equal(reloaded, false, 'the load ends after the instances that it removes');
  backend.executions[0]!.finish();
  await Promise.all(answers);
  await reloading;
  assert.deepEqual(backend.closed, ['m_0_1', 'm_0_0']);
  await Promise.all(['d', 'e'].map(send));
  assert.equal(backend.executions.at(-1)!.instance, 'm_0_2');
  assert.equal(engine.threads.instances, 1);
  await close();
  assert.deepEqual(backend.closed, ['m_0_1', 'm_0_0', 'm_0_2']);
});

test('instances are matched by everything but name and count', async () => {
  const { backend, reload, close } = await start(config(cpu(1)));
  await reload(config(`{ name: "other" ${cpu(1).slice(1)}, { count: 1 kind: KIND_CPU rate_limiter { priority: 2 } }`));
  assert.deepEqual(backend.made, ['m_0_0', 'm_1_0']);
  assert.deepEqual(backend.closed, []);
  await reload(config('{ count: 1 kind: KIND_CPU rate_limiter { priority: 2 } }'));
  assert.deepEqual(backend.closed, ['m_0_0']);
  await close();
});

test('a change of the kind makes another instance', async () => {
  const { backend, log, reload, close } = await start(config(cpu(1)));
  await reload(config('{ kind: KIND_MODEL }'));
  assert.deepEqual(backend.made, ['m_0_0', 'm_0_0']);
  assert.deepEqual(backend.closed, ['m_0_0']);
  assert.ok(log.includes('I TRITONBACKEND_ModelInstanceInitialize: m_0_0 (MODEL device 0)'));
  await close();
});

test('any other change loads the version again', async () => {
  const { engine, backend, log, reload, close } = await start(config(cpu(1)));
  const model = engine.model('m', '');
  await reload(config(cpu(2), 'dynamic_batching { preferred_batch_size: [4] }'));
  assert.notEqual(engine.model('m', ''), model);
  assert.deepEqual(backend.made, ['m_0_0', 'm_0_0', 'm_0_1']);
  assert.ok(log.includes("I successfully unloaded 'm' version 1"));
  await close();
});

test('an instance that cannot be made leaves everything as it was', async () => {
  const { engine, backend, reload, send, close } = await start(config(cpu(1)));
  backend.broken = new Error('no room');
  await assert.rejects(reload(config(cpu(2))), {
    code: 'INVALID_ARG',
    message: "load failed for model 'm': version 1 is at READY state: Internal: no room;\n",
  });
  assert.deepEqual(engine.versionState('m', '1')!.reason, 'Internal: no room');
  await assert.rejects(reload(config('{ count: 1 kind: KIND_GPU }')), {
    message:
      "load failed for model 'm': version 1 is at READY state: Invalid argument: instance group m_0 of model m has kind " +
      'KIND_GPU but no GPUs are available;\n',
  });
  backend.open = true;
  await send('a');
  assert.equal(engine.model('m', '').config.instance_group[0]!.count, 1);
  backend.broken = undefined;
  await reload(config(cpu(2)));
  assert.equal(engine.versionState('m', '1')!.reason, '');
  assert.deepEqual(backend.made, ['m_0_0', 'm_0_1']);
  await close();
});

test('sequences keep their instance until they end; those that wait get the new one', async () => {
  const sequences = 'sequence_batching { max_sequence_idle_microseconds: 60000000 }';
  const text = (count: number) => config(cpu(count), sequences).replace('max_batch_size: 8', 'max_batch_size: 1');
  const { engine, backend, reload, close } = await start(text(1));
  backend.open = true;
  const send = (id: bigint, flags: string) =>
    infer(
      engine.model('m', ''),
      makeRequest([int32('IN', [1, 1], [1])], {
        id: `${id}${flags}`,
        correlationId: id,
        sequenceStart: flags === 'S',
        sequenceEnd: flags === 'E',
      }),
    );
  const ran = () => backend.executions.map(({ instance, ids }) => `${ids[0]} ${instance}`);
  await send(1n, 'S');
  const waiting = send(2n, 'S');
  await settle();
  assert.deepEqual(ran(), ['1S m_0_0'], 'the only slot is taken');
  await reload(text(2));
  await waiting;
  assert.deepEqual(ran(), ['1S m_0_0', '2S m_0_1']);
  await reload(text(1));
  assert.deepEqual(backend.closed, [], 'the first instance still has a sequence');
  await send(1n, '');
  await send(1n, 'E');
  await send(2n, 'E');
  await send(3n, 'S');
  await settle();
  assert.deepEqual(ran().slice(2), ['1 m_0_0', '1E m_0_0', '2E m_0_1', '3S m_0_1']);
  assert.deepEqual(backend.closed, ['m_0_0']);
  await send(3n, 'E');
  await close();
});
