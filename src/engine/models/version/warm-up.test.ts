import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatedBackend, startEngine } from '../../../../test/support/engine/engine-harness.js';

const config = (warmup: string) => `name: "m" backend: "gated" max_batch_size: 4
  input { name: "IN" data_type: TYPE_INT32 dims: [-1] } output { name: "OUT" data_type: TYPE_INT32 dims: [-1] }
  instance_group { count: 2 } ${warmup}`;

const sample = (input: string, more = 'batch_size: 2') =>
  `model_warmup { name: "first" ${more} inputs { key: "IN" value { ${input} } } }`;

async function start(warmup: string) {
  const backend = new GatedBackend();
  backend.open = true;
  const files = {
    'm/config.pbtxt': config(warmup),
    'm/1/': '',
    'm/warmup/short': 'abc',
    'm/warmup/long': 'abcdefghijkl',
  };
  const started = await startEngine(files, { backends: [backend] });
  return { ...started, backend };
}

describe('warm-up', () => {
  test('runs every sample on every instance and counts', async () => {
    const { engine, backend, log, close } = await start(
      sample('data_type: TYPE_INT32 dims: [2] zero_data: true', 'batch_size: 2 count: 3'),
    );
    assert.equal(engine.startError, undefined, log.join('\n'));
    assert.equal(backend.executions.length, 6);
    for (const { batch } of backend.executions) {
      assert.deepEqual(
        batch.map((request) => request.inputs.map(({ shape, data }) => [shape, [...data]])),
        [1, 2].map(() => [
          [
            [1, 2],
            [0, 0, 0, 0, 0, 0, 0, 0],
          ],
        ]),
      );
    }
    const [statistics] = engine.statistics('m', '');
    assert.equal(statistics!.inference_count, 12n);
    assert.equal(statistics!.execution_count, 6n);
    assert.equal(engine.metrics()[0]!.loaded!.pending, 0);
    await close();
  });

  test('gives controls of sequences a batch dimension, too', async () => {
    const controls = ['START', 'READY'].map(
      (kind) => `control_input { name: "${kind}" control { kind: CONTROL_SEQUENCE_${kind} int32_false_true: [0, 1] } }`,
    );
    const value = (name: string, dims: string) =>
      `inputs { key: "${name}" value { data_type: TYPE_INT32 dims: [${dims}] zero_data: true } }`;
    const { engine, backend, log, close } = await start(
      `sequence_batching { ${controls.join(' ')} }
       model_warmup { name: "s" batch_size: 1 ${value('IN', '2')} ${value('START', '1')} ${value('READY', '1')} }`,
    );
    assert.equal(engine.startError, undefined, log.join('\n'));
    const shapes = backend.executions[0]!.batch[0]!.inputs.map(({ name, shape }) => [name, shape]);
    assert.deepEqual(Object.fromEntries(shapes), { IN: [1, 2], START: [1, 1], READY: [1, 1] });
    await close();
  });

  test('takes as many bytes of a file as it needs', async () => {
    const { backend, close } = await start(sample('data_type: TYPE_INT32 dims: [1] input_data_file: "long"'));
    assert.equal(Buffer.from(backend.executions[0]!.batch[0]!.inputs[0]!.data).toString(), 'abcd');
    await close();
  });

  test('a batch of 0 is skipped', async () => {
    const { engine, backend, close } = await start(sample('data_type: TYPE_INT32 dims: [1] zero_data: true', ''));
    assert.equal(engine.startError, undefined);
    assert.equal(backend.executions.length, 0);
    await close();
  });

  const refused: [string, string, RegExp][] = [
    [
      'a variable dimension',
      'data_type: TYPE_INT32 dims: [-1] zero_data: true',
      /^Invalid argument: warmup setting expects all variable-size dimensions are specified for input 'IN'$/,
    ],
    [
      'no kind of data',
      'data_type: TYPE_INT32 dims: [1]',
      /^Invalid argument: \[request id: <id_unknown>\] warmup setting expects input 'IN' to have input_data_type set$/,
    ],
    [
      'a short file',
      'data_type: TYPE_INT32 dims: [1] input_data_file: "short"',
      /^Invalid argument: \[request id: <id_unknown>\] warmup setting expects 4 bytes, but the data provided from shortonly has 3 bytes$/,
    ],
    [
      'a missing file',
      'data_type: TYPE_INT32 dims: [1] input_data_file: "none"',
      /^Internal: failed to open text file for read .*\/m\/warmup\/none: No such file or directory$/,
    ],
    [
      'a wrong type',
      'data_type: TYPE_FP32 dims: [1] zero_data: true',
      /^Invalid argument: \[request id: <id_unknown>\] inference input 'IN' data-type is 'FP32', but model 'm' expects 'INT32'$/,
    ],
    ['no type', 'dims: [1] zero_data: true', /data-type is '<invalid>', but model 'm' expects 'INT32'$/],
  ];
  for (const [title, input, reason] of refused) {
    test(`${title} fails the load`, async () => {
      const { engine, close } = await start(sample(input));
      assert.match(engine.versionState('m', '1')!.reason, reason);
      await close();
    });
  }
});
