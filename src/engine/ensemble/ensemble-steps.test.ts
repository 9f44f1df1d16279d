import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  infer,
  int32,
  int32Values,
  makeRequest,
  settle,
  startEngine,
} from '../../../test/support/engine/engine-harness.js';
import { ask, CHAIN, DATA, ensemble, type Io, model, start, step } from '../../../test/support/engine/ensembles.js';
import { echo, type Script, ScriptedBackend } from '../../../test/support/engine/scripted-backend.js';
import type { InferenceRequest } from '../../contract/request.js';

describe('steps of an ensemble', () => {
  test('hand tensors on without copying them', async () => {
    const { engine, backend, close } = await start(CHAIN);
    const input = DATA([3, 4]);
    const answer = await infer(engine.model('chain', ''), makeRequest([input], { id: 'x' }));
    assert.equal(answer.error, undefined);
    assert.deepEqual(answer.outputs[0]!.shape, [2, 1]);
    assert.equal(answer.outputs[0]!.data, input.data);
    assert.deepEqual([answer.modelName, answer.modelVersion, answer.id], ['chain', '1', 'x']);
    assert.deepEqual(backend.order, ['first', 'second']);
    await close();
  });

  test('get id, priority, timeout, parameters and place in a sequence of the request', async () => {
    const { engine, backend, close } = await start(CHAIN);
    const request: Partial<InferenceRequest> = {
      ...{ id: 'x', priority: 3n, timeoutMicroseconds: 44n, parameters: [['p', 'q']] },
      ...{ correlationId: 'seq', sequenceStart: true, sequenceEnd: true },
    };
    const answer = await ask(engine.model('chain', ''), request);
    for (const { request: got } of backend.calls) {
      const { id, timeoutMicroseconds, parameters, correlationId, sequenceStart, sequenceEnd } = got;
      assert.deepEqual([id, timeoutMicroseconds, parameters], ['x', 44n, [['p', 'q']]]);
      assert.deepEqual([correlationId, sequenceStart, sequenceEnd], ['seq', true, true]);
    }
    assert.deepEqual(answer.parameters, [
      ['sequence_id', 'seq'],
      ['sequence_start', true],
      ['sequence_end', true],
    ]);
    await close();
  });

  test('run side by side where nothing connects them', async () => {
    const gate = (name: string) => model(name, {}, 'gated');
    const { engine, gated, close } = await start([
      gate('left'),
      gate('right'),
      model('join', { inputs: ['A', 'B'] }),
      ensemble('fork', [
        step('left', { IN: 'DATA' }, { OUT: 'l' }),
        step('right', { IN: 'DATA' }, { OUT: 'r' }),
        step('join', { A: 'l', B: 'r' }, { OUT: 'RESULT' }),
      ]),
    ]);
    const answer = ask(engine.model('fork', ''));
    await gated.begun(2);
    assert.deepEqual(gated.executions.map(({ instance }) => instance).sort(), ['left_0_0', 'right_0_0']);
    gated.executions[0]!.finish();
    await settle();
    gated.executions[1]!.finish();
    assert.deepEqual(int32Values(await answer, 'RESULT'), [7]);
    await close();
  });

  test('share batches with requests of others', async () => {
    const { engine, gated, close } = await start([
      model('m', { more: 'dynamic_batching { }' }, 'gated'),
      ensemble('one', [step('m', { IN: 'DATA' }, { OUT: 'RESULT' })]),
      ensemble('two', [step('m', { IN: 'DATA' }, { OUT: 'RESULT' })]),
    ]);
    const answers = [ask(engine.model('one', ''), { id: 'a' }), ask(engine.model('two', ''), { id: 'b' })];
    answers.push(infer(engine.model('m', ''), makeRequest([int32('IN', [1, 1], [1])], { id: 'c' })));
    await gated.begun(1);
    assert.deepEqual(gated.executions[0]!.ids, ['a', 'b', 'c']);
    gated.executions[0]!.finish();
    await Promise.all(answers);
    await close();
  });

  test('that lead to no requested output do not run', async () => {
    const { engine, backend, close } = await start([
      model('a'),
      model('b'),
      model('c'),
      ensemble(
        'tree',
        [
          step('a', { IN: 'DATA' }, { OUT: 'mid' }),
          step('b', { IN: 'mid' }, { OUT: 'X' }),
          step('c', { IN: 'DATA' }, { OUT: 'Y' }),
        ],
        { outputs: ['X', 'Y'] },
      ),
    ]);
    const names = async (requestedOutputs: string[]) =>
      (await ask(engine.model('tree', ''), { requestedOutputs })).outputs.map(({ name }) => name).sort();
    assert.deepEqual(await names(['X']), ['X']);
    assert.deepEqual(backend.order.splice(0), ['a', 'b']);
    backend.calls.length = 0;
    assert.deepEqual(await names(['Y']), ['Y']);
    assert.deepEqual(backend.order, ['c']);
    backend.calls.length = 0;
    assert.deepEqual(await names([]), ['X', 'Y']);
    assert.equal(backend.calls.length, 3);
    await close();
  });

  test('run the version that they name', async () => {
    const versions = (name: string) => model(name, { more: 'version_policy { all {} }' });
    const backend = new ScriptedBackend();
    const { engine, close } = await startEngine(
      {
        'm/config.pbtxt': versions('m'),
        'm/1/': '',
        'm/2/': '',
        'old/config.pbtxt': ensemble('old', [step('m', { IN: 'DATA' }, { OUT: 'RESULT' }, 1)]),
        'old/1/': '',
        'new/config.pbtxt': ensemble('new', [step('m', { IN: 'DATA' }, { OUT: 'RESULT' })]),
        'new/1/': '',
      },
      { backends: [backend] },
    );
    await ask(engine.model('old', ''));
    await ask(engine.model('new', ''));
    await settle();
    const ran = engine.statistics('m', '').map(({ version, execution_count }) => [version, execution_count]);
    assert.deepEqual(ran, [
      ['1', 1n],
      ['2', 1n],
    ]);
    await close();
  });
});

describe('shapes between models of which one batches', () => {
  const through = async (member: Io, own: Io, shape: number[], script: Script = echo) => {
    const { engine, backend, close } = await start(
      [model('m', member), ensemble('e', [step('m', { IN: 'DATA' }, { OUT: 'RESULT' })], own)],
      { m: script },
    );
    const values = new Array(shape.reduce((a, b) => a * b, 1)).fill(1);
    const answer = await infer(engine.model('e', ''), makeRequest([DATA(values, shape)]));
    await close();
    return {
      seen: backend.calls[0]?.request.inputs[0]?.shape,
      answered: answer.outputs[0]?.shape,
      error: answer.error,
    };
  };

  test('a tensor without a batch becomes a batch of one', async () => {
    const result = await through({ dims: '[2]' }, { dims: '[2]', maxBatch: 0 }, [2]);
    assert.deepEqual(result, { seen: [1, 2], answered: [2], error: undefined });
  });

  test('a dimension in front may already be the batch', async () => {
    const result = await through({ dims: '[2]' }, { dims: '[-1, 2]', maxBatch: 0 }, [3, 2]);
    assert.deepEqual(result, { seen: [3, 2], answered: [3, 2], error: undefined });
  });

  test('a batch of one is dropped for a model that does not batch', async () => {
    const result = await through({ dims: '[2]', maxBatch: 0 }, { dims: '[2]' }, [1, 2]);
    assert.deepEqual(result, { seen: [2], answered: [1, 2], error: undefined });
  });

  test('a larger batch is handed on and refused by the model', async () => {
    const result = await through({ dims: '[2]', maxBatch: 0 }, { dims: '[2]' }, [3, 2]);
    assert.equal(result.error?.code, 'INVALID_ARG');
    assert.match(result.error!.message, /^in ensemble 'e', .*unexpected shape for input 'IN' for model 'm'/);
  });
});

describe('optional tensors', () => {
  test('an input that was not given is left out of the steps, an output that was not made out of the response', async () => {
    const some: Script = (request) => {
      const outputs = request.inputs.map((input) => ({ ...input, name: input.name === 'A' ? 'X' : 'Y' }));
      request.respond({ outputs }, true);
    };
    const { engine, backend, close } = await start(
      [
        model('m', { inputs: ['A', 'B?'], outputs: ['X', 'Y'] }),
        model('n', { inputs: ['A', 'B?'], outputs: ['X', 'Y'] }),
        ensemble(
          'e',
          [
            step('m', { A: 'DATA', B: 'MORE' }, { X: 'x', Y: 'y' }),
            step('n', { A: 'x', B: 'y' }, { X: 'RESULT', Y: 'SECOND' }),
          ],
          { inputs: ['DATA', 'MORE?'], outputs: ['RESULT', 'SECOND'] },
        ),
      ],
      { m: some, n: some },
    );
    const answer = await ask(engine.model('e', ''));
    assert.equal(answer.error, undefined);
    assert.deepEqual(
      backend.calls.map(({ request }) => request.inputs.map(({ name }) => name)),
      [['A'], ['A']],
    );
    assert.deepEqual(
      answer.outputs.map(({ name }) => name),
      ['RESULT'],
    );
    const full = await infer(engine.model('e', ''), makeRequest([DATA(), int32('MORE', [1, 1], [2])]));
    assert.deepEqual(int32Values(full, 'SECOND'), [2]);
    await close();
  });

  test('a model that answers nothing at all leaves the ensemble without a response of its own', async () => {
    const silent: Script = (request) => request.respond(undefined, true);
    const { engine, close } = await start(CHAIN, { first: silent });
    const answer = await ask(engine.model('chain', ''), { id: 'z' });
    assert.equal(answer.error?.code, 'INVALID_ARG');
    assert.equal(
      answer.error?.message,
      "in ensemble 'chain', [request id: z] unexpected deadlock, at least one output is not set while no more " +
        'ensemble steps can be made',
    );
    await close();
  });
});

describe('places in sequences', () => {
  const answering =
    (parameters: [string, bigint | string | boolean][]): Script =>
    (request) =>
      request.respond({ outputs: [{ ...request.inputs[0]!, name: 'OUT' }], parameters }, true);

  test('a step gives the place to those behind it and to the response', async () => {
    const { engine, backend, close } = await start(CHAIN, {
      first: answering([
        ['sequence_id', 9n],
        ['sequence_start', true],
        ['other', 'x'],
      ]),
    });
    const answer = await ask(engine.model('chain', ''), { correlationId: 5n, sequenceEnd: true });
    const [first, second] = backend.calls.map(({ request }) => request);
    assert.deepEqual([first!.correlationId, first!.sequenceStart, first!.sequenceEnd], [5n, false, true]);
    assert.deepEqual([second!.correlationId, second!.sequenceStart, second!.sequenceEnd], [9n, true, false]);
    // The second step gave none: its output carries the request's.
    assert.deepEqual(answer.parameters[0], ['sequence_id', 5n]);
    await close();
  });

  test('the last step decides what the response says', async () => {
    const { engine, close } = await start(CHAIN, { second: answering([['sequence_id', 'text']]) });
    const answer = await ask(engine.model('chain', ''));
    assert.deepEqual(answer.parameters, [
      ['sequence_id', 'text'],
      ['sequence_start', false],
      ['sequence_end', false],
    ]);
    await close();
  });

  const WRONG: [string, bigint | boolean, string][] = [
    [
      'sequence_id',
      true,
      "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING",
    ],
    ['sequence_start', 1n, "expect parameter 'sequence_start' to be TRITONSERVER_PARAMETER_BOOL"],
    ['sequence_end', 1n, "expect parameter 'sequence_end' to be TRITONSERVER_PARAMETER_BOOL"],
  ];
  for (const [name, value, text] of WRONG) {
    test(`${name} of the wrong type fails the request`, async () => {
      const { engine, close } = await start(CHAIN, { first: answering([[name, value]]) });
      const { error } = await ask(engine.model('chain', ''));
      assert.deepEqual([error?.code, error?.message], ['INVALID_ARG', `in ensemble 'chain', ${text}`]);
      await close();
    });
  }
});
