import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { infer, int32, settle } from '../../../test/support/engine/engine-harness.js';
import { row, startSequenceModel, step } from '../../../test/support/engine/sequence-model.js';

/** Sets environment variables for as long as a model is loaded. */
async function withEnvironment<T>(variables: Readonly<Record<string, string>>, load: () => Promise<T>): Promise<T> {
  Object.assign(process.env, variables);
  try {
    return await load();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

describe('slots', () => {
  test('the lowest are taken first, spread over the instances', async () => {
    const { model, backend, close } = await startSequenceModel('', { instances: 2, batch: 2 });
    backend.open = true;
    for (const id of [1n, 2n, 3n, 4n]) await infer(model, step(id, 1, 'S'));
    assert.deepEqual(
      backend.executions.map(({ instance, batch }) => [instance, batch.length]),
      [
        ['m_0_0', 1],
        ['m_0_1', 1],
        ['m_0_0', 2],
        ['m_0_1', 2],
      ],
    );
    // A slot that became free is taken before higher ones; the sequence stays where it is.
    await infer(model, step(2n, 2, 'E'));
    await infer(model, step(5n, 1, 'S'));
    await infer(model, step(4n, 2));
    assert.deepEqual(
      backend.executions.slice(4).map(({ instance, batch }) => [instance, batch.length]),
      [
        ['m_0_1', 1],
        ['m_0_1', 1],
        ['m_0_1', 2],
      ],
    );
    await close();
  });

  test('of other shapes in a row run by themselves, in the same rows', async () => {
    const { model, backend, close } = await startSequenceModel('', { dims: '-1' });
    const wide = (id: bigint, flags: string) => step(id, 0, flags, { inputs: [int32('IN', [1, 2], [8, 9])] });
    const answers = [infer(model, step(1n, 10, 'S')), infer(model, wide(2n, 'S')), infer(model, step(3n, 30, 'S'))];
    await backend.begun(1);
    assert.deepEqual(backend.executions[0]!.ids, ['1.10', '', '3.30']);
    backend.executions[0]!.finish();
    await backend.begun(2);
    assert.deepEqual(backend.executions[1]!.ids, ['', '2.0']);
    assert.deepEqual(backend.executions[1]!.batch[0]!.inputs[0]!.shape, [1, 2]);
    backend.executions[1]!.finish();
    await Promise.all(answers);
    await close();
  });

  test('wait for others as long as too few are ready and the oldest is not too old', async () => {
    const strategy = 'direct { max_queue_delay_microseconds: 30000000 minimum_slot_utilization: 0.6 }';
    const { model, backend, close } = await startSequenceModel(strategy);
    const first = infer(model, step(1n, 10, 'S'));
    await settle();
    assert.equal(backend.executions.length, 0);
    const second = infer(model, step(2n, 20, 'S'));
    await backend.begun(1);
    assert.equal(backend.executions[0]!.batch.length, 2);
    backend.executions[0]!.finish();
    await Promise.all([first, second]);
    await close();
  });

  test('are not waited for when the delay is over', async () => {
    const strategy = 'direct { max_queue_delay_microseconds: 5000 minimum_slot_utilization: 1 }';
    const { model, backend, close } = await startSequenceModel(strategy);
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    assert.equal(backend.executions[0]!.batch.length, 1);
    await close();
  });

  test('one of delay and utilisation alone means nothing', async () => {
    for (const direct of ['max_queue_delay_microseconds: 30000000', 'minimum_slot_utilization: 1']) {
      const { model, backend, close } = await startSequenceModel(`direct { ${direct} }`);
      backend.open = true;
      await infer(model, step(1n, 10, 'S'));
      await close();
    }
  });
});

describe('backlog', () => {
  test('an END closes it; the id may wait again, and the oldest gets the slot', async () => {
    const { model, backend, close } = await startSequenceModel('', { batch: 1 });
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    const answers = [
      step(2n, 20, 'S'),
      step(2n, 21, 'E'),
      step(3n, 30, 'SE'),
      step(2n, 22, 'S'),
      step(2n, 23, 'E'),
    ].map((request) => infer(model, request));
    await infer(model, step(1n, 11, 'E'));
    await Promise.all(answers);
    assert.deepEqual(
      backend.executions.map(({ batch }) => row(batch[0]!)[0]),
      [10, 11, 20, 21, 30, 22, 23],
    );
    await close();
  });

  test('a cancelled one is answered and skipped', async () => {
    const { model, backend, close } = await startSequenceModel('', { batch: 1 });
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    const codes: (string | undefined)[] = [];
    model.submit(step(2n, 20, 'S'), (response) => codes.push(response?.error?.code)).cancel();
    model.submit(step(2n, 21), (response) => codes.push(response?.error?.code));
    const third = infer(model, step(3n, 30, 'SE'));
    await infer(model, step(1n, 11, 'E'));
    await third;
    assert.deepEqual(codes, ['CANCELLED', 'CANCELLED']);
    assert.deepEqual(
      backend.executions.map(({ ids }) => ids),
      [['1.10'], ['1.11'], ['3.30']],
    );
    await close();
  });

  test('the earliest timeout ends all of a sequence; with a slot it means nothing', async () => {
    const { model, backend, engine, close } = await startSequenceModel('', { batch: 1 });
    backend.open = true;
    await infer(model, step(1n, 10, 'S', { timeoutMicroseconds: 1n }));
    const answers = [
      step(2n, 20, 'S'),
      step(2n, 21, '', { timeoutMicroseconds: 3000n }),
      step(2n, 22, 'E', { timeoutMicroseconds: 3_600_000_000n }),
    ].map((request) => infer(model, request));
    for (const { error } of await Promise.all(answers)) {
      assert.equal(error?.code, 'UNAVAILABLE');
      assert.equal(error?.message, 'timeout of the corresponding sequence has been expired');
    }
    assert.equal(engine.metrics()[0]!.failures.REJECTED, 3);
    assert.equal(backend.executions.length, 1);
    await close();
  });
});

describe('oldest strategy', () => {
  test('as many candidates as the largest batch has rows, where nothing is said', async () => {
    const { model, backend, close } = await startSequenceModel('oldest {}', { batch: 2 });
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    await infer(model, step(2n, 20, 'S'));
    const third = infer(model, step(3n, 30, 'SE'));
    await settle();
    assert.equal(backend.executions.length, 2);
    await infer(model, step(1n, 11, 'E'));
    await third;
    await close();
  });

  test('a batch is sent at a preferred size, else after the delay', async () => {
    const { model, backend, close } = await startSequenceModel(
      'oldest { max_candidate_sequences: 8 preferred_batch_size: [2] max_queue_delay_microseconds: 30000000 }',
    );
    const first = infer(model, step(1n, 10, 'SE'));
    await settle();
    assert.equal(backend.executions.length, 0);
    const second = infer(model, step(2n, 20, 'SE'));
    await backend.begun(1);
    assert.deepEqual(backend.executions[0]!.ids, ['1.10', '2.20']);
    backend.executions[0]!.finish();
    await Promise.all([first, second]);
    await close();
  });

  test('a cancelled request ends its sequence', async () => {
    const { model, backend, close } = await startSequenceModel('oldest {}', { batch: 1 });
    const first = infer(model, step(1n, 10, 'S'));
    await backend.begun(1);
    const codes: (string | undefined)[] = [];
    model.submit(step(1n, 11), (response) => codes.push(response?.error?.code)).cancel();
    model.submit(step(1n, 12), (response) => codes.push(response?.error?.code));
    backend.open = true;
    backend.executions[0]!.finish();
    await first;
    await settle();
    assert.deepEqual(codes, ['CANCELLED', 'CANCELLED']);
    await assert.rejects(infer(model, step(1n, 13)), /must specify the START flag/);
    await close();
  });
});

describe('held back by the environment', () => {
  test('until that number of requests is queued, in all instances together', async () => {
    const load = () => startSequenceModel('', { instances: 2, batch: 2 });
    const { model, backend, close } = await withEnvironment({ TRITONSERVER_DELAY_SCHEDULER: '3' }, load);
    backend.open = true;
    const answers = [infer(model, step(1n, 10, 'S')), infer(model, step(2n, 20, 'S'))];
    await settle();
    assert.equal(backend.executions.length, 0);
    answers.push(infer(model, step(1n, 11)));
    await Promise.all(answers);
    assert.equal(backend.executions.length, 3);
    // From then on nothing is held back.
    await infer(model, step(1n, 12));
    await close();
  });

  test('until that number of requests also waits for a slot', async () => {
    const { model, backend, close } = await withEnvironment(
      { TRITONSERVER_DELAY_SCHEDULER: '1', TRITONSERVER_BACKLOG_DELAY_SCHEDULER: '2' },
      () => startSequenceModel('', { batch: 1 }),
    );
    backend.open = true;
    const answers = [infer(model, step(1n, 10, 'SE')), infer(model, step(2n, 20, 'S'))];
    await settle();
    assert.equal(backend.executions.length, 0);
    answers.push(infer(model, step(2n, 21, 'E')));
    await Promise.all(answers);
    assert.deepEqual(
      backend.executions.map(({ ids }) => ids),
      [['1.10'], ['2.20'], ['2.21']],
    );
    await close();
  });

  test('the batcher of the oldest strategy too', async () => {
    const load = () => startSequenceModel('oldest {}');
    const { model, backend, close } = await withEnvironment({ TRITONSERVER_DELAY_SCHEDULER: '2' }, load);
    const answers = [infer(model, step(1n, 10, 'SE'))];
    await settle();
    assert.equal(backend.executions.length, 0);
    answers.push(infer(model, step(2n, 20, 'SE')));
    await backend.begun(1);
    assert.equal(backend.executions[0]!.batch.length, 2);
    backend.executions[0]!.finish();
    await Promise.all(answers);
    await close();
  });

  test('a stop lets go what is held', async () => {
    const { model, backend, close } = await withEnvironment({ TRITONSERVER_DELAY_SCHEDULER: '9' }, () =>
      startSequenceModel(''),
    );
    backend.open = true;
    const answer = infer(model, step(1n, 10, 'SE'));
    await settle();
    await close();
    await answer;
  });
});
