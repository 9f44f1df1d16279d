import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  int32Values,
  makeRequest,
  settle,
  startEngine,
} from '../../../test/support/engine/engine-harness.js';
import type { ReadyModel } from '../../contract/engine.js';
import type { InferenceRequest, InferenceResponse } from '../../contract/request.js';

function config(more: string, dims = '[1]'): string {
  return `name: "m" backend: "gated" max_batch_size: 8
    input { name: "IN" data_type: TYPE_INT32 dims: ${dims} } output { name: "OUT" data_type: TYPE_INT32 dims: ${dims} }
    instance_group { count: 1 kind: KIND_CPU } ${more}`;
}

async function start(text: string, env?: string, concurrency = 1) {
  const backend = new GatedBackend();
  backend.concurrency = concurrency;
  if (env !== undefined) process.env['TRITONSERVER_DELAY_SCHEDULER'] = env;
  const started = await startEngine({ 'm/config.pbtxt': text, 'm/1/': '' }, { backends: [backend] });
  delete process.env['TRITONSERVER_DELAY_SCHEDULER'];
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  return { ...started, backend, model: started.engine.model('m', '') };
}

function rows(id: string, count = 1, more: Partial<InferenceRequest> = {}): InferenceRequest {
  return makeRequest([int32('IN', [count, 1], new Array(count).fill(count))], { id, ...more });
}

/** Submits requests; each waits for a turn of the event loop, as if it came over the network. */
async function submitAll(
  model: ReadyModel,
  requests: readonly InferenceRequest[],
): Promise<Promise<InferenceResponse>[]> {
  const answers: Promise<InferenceResponse>[] = [];
  for (const request of requests) {
    answers.push(infer(model, request));
    await settle();
  }
  return answers;
}

/** Ends executions one after the other until all responses are there; returns the ids of each batch. */
async function drain(backend: GatedBackend, answers: Promise<InferenceResponse>[]): Promise<string[][]> {
  let ended = 0;
  let done = false;
  const all = Promise.all(answers).then(() => {
    done = true;
  });
  while (!done) {
    for (; ended < backend.executions.length; ended++) backend.executions[ended]!.finish();
    await settle();
  }
  await all;
  return backend.executions.map((execution) => [...execution.ids]);
}

/** Requests that queue up while the first one runs, and the batches in which they are executed. */
async function batchesBehindBusy(text: string, requests: readonly InferenceRequest[]): Promise<string[][]> {
  const { model, backend, close } = await start(text);
  const answers = await submitAll(model, [rows('busy')]);
  answers.push(...(await submitAll(model, requests)));
  const batches = await drain(backend, answers);
  await close();
  return batches.slice(1);
}

const singles = (...ids: string[]) => ids.map((id) => rows(id));

describe('batches behind a busy instance', () => {
  test('without batching every request is executed by itself, in order', async () => {
    assert.deepEqual(await batchesBehindBusy(config(''), singles('a', 'b', 'c', 'd')), [['a'], ['b'], ['c'], ['d']]);
  });

  test('all that wait go as one batch', async () => {
    assert.deepEqual(await batchesBehindBusy(config('dynamic_batching {}'), singles('a', 'b', 'c', 'd', 'e')), [
      ['a', 'b', 'c', 'd', 'e'],
    ]);
  });

  test('contiguous requests up to the largest batch', async () => {
    const requests = [rows('a', 3), rows('b', 4), rows('c', 2), rows('d', 8), rows('e')];
    assert.deepEqual(await batchesBehindBusy(config('dynamic_batching {}'), requests), [
      ['a', 'b'],
      ['c'],
      ['d'],
      ['e'],
    ]);
  });

  test('preferred sizes close a batch', async () => {
    const text = config('dynamic_batching { preferred_batch_size: [2, 4] }');
    assert.deepEqual(await batchesBehindBusy(text, singles('a', 'b', 'c', 'd', 'e', 'f', 'g')), [
      ['a', 'b'],
      ['c', 'd', 'e', 'f'],
      ['g'],
    ]);
  });

  test('another shape closes a batch, requests behind it are not searched', async () => {
    const variable = (id: string, dim: number) => makeRequest([int32('IN', [1, dim], new Array(dim).fill(0))], { id });
    const requests = [variable('a', 1), variable('b', 1), variable('c', 2), variable('d', 1)];
    assert.deepEqual(await batchesBehindBusy(config('dynamic_batching {}', '[-1]'), requests), [
      ['a', 'b'],
      ['c'],
      ['d'],
    ]);
  });

  test('higher priorities first, unknown ones count as the default', async () => {
    const text = config('dynamic_batching { preferred_batch_size: [1] priority_levels: 3 default_priority_level: 2 }');
    const requests = [
      rows('none'),
      rows('low', 1, { priority: 3n }),
      rows('high', 1, { priority: 1n }),
      rows('nine', 1, { priority: 9n }),
    ];
    assert.deepEqual(await batchesBehindBusy(text, requests), [['high'], ['none'], ['nine'], ['low']]);
  });
});

describe('delays', () => {
  const text = (delayMs: number) =>
    config(`dynamic_batching { preferred_batch_size: [2, 4] max_queue_delay_microseconds: ${delayMs * 1000} }`);

  test('a preferred size goes at once, the rest waits out the delay', async () => {
    const { model, backend, close } = await start(text(60));
    const sent = process.hrtime();
    const answers = await submitAll(model, singles('a', 'b', 'c'));
    await backend.begun(1);
    assert.deepEqual(backend.executions[0]!.ids, ['a', 'b']);
    backend.executions[0]!.finish();
    await backend.begun(2);
    const [seconds, nanos] = process.hrtime(sent);
    assert.ok(seconds > 0 || nanos >= 59e6, 'the single request waited for the delay');
    assert.deepEqual(await drain(backend, answers), [['a', 'b'], ['c']]);
    await close();
  });

  test('a batch beyond the largest preferred size does not wait', async () => {
    const { model, backend, close } = await start(text(600_000));
    const answers = await submitAll(model, [rows('a', 5)]);
    assert.deepEqual(await drain(backend, answers), [['a']]);
    await close();
  });
});

describe('queue policies', () => {
  const policy = (text: string) =>
    config(`dynamic_batching { preferred_batch_size: [1] default_queue_policy { ${text} } }`);

  test('a full queue refuses', async () => {
    const { model, backend, engine, close } = await start(policy('max_queue_size: 1'));
    const answers = await submitAll(model, singles('busy', 'a'));
    await assert.rejects(infer(model, rows('b')), {
      code: 'UNAVAILABLE',
      message: '[request id: b] Exceeds maximum queue size',
    });
    assert.deepEqual(await drain(backend, answers), [['busy'], ['a']]);
    assert.equal(engine.statistics('m', '')[0]!.inference_stats.fail.count, 0n);
    await close();
  });

  test('an expired request is rejected and counted', async () => {
    const { model, backend, engine, close } = await start(policy('default_timeout_microseconds: 5000'));
    const answers = await submitAll(model, singles('busy', 'late'));
    const late = await answers[1]!;
    assert.equal(late.error?.code, 'UNAVAILABLE');
    assert.equal(late.error?.message, 'Request timeout expired');
    assert.deepEqual(await drain(backend, answers), [['busy']]);
    assert.equal(engine.metrics()[0]!.failures.REJECTED, 1);
    await close();
  });

  test('an expired request may be delayed instead', async () => {
    const { model, backend, close } = await start(
      policy('timeout_action: DELAY default_timeout_microseconds: 5000 allow_timeout_override: true'),
    );
    const answers = await submitAll(model, [rows('busy'), rows('late', 1, { timeoutMicroseconds: 1000n })]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    answers.push(...(await submitAll(model, [rows('fresh')])));
    assert.deepEqual(await drain(backend, answers), [['busy'], ['fresh'], ['late']]);
    await close();
  });

  test('a cancelled request in the queue is dropped with an empty text', async () => {
    const { model, backend, engine, close } = await start(policy('max_queue_size: 9'));
    const answers = await submitAll(model, singles('busy'));
    let cancelled: InferenceResponse | undefined;
    const handle = model.submit(rows('gone'), (response) => {
      cancelled = response;
    });
    handle.cancel();
    answers.push(...(await submitAll(model, singles('next'))));
    assert.deepEqual(await drain(backend, answers), [['busy'], ['next']]);
    assert.equal(cancelled?.error?.code, 'CANCELLED');
    assert.equal(cancelled?.error?.message, '');
    assert.equal(engine.metrics()[0]!.failures.CANCELED, 1);
    await close();
  });
});

test('preserve_ordering holds responses back until the earlier ones are out', async () => {
  const { model, backend, close } = await start(
    config('dynamic_batching { preserve_ordering: true preferred_batch_size: [1] }').replace('count: 1', 'count: 2'),
  );
  const order: string[] = [];
  const answers = await submitAll(model, singles('slow', 'fast'));
  for (const answer of answers) void answer.then(({ id }) => order.push(id));
  await backend.begun(2);
  backend.executions[1]!.finish();
  await settle();
  assert.deepEqual(order, []);
  backend.executions[0]!.finish();
  await Promise.all(answers);
  assert.deepEqual(order, ['slow', 'fast']);
  await close();
});

test('TRITONSERVER_DELAY_SCHEDULER holds the batcher until that number of requests waits', async () => {
  const { model, backend, close } = await start(config('dynamic_batching {}'), '3');
  const answers = await submitAll(model, singles('a', 'b'));
  assert.equal(backend.executions.length, 0);
  answers.push(...(await submitAll(model, singles('c'))));
  assert.deepEqual(await drain(backend, answers), [['a', 'b', 'c']]);
  await close();
});

test('instances take turns and work side by side', async () => {
  const { model, backend, close } = await start(config('').replace('count: 1', 'count: 2'));
  const answers = await submitAll(model, singles('a', 'b', 'c'));
  await backend.begun(2);
  assert.deepEqual(
    backend.executions.map(({ instance }) => instance),
    ['m_0_0', 'm_0_1'],
  );
  await drain(backend, answers);
  await close();
});

test('an instance that takes work ahead gets it only when no other is free', async () => {
  const { model, backend, close } = await start(config('').replace('count: 1', 'count: 2'), undefined, 2);
  const answers = await submitAll(model, singles('a', 'b', 'c', 'd', 'e'));
  await backend.begun(4);
  assert.deepEqual(
    backend.executions.map(({ instance }) => instance),
    ['m_0_0', 'm_0_1', 'm_0_0', 'm_0_1'],
  );
  await drain(backend, answers);
  await close();
});

test('an error of the backend answers the whole batch and counts as its failure', async () => {
  const { model, backend, engine, close } = await start(config('dynamic_batching {}'), '2');
  const answers = await submitAll(model, singles('a', 'b'));
  await backend.begun(1);
  backend.executions[0]!.fail(new Error('out of luck'));
  for (const answer of answers) {
    const { error, outputs } = await answer;
    assert.equal(error?.code, 'INTERNAL');
    assert.equal(error?.message, 'out of luck');
    assert.deepEqual(outputs, []);
  }
  await settle();
  assert.equal(engine.metrics()[0]!.failures.BACKEND, 2);
  assert.equal(engine.statistics('m', '')[0]!.execution_count, 0n);
  await close();
});

test('statistics count requests, rows, executions and their times', async () => {
  const { model, backend, engine, close } = await start(config('dynamic_batching {}'), '2');
  const answers = await submitAll(model, [rows('a', 1), rows('b', 3)]);
  assert.deepEqual(await drain(backend, answers), [['a', 'b']]);
  answers.push(infer(model, rows('c', 2)));
  await drain(backend, answers);
  await settle();
  const [statistics] = engine.statistics('m', '');
  assert.equal(statistics!.inference_count, 6n);
  assert.equal(statistics!.execution_count, 2n);
  const { success, queue, compute_infer: computed, fail } = statistics!.inference_stats;
  assert.equal(success.count, 3n);
  assert.equal(queue.count, 3n);
  assert.equal(computed.count, 3n);
  assert.equal(fail.count, 0n);
  assert.ok(success.ns >= queue.ns + computed.ns);
  assert.deepEqual(
    statistics!.batch_stats.map(({ batch_size: size, compute_infer: { count } }) => [size, count]),
    [
      [2n, 1n],
      [4n, 1n],
    ],
  );
  const [metrics] = engine.metrics();
  assert.equal(metrics!.loaded!.success, 3);
  assert.equal(metrics!.loaded!.inferenceCount, 6);
  assert.equal(metrics!.loaded!.pending, 0);
  assert.deepEqual(int32Values(await answers[1]!, 'OUT'), [3, 3, 3]);
  await close();
});

test('requests on their way are answered while the engine stops, later ones are refused', async () => {
  const { model, backend, engine, close } = await start(config(''));
  const answers = await submitAll(model, singles('a', 'b'));
  const stopped = close();
  assert.throws(() => engine.isReady(), { code: 'UNAVAILABLE', message: 'Server exiting' });
  assert.throws(() => engine.statistics('m', ''), { code: 'UNAVAILABLE', message: 'Server not ready' });
  await assert.rejects(infer(engine.model('m', ''), rows('late')), {
    message: '[request id: late] Server is stopping, scheduler for model has stopped accepting new inference requests',
  });
  assert.deepEqual(await drain(backend, answers), [['a'], ['b']]);
  await stopped;
});

test('an execution that does not end exhausts the grace time', async () => {
  const { model, backend, engine, close } = await start(config(''));
  const answers = await submitAll(model, singles('a'));
  await assert.rejects(engine.stop(50), {
    code: 'INTERNAL',
    message: 'Exit timeout expired. Exiting immediately.',
  });
  await drain(backend, answers);
  await close();
});
