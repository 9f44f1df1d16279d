import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  infer,
  int32,
  int32Values,
  makeRequest,
  startEngine,
  strings,
} from '../../../test/support/engine/engine-harness.js';
import { initializer, node, onnxModel } from '../../../test/support/repositories/onnx-builder.js';
import type { ReadyModel } from '../../contract/engine.js';
import type { InferenceRequest, RequestInput } from '../../contract/request.js';

const INT32 = 6;
const INT64 = 7;
const STRING = 8;
const column = (name: string, type = INT32, rows = 'N') => ({ name, type, dims: [rows, 1] });

/** OUT = SUM_OUT = IN + SUM. */
const ADD = onnxModel({
  inputs: [column('IN'), column('SUM')],
  outputs: [column('OUT'), column('SUM_OUT')],
  graph: [node('Add', ['IN', 'SUM'], ['OUT']), node('Identity', ['OUT'], ['SUM_OUT'])],
});

/** OUT = the string before, BEFORE_OUT = this one. */
const REMEMBER = onnxModel({
  inputs: [column('IN', STRING), column('BEFORE', STRING)],
  outputs: [column('OUT', STRING), column('BEFORE_OUT', STRING)],
  graph: [node('Identity', ['BEFORE'], ['OUT']), node('Identity', ['IN'], ['BEFORE_OUT'])],
});

/** SUM_OUT has one row, whatever the batch has. */
const ONE_ROW = onnxModel({
  inputs: [column('IN'), column('SUM')],
  outputs: [column('OUT'), column('SUM_OUT', INT32, 'M')],
  graph: [
    initializer('FIRST', [1], new Uint8Array(BigInt64Array.of(0n).buffer), INT64),
    node('Add', ['IN', 'SUM'], ['OUT']),
    node('Gather', ['OUT', 'FIRST'], ['SUM_OUT']),
  ],
});

const config = (type: string, strategy: string, state: string, outputs = '') => `
  backend: "onnxruntime" max_batch_size: 4 input { name: "IN" data_type: ${type} dims: [1] }
  output { name: "OUT" data_type: ${type} dims: [1] } ${outputs} instance_group { count: 1 kind: KIND_CPU }
  sequence_batching { ${strategy} state { ${state} data_type: ${type} dims: [1] } }`;
const SUM_STATE = 'input_name: "SUM" output_name: "SUM_OUT"';

async function start(mode: string, text: string, model: Uint8Array) {
  const started = await startEngine(
    { 'm/config.pbtxt': text, 'm/1/model.onnx': model },
    { backendConfig: [{ backend: 'onnxruntime', key: 'inline-execution', value: mode }] },
  );
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  return { ...started, model: started.engine.model('m', '') };
}

function send(model: ReadyModel, id: bigint, input: RequestInput, flags = '') {
  return infer(model, sequenceRequest(id, input, flags));
}

/** A request of a sequence; `flags` holds S for its start and E for its end. */
function sequenceRequest(id: bigint, input: RequestInput, flags: string): InferenceRequest {
  const [sequenceStart, sequenceEnd] = [flags.includes('S'), flags.includes('E')];
  return makeRequest([input], { correlationId: id, sequenceStart, sequenceEnd });
}

for (const mode of ['auto', 'off']) {
  describe(`implicit state, inline-execution=${mode}`, () => {
    for (const strategy of ['direct {}', 'oldest { max_candidate_sequences: 4 }']) {
      test(`sequences that share batches, ${strategy}`, async () => {
        const { model, close } = await start(mode, config('TYPE_INT32', strategy, SUM_STATE), ADD);
        const sums = [0, 0, 0];
        for (let round = 0; round < 20; round++) {
          const flags = round === 0 ? 'S' : round === 19 ? 'E' : '';
          await Promise.all(
            sums.map(async (sum, index) => {
              const value = round * 10 + index;
              // Each sequence misses some rounds: rows lie empty, batches differ.
              if (flags === '' && (round + index) % 3 === 0) return;
              const answer = await send(model, BigInt(index + 1), int32('IN', [1, 1], [value]), flags);
              sums[index] = sum + value;
              assert.deepEqual(
                answer.outputs.map(({ name }) => name),
                ['OUT'],
              );
              assert.deepEqual(int32Values(answer, 'OUT'), [sums[index]]);
            }),
          );
        }
        await close();
      });
    }

    test('strings', async () => {
      const state = 'input_name: "BEFORE" output_name: "BEFORE_OUT"';
      const { model, close } = await start(mode, config('TYPE_STRING', 'direct {}', state), REMEMBER);
      const seen: string[] = [];
      for (const [text, flags] of [
        ['one', 'S'],
        ['three', ''],
        ['six', 'E'],
      ] as const) {
        const answer = await send(model, 1n, strings('IN', [1, 1], [text]), flags);
        seen.push(Buffer.from(answer.outputs[0]!.data.subarray(4)).toString());
      }
      assert.deepEqual(seen, ['', 'one', 'three']);
      await close();
    });

    test('a state that is an output too is answered where it is asked for', async () => {
      const output = 'output { name: "SUM_OUT" data_type: TYPE_INT32 dims: [1] }';
      const { model, close } = await start(mode, config('TYPE_INT32', 'direct {}', SUM_STATE, output), ADD);
      const first = await infer(model, {
        ...sequenceRequest(1n, int32('IN', [1, 1], [5]), 'S'),
        requestedOutputs: ['OUT'],
      });
      assert.deepEqual(
        first.outputs.map(({ name }) => name),
        ['OUT'],
      );
      const second = await send(model, 1n, int32('IN', [1, 1], [2]), 'E');
      assert.deepEqual(
        second.outputs.map(({ name }) => name),
        ['OUT', 'SUM_OUT'],
      );
      assert.deepEqual(int32Values(second, 'SUM_OUT'), [7]);
      await close();
    });

    test('a state without a row for a request fails that request and leaves its state', async () => {
      const { model, close } = await start(mode, config('TYPE_INT32', 'direct {}', SUM_STATE), ONE_ROW);
      await send(model, 1n, int32('IN', [1, 1], [1]), 'S');
      const { error } = await send(model, 2n, int32('IN', [1, 1], [1]), 'S');
      assert.equal(error?.code, 'UNSUPPORTED');
      assert.equal(
        error?.message,
        "[request id: <id_unknown>] failed to split the output state tensor 'SUM_OUT' in responses: expected batch size of " +
          'at least 2 in model output, got 1',
      );
      const next = await send(model, 1n, int32('IN', [1, 1], [4]), 'E');
      assert.deepEqual(int32Values(next, 'OUT'), [5]);
      await close();
    });
  });
}
