import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  int32Values,
  makeRequest,
  settle,
  startEngine,
} from '../../../test/support/engine-harness.js';
import { echo, type Script, ScriptedBackend } from '../../../test/support/scripted-backend.js';
import type { ExecutionRequest } from '../../backends/backend.js';
import { TritonError } from '../../protocol/error.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { ReadyModel } from '../engine-api.js';
import type { InferenceRequest, InferenceResponse } from '../request.js';

interface Io {
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly dims?: string;
  readonly maxBatch?: number;
  readonly more?: string;
}

function tensors(kind: string, names: readonly string[], dims: string): string {
  // A name that ends in ? is optional.
  return names
    .map((name) => {
      const optional = name.endsWith('?') ? 'optional: true' : '';
      return `${kind} { name: "${name.replace('?', '')}" data_type: TYPE_INT32 dims: ${dims} ${optional} }`;
    })
    .join(' ');
}

function model(name: string, io: Io = {}, backend = 'scripted'): string {
  const { inputs = ['IN'], outputs = ['OUT'], dims = '[1]', maxBatch = 8, more = '' } = io;
  return `name: "${name}" backend: "${backend}" max_batch_size: ${maxBatch} ${tensors('input', inputs, dims)}
    ${tensors('output', outputs, dims)} instance_group { count: 1 kind: KIND_CPU } ${more}`;
}

/** `step('m', { IN: 'a' }, { OUT: 'b' })` */
function step(name: string, from: Record<string, string>, to: Record<string, string>, version = -1): string {
  const map = (kind: string, entries: Record<string, string>): string =>
    Object.entries(entries)
      .map(([key, value]) => `${kind} { key: "${key}" value: "${value}" }`)
      .join(' ');
  return `step { model_name: "${name}" model_version: ${version} ${map('input_map', from)} ${map('output_map', to)} }`;
}

function ensemble(name: string, steps: readonly string[], io: Io = {}): string {
  const { inputs = ['DATA'], outputs = ['RESULT'], dims = '[1]', maxBatch = 8, more = '' } = io;
  return `name: "${name}" platform: "ensemble" max_batch_size: ${maxBatch} ${tensors('input', inputs, dims)}
    ${tensors('output', outputs, dims)} ensemble_scheduling { ${steps.join(' ')} ${more} }`;
}

async function start(configs: readonly string[], scripts: Record<string, Script> = {}) {
  const backend = new ScriptedBackend(scripts);
  const gated = new GatedBackend();
  const files = configs.flatMap((text) => {
    const name = /^name: "(.*?)"/.exec(text)![1]!;
    return [
      [`${name}/config.pbtxt`, text],
      [`${name}/1/`, ''],
    ];
  });
  const started = await startEngine(Object.fromEntries(files), { backends: [backend, gated] });
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  return { ...started, backend, gated };
}

const DATA = (values: number[] = [7], shape = [values.length, 1]) => int32('DATA', shape, values);

function ask(target: ReadyModel, more: Partial<InferenceRequest> = {}): Promise<InferenceResponse> {
  return infer(target, makeRequest([DATA()], more));
}

/** Everything that comes for one request until the final call. */
function stream(target: ReadyModel, request: InferenceRequest): Promise<[InferenceResponse | undefined, boolean][]> {
  return new Promise((resolve) => {
    const calls: [InferenceResponse | undefined, boolean][] = [];
    target.submit(request, (response, final) => {
      calls.push([response, final]);
      if (final) resolve(calls);
    });
  });
}

const tensor = (name: string, shape: readonly number[], values: readonly number[]): Tensor => ({
  ...{ name, datatype: 'INT32', shape, data: new Uint8Array(Int32Array.from(values).buffer) },
});

const CHAIN = [
  model('first'),
  model('second'),
  ensemble('chain', [step('first', { IN: 'DATA' }, { OUT: 'mid' }), step('second', { IN: 'mid' }, { OUT: 'RESULT' })]),
];

suite('steps of an ensemble', () => {
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

suite('shapes between models of which one batches', () => {
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

suite('optional tensors', () => {
  test('an input that was not given is left out of the steps, an output that was not made out of the answer', async () => {
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

  test('a model that answers nothing at all leaves the ensemble without an answer of its own', async () => {
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

suite('a step that fails', () => {
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

suite('a decoupled ensemble', () => {
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

  test('the end rides on the last answer when they come together', async () => {
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

suite('places in sequences', () => {
  const answering =
    (parameters: [string, bigint | string | boolean][]): Script =>
    (request) =>
      request.respond({ outputs: [{ ...request.inputs[0]!, name: 'OUT' }], parameters }, true);

  test('a step gives the place to those behind it and to the answer', async () => {
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

  test('the last step decides what the answer says', async () => {
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

suite('a request of an ensemble', () => {
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

suite('max_inflight_requests', () => {
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
