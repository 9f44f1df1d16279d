import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32Values,
  makeRequest,
  settle,
  startEngine,
} from '../../../test/support/engine/engine-harness.js';
import {
  ask,
  CHAIN,
  DATA,
  ensemble,
  model,
  start,
  step,
  stream,
  tensor,
} from '../../../test/support/engine/ensembles.js';
import { type Script, ScriptedBackend } from '../../../test/support/engine/scripted-backend.js';
import type { InferenceResponse } from '../../contract/request.js';

describe('a request of an ensemble', () => {
  test('adds the times of its steps up and counts itself once', async () => {
    const { engine, close } = await start(CHAIN);
    const answer = await infer(engine.model('chain', ''), makeRequest([DATA([1, 2, 3])]));
    assert.equal(answer.error, undefined);
    await settle();
    const [own, first, second] = ['chain', 'first', 'second'].map((name) => engine.statistics(name, '')[0]!);
    assert.deepEqual([own!.inference_count, own!.execution_count], [3n, 1n]);
    assert.deepEqual(
      own!.batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]),
      [[3n, 1n]],
    );
    const stats = own!.inference_stats;
    assert.deepEqual([stats.success.count, stats.queue.count, stats.compute_infer.count], [1n, 1n, 1n]);
    for (const part of ['compute_input', 'compute_infer', 'compute_output'] as const) {
      const sum = first!.inference_stats[part].ns + second!.inference_stats[part].ns;
      // Each is rounded to whole ns by itself.
      assert.ok(Math.abs(Number(stats[part].ns - sum)) <= 2, part);
    }
    assert.ok(own!.last_inference > 0n);
    assert.equal(engine.metrics().find(({ name }) => name === 'chain')!.loaded!.pending, 0);
    await close();
  });

  test('does not wait for counts of others to be its own', async () => {
    const { engine, close } = await start(CHAIN);
    await Promise.all(Array.from({ length: 20 }, () => ask(engine.model('chain', ''))));
    await settle();
    for (const name of ['chain', 'first', 'second']) {
      assert.equal(engine.statistics(name, '')[0]!.inference_stats.success.count, 20n, name);
    }
    await close();
  });

  test('when cancelled cancels the steps that follow', async () => {
    const { engine, gated, backend, close } = await start([
      model('first', {}, 'gated'),
      model('second', { more: 'dynamic_batching { }' }),
      CHAIN[2]!,
    ]);
    let answer: InferenceResponse | undefined;
    const done = new Promise<void>((resolve) => {
      const handle = engine.model('chain', '').submit(makeRequest([DATA()]), (response, final) => {
        if (response !== undefined) answer = response;
        if (final) resolve();
      });
      void gated.begun(1).then(() => {
        handle.cancel();
        gated.executions[0]!.finish();
      });
    });
    await done;
    assert.deepEqual([answer!.error?.code, answer!.error?.message], ['CANCELLED', "in ensemble 'chain', "]);
    assert.deepEqual(backend.order, []);
    await close();
  });

  test('is finished when the server stops, new ones are refused', async () => {
    const { engine, gated, close } = await start([model('first', {}, 'gated'), model('second'), CHAIN[2]!]);
    const chain = engine.model('chain', '');
    const answer = ask(chain);
    await gated.begun(1);
    const stopped = close();
    await settle();
    await assert.rejects(ask(chain), { code: 'UNAVAILABLE' });
    gated.executions[0]!.finish();
    assert.deepEqual(int32Values(await answer, 'RESULT'), [7]);
    await stopped;
  });

  test('keeps its members loaded until it is answered', async () => {
    const backend = new ScriptedBackend();
    const gated = new GatedBackend();
    const configs = { first: model('first', {}, 'gated'), second: CHAIN[1]!, chain: CHAIN[2]! };
    const files = Object.entries(configs).flatMap(([name, text]) => [
      [`${name}/config.pbtxt`, text],
      [`${name}/1/`, ''],
    ]);
    const { engine, close } = await startEngine(Object.fromEntries(files), {
      ...{ backends: [backend, gated], modelControlMode: 'explicit', loadModels: ['*'] },
    });
    const chain = engine.model('chain', '');
    const answer = ask(chain);
    await gated.begun(1);
    await engine.unload('second', false);
    await assert.rejects(async () => engine.model('chain', ''), {
      message: "Request for unknown model: 'chain' has no available versions",
    });
    assert.equal(engine.versionState('second', '1')!.state, 'UNLOADING');
    gated.executions[0]!.finish();
    assert.deepEqual(int32Values(await answer, 'RESULT'), [7]);
    await settle();
    assert.equal(engine.versionState('second', '1')!.reason, 'unloaded');
    await close();
  });
});

describe('max_inflight_requests', () => {
  const limited = (limit: number) => [
    model('first'),
    model('slow', { more: 'dynamic_batching { preferred_batch_size: 1 }' }, 'gated'),
    ensemble('e', [step('first', { IN: 'DATA' }, { OUT: 'mid' }), step('slow', { IN: 'mid' }, { OUT: 'RESULT' })], {
      more: `max_inflight_requests: ${limit}`,
    }),
  ];

  test('bounds the requests of a step over all requests of the ensemble', async () => {
    const { engine, gated, log, close } = await start(limited(2));
    assert.ok(log.includes("I Ensemble model 'e' configured with max_inflight_requests: 2"));
    const answers = Array.from({ length: 5 }, (_, i) => ask(engine.model('e', ''), { id: String(i) }));
    await settle();
    const inside = () => engine.statistics('slow', '')[0]!.inference_stats.success.count;
    for (let i = 0; i < 5; i++) {
      await gated.begun(i + 1);
      const pending = engine.metrics().find(({ name }) => name === 'slow')!.loaded!.pending;
      assert.ok(pending <= 1, 'one runs, at most one waits in the queue of the model');
      gated.executions[i]!.finish();
      await settle();
      assert.equal(inside(), BigInt(i + 1));
    }
    const ids = (await Promise.all(answers)).map(({ id }) => id);
    assert.deepEqual(ids, ['0', '1', '2', '3', '4']);
    await close();
  });

  test('holds up a decoupled step that feeds it, also in a nested ensemble', async () => {
    let sent = 0;
    const produce: Script = (request) => {
      void (async () => {
        for (sent = 0; sent < 10; ) {
          request.respond({ outputs: [tensor('OUT', [1, 1], [sent++])] }, false);
          await request.pace?.ready();
        }
        request.respond(undefined, true);
      })();
    };
    const { engine, gated, close } = await start(
      [
        model('produce', { more: 'model_transaction_policy { decoupled: true }' }),
        ensemble('inner', [step('produce', { IN: 'DATA' }, { OUT: 'RESULT' })]),
        model('slow', {}, 'gated'),
        ensemble(
          'e',
          [step('inner', { DATA: 'DATA' }, { RESULT: 'mid' }), step('slow', { IN: 'mid' }, { OUT: 'RESULT' })],
          {
            more: 'max_inflight_requests: 2',
          },
        ),
      ],
      { produce },
    );
    const all = stream(engine.model('e', ''), makeRequest([DATA()]));
    for (let i = 0; i < 10; i++) {
      await gated.begun(i + 1);
      await settle();
      // Two have a place, one waits for it.
      assert.equal(sent, Math.min(10, i + 3));
      gated.executions[i]!.finish();
    }
    const values = (await all).flatMap(([response]) => (response === undefined ? [] : int32Values(response, 'RESULT')));
    assert.deepEqual(values, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await close();
  });

  test('a cancelled request does not wait', async () => {
    const { engine, gated, close } = await start(limited(1));
    const first = ask(engine.model('e', ''));
    await gated.begun(1);
    const second = new Promise<InferenceResponse>((resolve) => {
      const handle = engine.model('e', '').submit(makeRequest([DATA()]), (response, final) => {
        if (final) resolve(response!);
      });
      void settle().then(() => handle.cancel());
    });
    await settle();
    await settle();
    gated.executions[0]!.finish();
    await first;
    assert.equal((await second).error?.code, 'CANCELLED');
    assert.equal(gated.executions.length, 1);
    await close();
  });
});
