import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { infer, int32, int32Values, makeRequest, settle } from '../../../test/support/engine/engine-harness.js';
import { row, startSequenceModel, step, viewOf } from '../../../test/support/engine/sequence-model.js';
import type { RequestTrace } from '../../contract/request-trace.js';

const RESCHEDULE_TEXT =
  'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.';

/** Requests of the model are executed as often as IN says. */
async function startCounting(strategy: string, options = {}) {
  const started = await startSequenceModel(strategy, options);
  const { backend } = started;
  const runs = new Map<string, number>();
  const rows: number[][] = [];
  backend.open = true;
  backend.answer = (request) => {
    rows.push(row(request));
    const done = (runs.get(request.id) ?? 0) + 1;
    runs.set(request.id, done);
    if (done < viewOf(request, 'IN').getInt32(0, true)) request.reschedule();
    else request.respond({ outputs: [{ ...int32('OUT', [1, 1], [done]), datatype: 'INT32' }] }, true);
  };
  return { ...started, rows };
}

const times = (id: string, count: number, more = {}) => makeRequest([int32('IN', [1, 1], [count])], { id, ...more });

for (const strategy of ['direct {}', 'oldest { max_candidate_sequences: 2 }']) {
  describe(`iterative sequences, ${strategy}`, () => {
    test('a request is executed until it is answered; START is set the first time only', async () => {
      const { model, rows, engine, close } = await startCounting(`iterative_sequence: true ${strategy}`);
      const answer = await infer(model, times('a', 3));
      assert.deepEqual(int32Values(answer, 'OUT'), [3]);
      await infer(model, times('b', 1, { sequenceEnd: true }));
      await infer(model, step(70n, 2, 'S'));
      await settle();
      assert.deepEqual(rows, [
        [3, 1, 1, 0, 1],
        [3, 0, 1, 0, 1],
        [3, 0, 1, 0, 1],
        [1, 1, 1, 0, 2],
        [2, 1, 1, 0, 70],
        [2, 0, 1, 0, 70],
      ]);
      // Each run counts, and each request's end as one that was cancelled.
      const { inference_count: inferences, execution_count: executions, ...rest } = engine.statistics('m', '')[0]!;
      assert.deepEqual([inferences, executions, rest.inference_stats.success.count], [6n, 6n, 6n]);
      assert.equal(rest.inference_stats.fail.count, 3n);
      assert.equal(engine.metrics()[0]!.failures.CANCELED, 3);
      assert.equal(engine.metrics()[0]!.loaded!.pending, 0);
      await close();
    });

    test('an id of the client must be started, and is forgotten with the response', async () => {
      const { model, close } = await startCounting(`iterative_sequence: true ${strategy}`);
      const unknown = { message: /^inference request for sequence 70 to model 'm' must specify the START flag/ };
      await assert.rejects(infer(model, step(70n, 2)), unknown);
      await infer(model, step(70n, 2, 'S'));
      await settle();
      await assert.rejects(infer(model, step(70n, 2)), unknown);
      await close();
    });

    test('an END on a request that is put back leaves it without a sequence: its error says so', async () => {
      const { model, log, close } = await startCounting(`iterative_sequence: true ${strategy}`);
      let ended = 0;
      const listener: RequestTrace = {
        context: undefined,
        begin() {},
        event() {},
        tensors() {},
        child: () => listener,
        end: () => void ended++,
        abandon() {},
      };
      const { error } = await infer(model, { ...step(70n, 2, 'SE'), trace: listener });
      assert.match(error!.message, /must specify the START flag/);
      assert.ok(
        log.some((line) => line.startsWith('E Failed to reschedule request: inference request for sequence 70')),
      );
      await settle();
      assert.equal(ended, 1, 'whoever watches the request hears of its end');
      assert.deepEqual(int32Values(await infer(model, times('a', 2)), 'OUT'), [2]);
      await close();
    });

    test('requests that are put back share batches with new ones; the others wait for slots', async () => {
      const { model, backend, close } = await startCounting(`iterative_sequence: true ${strategy}`, { batch: 2 });
      const answers = [times('a', 3), times('b', 1), times('c', 2)].map((request) => infer(model, request));
      await Promise.all(answers);
      assert.deepEqual(
        backend.executions.map(({ ids }) => [...ids].sort()),
        [
          ['a', 'b'],
          ['a', 'c'],
          ['a', 'c'],
        ],
      );
      await close();
    });

    test('a request that is cancelled meanwhile ends at its next turn, its slot serves others', async () => {
      const { model, backend, close } = await startCounting(`iterative_sequence: true ${strategy}`, { batch: 1 });
      backend.open = false;
      let code: string | undefined;
      const pending = model.submit(times('a', 9), (response) => {
        code = response?.error?.code;
      });
      await backend.begun(1);
      pending.cancel();
      backend.open = true;
      backend.executions[0]!.finish();
      await infer(model, times('b', 2));
      assert.equal(code, 'CANCELLED');
      assert.deepEqual(
        backend.executions.map(({ ids }) => ids),
        [['a'], ['b'], ['b']],
      );
      await close();
    });

    test('of one id run one after the other; the first response closes the sequence', async () => {
      const { model, backend, close } = await startCounting(`iterative_sequence: true ${strategy}`);
      backend.open = false;
      const first = infer(model, step(70n, 1, 'S', { id: 'first' }));
      const second = infer(model, step(70n, 1, '', { id: 'second' }));
      await backend.begun(1);
      backend.executions[0]!.finish();
      await first;
      await assert.rejects(infer(model, step(70n, 1)), /must specify the START flag/);
      await backend.begun(2);
      backend.executions[1]!.finish();
      await second;
      assert.deepEqual(
        backend.executions.map(({ ids }) => ids),
        [['first'], ['second']],
      );
      await close();
    });

    test('end when an execution takes longer than a sequence may be idle', async () => {
      const slow = `iterative_sequence: true max_sequence_idle_microseconds: 500000 ${strategy}`;
      const { model, backend, close } = await startCounting(slow, { batch: 1 });
      backend.open = false;
      const answer = infer(model, times('a', 2));
      await backend.begun(1);
      await new Promise((resolve) => setTimeout(resolve, 1200));
      backend.executions[0]!.finish();
      const { error } = await answer;
      assert.equal(
        error?.message,
        "inference request for sequence 1 to model 'm' must specify the START flag on the first request of the sequence",
      );
      backend.open = true;
      assert.deepEqual(int32Values(await infer(model, times('b', 3)), 'OUT'), [3], 'its slot serves others');
      await close();
    });

    test('do not end at their response because its execution took long', async () => {
      const slow = `iterative_sequence: true max_sequence_idle_microseconds: 1 ${strategy}`;
      const { model, backend, close } = await startCounting(slow, { batch: 1 });
      backend.open = false;
      const answer = infer(model, times('a', 1));
      await backend.begun(1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      backend.open = true;
      backend.executions[0]!.finish();
      assert.deepEqual(int32Values(await answer, 'OUT'), [1]);
      assert.deepEqual(int32Values(await infer(model, times('b', 1)), 'OUT'), [1]);
      await close();
    });

    test('go on while the server stops', async () => {
      const { model, backend, close } = await startCounting(`iterative_sequence: true ${strategy}`);
      backend.open = false;
      const answer = infer(model, times('a', 3));
      await backend.begun(1);
      const stopped = close();
      await assert.rejects(infer(model, times('b', 1)), { code: 'UNAVAILABLE' });
      backend.open = true;
      backend.executions[0]!.finish();
      assert.deepEqual(int32Values(await answer, 'OUT'), [3]);
      await stopped;
    });
  });
}

test('a model that is not configured for it answers with an error', async () => {
  const { model, backend, log, engine, close } = await startSequenceModel('direct {}');
  backend.open = true;
  backend.answer = (request) => request.reschedule();
  const { error } = await infer(model, step(1n, 1, 'S'));
  assert.deepEqual([error?.code, error?.message], ['INVALID_ARG', RESCHEDULE_TEXT]);
  assert.ok(log.includes(`E Failed to release request: ${RESCHEDULE_TEXT}`));
  await settle();
  // As in Triton, where the execution was a success.
  assert.equal(engine.statistics('m', '')[0]!.inference_stats.success.count, 1n);
  await close();
});
