import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { int32Values, makeRequest, settle, startEngine } from '../../../test/support/engine/engine-harness.js';
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
import { echo, type Script, ScriptedBackend } from '../../../test/support/engine/scripted-backend.js';
import { TritonError } from '../../base/error.js';
import type { ExecutionRequest } from '../../contract/backend.js';

describe('a step that fails', () => {
  const fails: Script = (request) =>
    request.respond({ outputs: [], error: new TritonError('UNAVAILABLE', 'no luck') }, true);

  test('ends the ensemble with its code and the name in front, and counts twice', async () => {
    const { engine, backend, close } = await start(CHAIN, { first: fails });
    const { error } = await ask(engine.model('chain', ''));
    assert.deepEqual([error?.code, error?.message], ['UNAVAILABLE', "in ensemble 'chain', no luck"]);
    assert.deepEqual(backend.order, ['first']);
    await settle();
    const [stats] = engine.statistics('chain', '');
    assert.equal(stats!.inference_stats.fail.count, 2n);
    assert.equal(stats!.inference_stats.success.count, 0n);
    const failures = (name: string) => engine.metrics().find((entry) => entry.name === name)!.failures;
    assert.deepEqual(failures('chain'), { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 2 });
    assert.deepEqual(failures('first'), { REJECTED: 0, CANCELED: 0, BACKEND: 1, OTHER: 0 });
    await close();
  });

  test('counts on every level of nested ensembles, and each adds its name', async () => {
    const outer = ensemble('outer', [step('chain', { DATA: 'DATA' }, { RESULT: 'RESULT' })]);
    const { engine, close } = await start([...CHAIN, outer], { second: fails });
    const { error } = await ask(engine.model('outer', ''));
    assert.equal(error?.message, "in ensemble 'outer', in ensemble 'chain', no luck");
    await settle();
    for (const name of ['outer', 'chain']) {
      assert.equal(engine.statistics(name, '')[0]!.inference_stats.fail.count, 2n, name);
    }
    await close();
  });

  test('a refusal by the model is a failure like any other', async () => {
    const { engine, close } = await start([
      model('m', { maxBatch: 8, more: 'sequence_batching { }' }),
      ensemble('e', [step('m', { IN: 'DATA' }, { OUT: 'RESULT' })]),
    ]);
    const { error } = await ask(engine.model('e', ''));
    assert.equal(error?.code, 'INVALID_ARG');
    assert.equal(
      error?.message,
      "in ensemble 'e', inference request to model 'm' must specify a non-zero or non-empty correlation ID",
    );
    await settle();
    assert.equal(engine.statistics('e', '')[0]!.inference_stats.fail.count, 2n);
    assert.equal(engine.statistics('m', '')[0]!.inference_stats.fail.count, 0n);
    await close();
  });

  test('the error waits until the steps beside it have ended, and no more are begun', async () => {
    const { engine, backend, gated, close } = await start(
      [
        model('bad'),
        model('slow', {}, 'gated'),
        model('after'),
        ensemble(
          'e',
          [
            step('bad', { IN: 'DATA' }, { OUT: 'X' }),
            step('slow', { IN: 'DATA' }, { OUT: 'mid' }),
            step('after', { IN: 'mid' }, { OUT: 'Y' }),
          ],
          { outputs: ['X', 'Y'] },
        ),
      ],
      { bad: fails },
    );
    let answered = false;
    const answer = ask(engine.model('e', '')).finally(() => {
      answered = true;
    });
    await gated.begun(1);
    await settle();
    assert.equal(answered, false);
    gated.executions[0]!.finish();
    assert.equal((await answer).error?.message, "in ensemble 'e', no luck");
    assert.deepEqual(backend.order, ['bad']);
    await close();
  });
});

describe('a decoupled ensemble', () => {
  /** As many responses as the input says, each with its number, then an empty end. */
  const repeat: Script = (request) => {
    const count = new Int32Array(new Uint8Array(request.inputs[0]!.data).buffer)[0]!;
    for (let i = 0; i < count; i++) request.respond({ outputs: [tensor('OUT', [1], [i])] }, false);
    request.respond(undefined, true);
  };
  const DECOUPLED = 'model_transaction_policy { decoupled: true }';
  const MEMBERS = [
    model('repeat', { maxBatch: 0, more: DECOUPLED }),
    model('plain', { maxBatch: 0 }),
    ensemble('d', [step('repeat', { IN: 'DATA' }, { OUT: 'mid' }), step('plain', { IN: 'mid' }, { OUT: 'RESULT' })], {
      maxBatch: 0,
    }),
  ];

  test('is what a decoupled member makes of it, whatever its configuration says', async () => {
    const { engine, close } = await start(MEMBERS, { repeat });
    assert.equal(engine.model('d', '').decoupled, true);
    assert.deepEqual(engine.model('d', '').config.model_transaction_policy, { decoupled: true });
    await close();
    const wrong = [CHAIN[0]!, CHAIN[1]!, CHAIN[2]!.replace('platform:', `${DECOUPLED} platform:`)];
    const plain = await start(wrong);
    assert.equal(plain.engine.model('chain', '').decoupled, false);
    await plain.close();
  });

  test('with a response cache is refused', async () => {
    const cached = MEMBERS[2]!.replace('platform:', 'response_cache { enable: true } platform:');
    const configs = Object.entries({ repeat: MEMBERS[0]!, plain: MEMBERS[1]!, d: cached });
    const files = configs.flatMap(([name, text]) => [
      [`${name}/config.pbtxt`, text],
      [`${name}/1/`, ''],
    ]);
    const { engine, close } = await startEngine(Object.fromEntries(files), {
      backends: [new ScriptedBackend({ repeat })],
    });
    assert.equal(
      engine.versionState('d', '1')?.reason,
      "Invalid argument: Response Cache does not currently support model d with 'decoupled' transaction policy. " +
        'Please disable the response cache.',
    );
    await close();
  });

  test('does not keep a namespace that its configuration names', async () => {
    const named = CHAIN[2]!.replaceAll('model_name:', 'model_namespace: "elsewhere" model_name:');
    const { engine, close } = await start([CHAIN[0]!, CHAIN[1]!, named]);
    const steps = engine.model('chain', '').config.ensemble_scheduling?.step ?? [];
    assert.deepEqual(
      steps.map(({ model_namespace: namespace }) => namespace),
      ['', ''],
    );
    await close();
  });

  test('answers once for every response, then ends', async () => {
    const { engine, close } = await start(MEMBERS, { repeat });
    const calls = await stream(engine.model('d', ''), makeRequest([DATA([3], [1])]));
    const values = calls.flatMap(([response]) => (response === undefined ? [] : int32Values(response, 'RESULT')));
    assert.deepEqual(values, [0, 1, 2]);
    assert.deepEqual(
      calls.map(([, final]) => final),
      [...new Array(calls.length - 1).fill(false), true],
    );
    await settle();
    const [stats] = engine.statistics('d', '');
    assert.deepEqual([stats!.inference_stats.success.count, stats!.execution_count], [1n, 1n]);
    assert.equal(engine.statistics('plain', '')[0]!.execution_count, 3n);
    await close();
  });

  test('the end rides on the last response when they come together', async () => {
    const { engine, gated, close } = await start(
      [
        model('repeat', { maxBatch: 0, more: DECOUPLED }),
        model('slow', { maxBatch: 0 }, 'gated'),
        ensemble(
          'd',
          [step('repeat', { IN: 'DATA' }, { OUT: 'mid' }), step('slow', { IN: 'mid' }, { OUT: 'RESULT' })],
          {
            maxBatch: 0,
          },
        ),
      ],
      { repeat },
    );
    const all = stream(engine.model('d', ''), makeRequest([DATA([2], [1])]));
    for (let i = 0; i < 2; i++) {
      await gated.begun(i + 1);
      gated.executions[i]!.finish();
    }
    assert.deepEqual(
      (await all).map(([response, final]) => [int32Values(response!, 'RESULT')[0], final]),
      [
        [0, false],
        [1, true],
      ],
    );
    await close();
  });

  test('without any response there is just the end', async () => {
    const { engine, close } = await start(MEMBERS, { repeat });
    assert.deepEqual(await stream(engine.model('d', ''), makeRequest([DATA([0], [1])])), [[undefined, true]]);
    await close();
  });

  test('tensors of one response stay together when steps overtake each other', async () => {
    const held: ExecutionRequest[] = [];
    const { engine, close } = await start(
      [
        model('repeat', { maxBatch: 0, more: DECOUPLED }),
        model('slow', { maxBatch: 0 }),
        model('fast', { maxBatch: 0 }),
        ensemble(
          'd',
          [
            step('repeat', { IN: 'DATA' }, { OUT: 'mid' }),
            step('slow', { IN: 'mid' }, { OUT: 'A' }),
            step('fast', { IN: 'mid' }, { OUT: 'B' }),
          ],
          { maxBatch: 0, outputs: ['A', 'B'] },
        ),
      ],
      { repeat, slow: (request) => held.push(request) },
    );
    const all = stream(engine.model('d', ''), makeRequest([DATA([3], [1])]));
    await settle();
    for (const i of [2, 0, 1]) echo(held[i]!);
    const pairs = (await all).flatMap(([r]) =>
      r === undefined ? [] : [[int32Values(r, 'A')[0], int32Values(r, 'B')[0]]],
    );
    assert.deepEqual(pairs, [
      [2, 2],
      [0, 0],
      [1, 1],
    ]);
    await close();
  });

  test('a failure counts once', async () => {
    const fails: Script = (request) => request.respond({ outputs: [], error: new TritonError('INTERNAL', 'no') }, true);
    const { engine, close } = await start(MEMBERS, { repeat, plain: fails });
    const calls = await stream(engine.model('d', ''), makeRequest([DATA([2], [1])]));
    assert.deepEqual(
      calls.map(([response, final]) => [response?.error?.message, final]),
      [["in ensemble 'd', no", true]],
    );
    await settle();
    assert.equal(engine.statistics('d', '')[0]!.inference_stats.fail.count, 1n);
    await close();
  });
});

test('a cancelled ensemble takes its queued steps along and begins no further ones', async () => {
  const chain = ensemble('e', [
    step('slow', { IN: 'DATA' }, { OUT: 'MIDDLE' }),
    step('after', { IN: 'MIDDLE' }, { OUT: 'RESULT' }),
  ]);
  const { engine, backend, gated, close } = await start([model('slow', {}, 'gated'), model('after'), chain]);
  const responses: string[] = [];
  const submit = (name: string) =>
    engine.model('e', '').submit(makeRequest([tensor('DATA', [1, 1], [7])], { id: name }), (response, final) => {
      if (final) responses.push(`${name} ${response?.error?.code}`);
    });
  const runs = submit('runs');
  await gated.begun(1);
  const queued = [1, 2, 3, 4, 5].map((i) => submit(`q${i}`));
  await settle();
  for (const request of queued) request.cancel();
  await settle();
  // What was formed ahead of the busy instance is executed; the rest is answered before it is free.
  assert.ok(responses.length >= 3, responses.join());
  runs.cancel();
  for (let i = 0; i < gated.executions.length; i++) {
    gated.executions[i]!.finish();
    await settle();
  }
  assert.equal(responses.length, 6);
  assert.ok(
    responses.every((text) => text.endsWith('CANCELLED')),
    responses.join(),
  );
  assert.deepEqual(backend.order, [], 'the second step never begins');
  await close();
});

test('an ensemble of thousands of steps loads and answers soon', async () => {
  const steps = Array.from({ length: 3000 }, (_, i) =>
    step('m', { IN: i === 0 ? 'DATA' : `T${i}` }, { OUT: i === 2999 ? 'RESULT' : `T${i + 1}` }),
  );
  const begin = performance.now();
  const { engine, close } = await start([model('m'), ensemble('long', steps)]);
  const response = await ask(engine.model('long', ''));
  assert.equal(response.error, undefined);
  assert.ok(performance.now() - begin < 30_000);
  await close();
});
