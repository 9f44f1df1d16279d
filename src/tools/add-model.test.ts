import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { block, externalTensor, node, onnxModel } from '../../test/support/repositories/onnx-builder.js';
import { TritonError } from '../base/error.js';
import { readPbtxt } from '../modelconfig/pbtxt/read-pbtxt.js';
import { addModel } from './add-model.js';

const root = mkdtempSync(join(tmpdir(), 'add-model-'));
after(() => rmSync(root, { recursive: true }));
const fresh = (): string => mkdtempSync(join(root, 'case-'));

const X = { name: 'x', dims: ['n', 3, 8] };
const Y = { name: 'y', dims: ['n', 3, 8] };

/** Writes a model file and a repository beside it. */
function prepare(bytes: Uint8Array, file = 'net.onnx'): { file: string; repository: string; home: string } {
  const home = fresh();
  const path = join(home, file);
  writeFileSync(path, bytes);
  return { file: path, repository: join(home, 'models'), home };
}

/** A model whose weights lie in other files: y = x + w for each. */
function withWeights(...weights: Uint8Array[]): Uint8Array {
  return onnxModel({
    inputs: [{ name: 'x', dims: [4] }],
    outputs: [{ name: 'y', dims: [4] }],
    graph: [...weights.map((weight) => block(5, weight)), node('Add', ['x', 'w'], ['y'])],
  });
}

describe('addModel', () => {
  test('makes a repository, the layout and a configuration that reads back equal', async () => {
    const { file, repository } = prepare(onnxModel({ inputs: [X], outputs: [Y] }));
    const added = await addModel({ file, repository });
    assert.deepEqual([added.name, added.directory, added.warnings], ['net', join(repository, 'net'), []]);
    assert.deepEqual(readdirSync(added.directory).sort(), ['1', 'config.pbtxt']);
    assert.deepEqual(readFileSync(join(added.directory, '1', 'model.onnx')), readFileSync(file));
    const text = readFileSync(join(added.directory, 'config.pbtxt'), 'utf8');
    assert.equal(text, added.configText);
    const { config, errors } = readPbtxt(text);
    assert.deepEqual(errors, []);
    assert.deepEqual(config, added.config);
    assert.deepEqual(
      [config.max_batch_size, config.platform, config.input[0]?.dims],
      [4, 'onnxruntime_onnx', [3n, 8n]],
    );
    assert.notEqual(config.dynamic_batching, undefined);
  });

  test('takes a batch size, and none', async () => {
    const { file, repository } = prepare(onnxModel({ inputs: [X], outputs: [Y] }));
    const large = await addModel({ file, repository, name: 'large', maxBatchSize: 32 });
    assert.deepEqual([large.config.max_batch_size, large.config.input[0]?.dims], [32, [3n, 8n]]);
    const none = await addModel({ file, repository, name: 'none', maxBatchSize: 0 });
    assert.deepEqual([none.config.max_batch_size, none.config.input[0]?.dims], [0, [-1n, 3n, 8n]]);
    assert.deepEqual(readdirSync(repository).sort(), ['large', 'none']);
  });

  test('knows shapes that only the runtime can infer', async () => {
    const model = onnxModel({ inputs: [X], outputs: [{ name: 'y', dims: ['n', 'a', 'b'] }] });
    const { config } = await addModel(prepare(model));
    assert.deepEqual(config.output[0]?.dims, [3n, 8n]);
  });

  test('copies the files that hold weights', async () => {
    const { file, repository, home } = prepare(
      withWeights(
        externalTensor('w', [4], 'weights.bin', { offset: 0, length: 16 }),
        externalTensor('v', [2], './sub/more.bin', { offset: 8, length: 8 }),
        externalTensor('u', [2], 'sub/more.bin', { offset: 0, length: 8 }),
      ),
    );
    writeFileSync(join(home, 'weights.bin'), Buffer.alloc(16, 1));
    mkdirSync(join(home, 'sub'));
    writeFileSync(join(home, 'sub', 'more.bin'), Buffer.alloc(16, 2));
    const { directory, externalFiles } = await addModel({ file, repository });
    assert.deepEqual(externalFiles, ['weights.bin', 'sub/more.bin']);
    assert.deepEqual(readFileSync(join(directory, '1', 'weights.bin')), Buffer.alloc(16, 1));
    assert.deepEqual(readFileSync(join(directory, '1', 'sub', 'more.bin')), Buffer.alloc(16, 2));
  });

  test('overwrites nothing', async () => {
    const { file, repository } = prepare(onnxModel({ inputs: [X], outputs: [Y] }));
    await addModel({ file, repository });
    const message = `'${repository}' has 'net' already and nothing is overwritten; give another --name, or remove it first`;
    await assert.rejects(addModel({ file, repository }), new TritonError('ALREADY_EXISTS', message));
  });

  test('warns about a name that HTTP cannot carry', async () => {
    const { warnings } = await addModel({ ...prepare(onnxModel({ inputs: [X], outputs: [Y] })), name: 'my net' });
    assert.deepEqual(warnings, [
      "HTTP clients cannot ask for 'my net', because paths are not percent-decoded; gRPC clients can",
    ]);
  });

  const model = onnxModel({ inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] });
  const refused: [title: string, bytes: Uint8Array, options: object, message: RegExp][] = [
    [
      'text',
      Buffer.from('no model'),
      {},
      /^'.*net\.onnx' is not an ONNX model \(onnx runtime error 7: .* at byte \d+\)$/,
    ],
    ['an empty file', new Uint8Array(0), {}, /^'.*net\.onnx' is not an ONNX model \(.*does not have a graph\.\)$/],
    ['a cut file', model.subarray(0, model.length - 20), {}, /is not an ONNX model/],
    [
      'a name with a slash',
      model,
      { name: 'a/b' },
      /^'a\/b' cannot name a model: it must be the name of one directory$/,
    ],
    ['the name ..', model, { name: '..' }, /^'\.\.' cannot name a model/],
    ['a blank name', model, { name: ' ' }, /^a model needs a name; give one with --name$/],
    ['batching on a fixed model', model, { maxBatchSize: 8 }, /model does not support batching while non-zero/],
    [
      'a sequence',
      onnxModel({ inputs: [{ name: 'x', kind: 4 }] }),
      {},
      /^Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I\/O 'x', expected 'ONNX_TYPE_TENSOR'\.$/,
    ],
    [
      'an 8-bit float',
      onnxModel({ inputs: [{ name: 'x', type: 17, dims: [4] }] }),
      {},
      /^tensor 'x' has elements of type FLOAT8E4M3FN, which the protocol cannot carry$/,
    ],
    [
      'a dimension of 0',
      onnxModel({ inputs: [{ name: 'x', dims: [0] }], outputs: [{ name: 'y', dims: [0] }] }),
      {},
      /^model input 'x' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for net$/,
    ],
    [
      'an operator that does not exist',
      onnxModel({ inputs: [X], outputs: [Y], graph: [node('Nonsense', ['x'], ['y'])] }),
      {},
      /^the runtime refuses '.*net\.onnx': .*Nonsense/s,
    ],
    [
      'missing weights',
      withWeights(externalTensor('w', [4], 'w.bin')),
      {},
      /^the model's weights are missing: no file/,
    ],
    [
      'short weights',
      withWeights(externalTensor('w', [4], 'net.onnx', { offset: 4096, length: 16 })),
      {},
      /^the model's weights are cut short: '.*net\.onnx' has \d+ bytes, not 4112$/,
    ],
    [
      'weights outside',
      withWeights(externalTensor('w', [4], '../w.bin')),
      {},
      /^weights of 'w' lie in '\.\.\/w\.bin', which is not below the model's own directory$/,
    ],
    ['weights that are a folder', withWeights(externalTensor('w', [4], 'models-to-come')), {}, /models-to-come/],
  ];
  for (const [title, bytes, options, message] of refused) {
    test(`refuses ${title} and leaves nothing behind`, async () => {
      const { file, repository, home } = prepare(bytes);
      mkdirSync(join(home, 'models-to-come'));
      await assert.rejects(addModel({ file, repository, ...options }), { message });
      assert.deepEqual(readdirSync(home).sort(), ['models-to-come', basename(file)].sort());
    });
  }
});
