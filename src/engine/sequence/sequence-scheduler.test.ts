import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { infer, int32, makeRequest, settle } from '../../../test/support/engine/engine-harness.js';
import { row, startSequenceModel, step } from '../../../test/support/engine/sequence-model.js';

const start = (strategy: string, batch = 3) => startSequenceModel(strategy, { batch });

describe('requests that are refused', () => {
  test('with their texts, and nothing is counted', async () => {
    const { model, engine, close } = await start('');
    for (const [request, message] of [
      [
        makeRequest([int32('IN', [2, 1], [1, 2])], { correlationId: 1n, sequenceStart: true }),
        "inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher",
      ],
      [step(0n, 1, 'S'), "inference request to model 'm' must specify a non-zero or non-empty correlation ID"],
      [
        step(5n, 1),
        "inference request for sequence 5 to model 'm' must specify the START flag on the first request of the sequence",
      ],
    ] as const) {
      await assert.rejects(infer(model, request), { code: 'INVALID_ARG', message });
    }
    assert.equal(engine.statistics('m', '')[0]!.inference_stats.fail.count, 0n);
    assert.equal(engine.metrics()[0]!.loaded!.pending, 0);
    await close();
  });

  test('START of new sequences while stopping; live ones go on', async () => {
    const { model, backend, close } = await start('');
    backend.open = true;
    await infer(model, step(1n, 1, 'S'));
    const stopped = close();
    await assert.rejects(infer(model, step(2n, 1, 'S')), {
      code: 'UNAVAILABLE',
      message: 'Server is stopping, scheduler for model has stopped accepting new inference requests',
    });
    await infer(model, step(1n, 2, 'E'));
    await stopped;
  });
});

describe('direct strategy', () => {
  test('a sequence keeps its row; rows without a request are null', async () => {
    const { model, backend, engine, close } = await start('');
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    await infer(model, step(2n, 20, 'S'));
    await infer(model, step(3n, 30, 'S'));
    await infer(model, step(3n, 31, 'E'));
    assert.deepEqual(
      backend.executions.map(({ batch }) => batch.map(row)),
      [
        [[10, 1, 1, 0, 1]],
        [
          [0, 0, 0, 0, 0],
          [20, 1, 1, 0, 2],
        ],
        [
          [0, 0, 0, 0, 0],
          [0, 0, 0, 0, 0],
          [30, 1, 1, 0, 3],
        ],
        [
          [0, 0, 0, 0, 0],
          [0, 0, 0, 0, 0],
          [31, 0, 1, 1, 3],
        ],
      ],
    );
    await settle();
    const [statistics] = engine.statistics('m', '');
    assert.equal(statistics!.inference_count, 4n);
    assert.deepEqual(
      statistics!.batch_stats.map(({ batch_size: size }) => size),
      [1n, 2n, 3n],
    );
    for (const id of [1n, 2n]) await infer(model, step(id, 9, 'E'));
    await close();
  });

  test('one batch at a time, one request of each sequence in it', async () => {
    const { model, backend, close } = await start('');
    const answers = [
      infer(model, step(1n, 10, 'S')),
      infer(model, step(1n, 11, 'E')),
      infer(model, step(2n, 20, 'SE')),
    ];
    await backend.begun(1);
    assert.deepEqual(backend.executions[0]!.batch.map(row), [
      [10, 1, 1, 0, 1],
      [20, 1, 1, 1, 2],
    ]);
    await settle();
    assert.equal(backend.executions.length, 1);
    backend.executions[0]!.finish();
    await backend.begun(2);
    assert.deepEqual(backend.executions[1]!.batch.map(row), [[11, 0, 1, 1, 1]]);
    backend.executions[1]!.finish();
    await Promise.all(answers);
    await close();
  });

  test('a sequence without a slot waits in the backlog', async () => {
    const { model, backend, close } = await start('', 1);
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    const waiting = [infer(model, step(2n, 20, 'S')), infer(model, step(2n, 21, 'E'))];
    await settle();
    assert.equal(backend.executions.length, 1);
    await infer(model, step(1n, 11, 'E'));
    await Promise.all(waiting);
    assert.deepEqual(
      backend.executions.map(({ batch }) => row(batch[0]!)[0]),
      [10, 11, 20, 21],
    );
    await close();
  });

  test('a backlogged sequence can time out', async () => {
    const { model, backend, engine, close } = await start('', 1);
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    const late = await infer(model, step(2n, 20, 'S', { timeoutMicroseconds: 3000n }));
    assert.equal(late.error?.message, 'timeout of the corresponding sequence has been expired');
    assert.equal(engine.metrics()[0]!.failures.REJECTED, 1);
    await assert.rejects(infer(model, step(2n, 21)), /must specify the START flag/);
    await infer(model, step(1n, 11, 'E'));
    await close();
  });

  test('an idle sequence is ended and its slot given away', async () => {
    const { model, backend, close } = await start('max_sequence_idle_microseconds: 20000', 1);
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    await infer(model, step(2n, 20, 'SE'));
    await assert.rejects(infer(model, step(1n, 11)), /sequence 1 to model 'm' must specify the START flag/);
    await close();
  });

  test('a cancelled request ends its sequence', async () => {
    const { model, backend, engine, close } = await start('', 1);
    const first = infer(model, step(1n, 10, 'S'));
    await backend.begun(1);
    const ends: (string | undefined)[] = [];
    model.submit(step(1n, 11), ({ error } = {} as never) => ends.push(error?.code)).cancel();
    model.submit(step(1n, 12), ({ error } = {} as never) => ends.push(error?.code));
    backend.open = true;
    backend.executions[0]!.finish();
    await first;
    await settle();
    assert.deepEqual(ends, ['CANCELLED', 'CANCELLED']);
    assert.equal(engine.metrics()[0]!.failures.CANCELED, 2);
    await assert.rejects(infer(model, step(1n, 13)), /must specify the START flag/);
    await close();
  });

  test('numbers and texts are different ids; a START before the END only warns', async () => {
    const { model, backend, log, close } = await start('');
    backend.open = true;
    await infer(model, step(1n, 10, 'S'));
    await infer(model, step(1n, 11, 'S'));
    assert.ok(log.some((line) => line.startsWith("W sequence 1 for model 'm' has a conflict.")));
    assert.deepEqual(
      backend.executions.map(({ batch }) => batch.length),
      [1, 1],
    );
    await infer(model, step(1n, 12, 'E'));
    await close();
  });
});

describe('oldest strategy', () => {
  test('one request of each sequence in the batcher, no null rows', async () => {
    const { model, backend, close } = await start('oldest { max_candidate_sequences: 8 }');
    const answers = [
      infer(model, step(1n, 10, 'S')),
      infer(model, step(1n, 11, 'E')),
      infer(model, step(2n, 20, 'SE')),
      infer(model, step(3n, 30, 'SE')),
    ];
    await backend.begun(1);
    assert.deepEqual(
      backend.executions[0]!.batch.map(row).map(([value]) => value),
      [10, 20, 30],
    );
    backend.executions[0]!.finish();
    await backend.begun(2);
    assert.deepEqual(backend.executions[1]!.batch.map(row), [[11, 0, 1, 1, 1]]);
    backend.executions[1]!.finish();
    await Promise.all(answers);
    await assert.rejects(infer(model, step(1n, 12)), /must specify the START flag/);
    await close();
  });

  test('more sequences than candidates wait', async () => {
    const { model, backend, close } = await start('oldest { max_candidate_sequences: 1 }');
    backend.open = true;
    const answers = [1n, 2n, 3n].flatMap((id) => [
      infer(model, step(id, Number(id) * 10, 'S')),
      infer(model, step(id, Number(id) * 10 + 1, 'E')),
    ]);
    await Promise.all(answers);
    assert.deepEqual(
      backend.executions.map(({ batch }) => row(batch[0]!)[0]),
      [10, 11, 20, 21, 30, 31],
    );
    await close();
  });
});
