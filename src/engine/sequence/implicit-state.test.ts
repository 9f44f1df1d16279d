import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { infer, int32, int32Values, settle, startEngine } from '../../../test/support/engine/engine-harness.js';
import { startSequenceModel, step, viewOf } from '../../../test/support/engine/sequence-model.js';
import type { ExecutionRequest } from '../../contract/backend.js';

const STATE = 'input_name: "SUM" output_name: "SUM_OUT" data_type: TYPE_INT32';

/** Executes as a model does whose OUT and SUM_OUT are SUM + IN. */
function addUp(request: ExecutionRequest): void {
  const sum = viewOf(request, 'SUM').getInt32(0, true) + viewOf(request, 'IN').getInt32(0, true);
  const tensor = { ...int32('SUM_OUT', [1, 1], [sum]), datatype: 'INT32' as const };
  request.state?.update(tensor);
  request.respond({ outputs: [{ ...tensor, name: 'OUT' }] }, true);
}

async function startSumming(strategy: string, state = `${STATE} dims: [1]`, options = {}) {
  const started = await startSequenceModel(`${strategy} state { ${state} }`, options);
  started.backend.open = true;
  started.backend.answer = addUp;
  const sum = async (...args: Parameters<typeof step>) =>
    int32Values(await infer(started.model, step(...args)), 'OUT')[0];
  return { ...started, sum };
}

/** What the state was fed with, by request. */
const fed = (batch: readonly ExecutionRequest[]) => batch.map((request) => viewOf(request, 'SUM').getInt32(0, true));

for (const strategy of ['direct {}', 'oldest { max_candidate_sequences: 3 }']) {
  describe(strategy, () => {
    test('each sequence has states of its own; START begins again', async () => {
      const { sum, close } = await startSumming(strategy);
      assert.equal(await sum(1n, 1, 'S'), 1);
      assert.equal(await sum(2n, 100, 'S'), 100);
      assert.equal(await sum(1n, 2), 3);
      assert.equal(await sum(2n, 10), 110);
      assert.equal(await sum(1n, 3, 'E'), 6);
      assert.equal(await sum(3n, 7, 'S'), 7, 'the slot of sequence 1 has no state left');
      assert.equal(await sum(2n, 5, 'S'), 5, 'a START before the END');
      assert.equal(await sum(2n, 1), 6);
      await close();
    });

    test('a failed execution leaves the state as it was', async () => {
      const { sum, model, backend, close } = await startSumming(strategy);
      await sum(1n, 1, 'S');
      backend.open = false;
      const failing = infer(model, step(1n, 2));
      await backend.begun(2);
      backend.executions[1]!.fail(new Error('broken'));
      assert.equal((await failing).error?.message, 'broken');
      backend.open = true;
      assert.equal(await sum(1n, 3), 4);
      await close();
    });

    test('values of one batch do not mix', async () => {
      const { sum, model, backend, close } = await startSumming(strategy);
      await sum(1n, 1, 'S');
      await sum(2n, 2, 'S');
      backend.open = false;
      const answers = [infer(model, step(1n, 10)), infer(model, step(2n, 20))];
      await backend.begun(3);
      assert.deepEqual(fed(backend.executions[2]!.batch), [1, 2]);
      backend.executions[2]!.finish();
      const values = (await Promise.all(answers)).map((answer) => int32Values(answer, 'OUT')[0]);
      assert.deepEqual(values, [11, 22]);
      await close();
    });

    test('states of other shapes are not put into one batch', async () => {
      const { model, backend, close } = await startSumming(strategy, `${STATE} dims: [-1]`);
      backend.answer = (request) => {
        // The state of sequence 1 grows.
        const length = request.correlationId === 1n ? 2 : 1;
        const tensor = { ...int32('SUM_OUT', [1, length], new Array(length).fill(5)), datatype: 'INT32' as const };
        request.state?.update(tensor);
        request.respond({ outputs: [{ ...tensor, name: 'OUT' }] }, true);
      };
      await infer(model, step(1n, 1, 'S'));
      await infer(model, step(2n, 1, 'S'));
      const before = backend.executions.length;
      await Promise.all([infer(model, step(1n, 2)), infer(model, step(2n, 2))]);
      const ids = backend.executions.slice(before).map((execution) => execution.ids.filter((id) => id !== ''));
      assert.deepEqual(ids, [['1.2'], ['2.2']]);
      await close();
    });
  });
}

test('a model that does not batch has one slot, and tensors without a batch dimension', async () => {
  const { model, backend, close } = await startSumming('direct {}', undefined, { batch: 0 });
  const sum = async (id: bigint, value: number, flags = '') => {
    const request = step(id, value, flags, { inputs: [int32('IN', [1], [value])] });
    return int32Values(await infer(model, request), 'OUT')[0];
  };
  assert.equal(await sum(1n, 4, 'S'), 4);
  const waiting = sum(2n, 100, 'SE');
  assert.equal(await sum(1n, 5, 'E'), 9);
  assert.equal(await waiting, 100);
  assert.deepEqual(
    backend.executions[0]!.batch[0]!.inputs.map(({ name, shape }) => [name, shape]),
    [
      ['IN', [1]],
      ['START', [1]],
      ['READY', [1]],
      ['END', [1]],
      ['ID', [1]],
      ['SUM', [1]],
    ],
  );
  await close();
});

describe('null rows', () => {
  test('get zeros, and touch no state', async () => {
    const { sum, backend, close } = await startSumming('direct {}');
    await sum(1n, 5, 'S');
    await sum(2n, 7, 'S');
    await sum(2n, 1);
    assert.deepEqual(
      backend.executions.map(({ batch }) => fed(batch)),
      [[0], [0, 0], [0, 7]],
    );
    assert.equal(await sum(1n, 1), 6);
    await close();
  });
});

describe('the first request of a sequence is fed', () => {
  const firstState = async (state: string, files = {}) => {
    const { model, backend, close } = await startSequenceModel(`direct {} state { ${state} }`, { files });
    backend.open = true;
    await infer(model, step(1n, 1, 'S'));
    const input = backend.executions[0]!.batch[0]!.inputs.find(({ name }) => name === 'SUM')!;
    await close();
    return { datatype: input.datatype, shape: input.shape, data: [...input.data] };
  };
  const initial = (more: string) => `initial_state { name: "first" data_type: TYPE_INT32 ${more} }`;

  test('zeros of the configured shape, variable dimensions as 1', async () => {
    assert.deepEqual(await firstState(`${STATE} dims: [-1, 2]`), {
      datatype: 'INT32',
      shape: [1, 1, 2],
      data: new Array(8).fill(0),
    });
  });

  test('zero_data', async () => {
    const { data } = await firstState(`${STATE} dims: [1] ${initial('dims: [1] zero_data: true')}`);
    assert.deepEqual(data, [0, 0, 0, 0]);
  });

  test('the beginning of the data file', async () => {
    const files = { 'initial_state/begin': Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]) };
    const { data } = await firstState(`${STATE} dims: [2] ${initial('dims: [2] data_file: "begin"')}`, files);
    assert.deepEqual(data, [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('empty strings', async () => {
    assert.deepEqual(await firstState('input_name: "SUM" output_name: "SUM_OUT" data_type: TYPE_STRING dims: [2]'), {
      datatype: 'BYTES',
      shape: [1, 2],
      data: new Array(8).fill(0),
    });
  });

  test('the same value when input and output share a buffer', async () => {
    const { sum, close } = await startSumming('direct {}', `${STATE} dims: [1] use_same_buffer_for_input_output: true`);
    assert.equal(await sum(1n, 1, 'S'), 1);
    assert.equal(await sum(1n, 2, 'E'), 3);
    await close();
  });

  test('nothing, with a line in the log at each START, where memory should grow on a CPU', async () => {
    const { model, backend, log, close } = await startSequenceModel(
      `direct {} state { ${STATE} dims: [1] use_same_buffer_for_input_output: true use_growable_memory: true }`,
    );
    backend.open = true;
    for (const flags of ['S', '', 'S']) await infer(model, step(1n, 1, flags));
    assert.ok(!backend.executions[0]!.batch[0]!.inputs.some(({ name }) => name === 'SUM'));
    assert.deepEqual(
      log.filter((line) => line.startsWith('E')),
      new Array(2).fill(
        "E Failed to initialize sequence state: 'use_growable_memory' can only work with KIND_GPU model instances " +
          'right now. Please either change the instance type to KIND_GPU or set ' +
          "'use_growable_memory' to false for state input 'SUM'.",
      ),
    );
    await close();
  });
});

describe('configurations', () => {
  const load = async (states: string, files = {}) => {
    const text = `name: "m" backend: "identity" max_batch_size: 2
      input { name: "INPUT0" data_type: TYPE_INT32 dims: [1] } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [1] }
      sequence_batching { ${states} }`;
    return await startEngine({ 'm/config.pbtxt': text, 'm/1/': '', ...files });
  };

  test('that are wrong fail the load', async () => {
    for (const [states, reason] of [
      [
        `state { ${STATE} dims: [1] initial_state { name: "n" data_type: TYPE_FP32 dims: [1] zero_data: true } }`,
        "The data type used for 'initial_state' field of state 'SUM' does not match the state data type.",
      ],
      [
        `state { ${STATE} dims: [1] initial_state { name: "n" data_type: TYPE_INT32 dims: [1] } }`,
        "initial_state setting expects state'SUM' to have state_data set",
      ],
      [
        `state { ${STATE} dims: [2] initial_state { name: "n" data_type: TYPE_INT32 dims: [2] data_file: "short" } }`,
        'initial_state setting expects 8 bytes, but the data provided from shortonly has 4 bytes.',
      ],
    ] as const) {
      const { engine, close } = await load(states, { 'm/initial_state/short': 'four' });
      assert.equal(engine.versionState('m', '1')?.reason, `Invalid argument: ${reason}`);
      await close();
    }
  });

  test('that name a state twice are taken with a warning, the second is ignored', async () => {
    const { log, close } = await load(`state { ${STATE} dims: [1] } state { ${STATE} dims: [1] }`);
    assert.ok(
      log.includes(
        "W Detected duplicate 'input_name' in the state configuration: 'SUM.' This state configuration will be ignored.",
      ),
      log.join('\n'),
    );
    await settle();
    await close();
  });
});

test('an output that is not a state is refused as one', async () => {
  const { model, backend, close } = await startSequenceModel(`direct {} state { ${STATE} dims: [1] }`);
  backend.open = true;
  let refusal: unknown;
  backend.answer = (request) => {
    try {
      request.state!.update({ name: 'OTHER', datatype: 'INT32', shape: [1, 1], data: new Uint8Array(4) });
    } catch (reason) {
      refusal = reason;
    }
    request.respond({ outputs: [] }, true);
  };
  await infer(model, step(1n, 1, 'S'));
  assert.equal((refusal as Error).message, "state 'OTHER' is not a valid state name.");
  await close();
});
