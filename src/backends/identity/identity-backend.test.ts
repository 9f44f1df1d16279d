import assert from 'node:assert/strict';
import { test } from 'node:test';
import { infer, makeRequest, startEngine, strings } from '../../../test/support/engine/engine-harness.js';

const config = `name: "m" backend: "identity" max_batch_size: 8
  input { name: "INPUT0" data_type: TYPE_STRING dims: [-1] } input { name: "INPUT1" data_type: TYPE_BF16 dims: [2] }
  output { name: "OUTPUT0" data_type: TYPE_STRING dims: [-1] } output { name: "OUTPUT1" data_type: TYPE_BF16 dims: [2] }`;

test('copies tensors of any datatype, strings with any bytes', async () => {
  const { engine, close } = await startEngine({ 'm/config.pbtxt': config, 'm/1/': '' });
  const text = strings('INPUT0', [1, 3], ['a\0b', Uint8Array.of(0xff, 0), '']);
  const halves = { name: 'INPUT1', datatype: 'BF16', shape: [1, 2], data: Uint8Array.of(1, 2, 3, 4) };
  const model = engine.model('m', '');
  const all = await infer(model, makeRequest([text, halves]));
  assert.deepEqual(
    all.outputs.map(({ name, datatype, shape, data }) => [name, datatype, shape, Buffer.from(data)]),
    [
      ['OUTPUT0', 'BYTES', [1, 3], Buffer.from(text.data)],
      ['OUTPUT1', 'BF16', [1, 2], Buffer.from(halves.data)],
    ],
  );
  const one = await infer(model, makeRequest([text, halves], { requestedOutputs: ['OUTPUT1'] }));
  assert.deepEqual(
    one.outputs.map(({ name }) => name),
    ['OUTPUT1'],
  );
  await close();
});

test('an output without its input is refused', async () => {
  const text = config.replace('"OUTPUT1"', '"OTHER"');
  const { engine, close } = await startEngine({ 'm/config.pbtxt': text, 'm/1/': '' });
  assert.equal(
    engine.versionState('m', '1')?.reason,
    "Invalid argument: model 'm' has no input 'OTHER' for its output 'OTHER'",
  );
  await close();
});

test('a model without a configuration is refused', async () => {
  const { engine, close } = await startEngine({ 'm.identity/1/': '' });
  assert.equal(
    engine.versionState('m.identity', '1')?.reason,
    "Not found: model configuration is not provided for model 'm.identity'",
  );
  await close();
});
