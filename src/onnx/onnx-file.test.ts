import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import {
  block,
  externalTensor,
  initializer,
  integer,
  node,
  onnxModel,
  value,
  varint,
} from '../../test/support/repositories/onnx-builder.js';
import { TritonError } from '../base/error.js';
import { type OnnxModel, readOnnxFile } from './onnx-file.js';
import { locateOnnxFile } from './onnx-path.js';

const folder = mkdtempSync(join(tmpdir(), 'onnx-file-'));
after(() => rmSync(folder, { recursive: true }));

const path = join(folder, 'model.onnx');
function read(bytes: Uint8Array): OnnxModel {
  writeFileSync(path, bytes);
  return readOnnxFile(path);
}

describe('readOnnxFile', () => {
  test('reads the header', () => {
    const model = read(
      onnxModel({
        irVersion: 8,
        opset: 17,
        inputs: [{ name: 'x', dims: ['batch', 3, undefined, -1, 0] }],
        outputs: [{ name: 'y', type: 7, dims: [] }, { name: 'z' }],
        graph: [node('Foo', ['x'], ['y', 'z'])],
        metadata: { author: 'me' },
      }),
    );
    assert.deepEqual(model.inputs, [
      { name: 'x', kind: 'TENSOR', elementType: 1, dims: [-1, 3, -1, -1, 0], hasShape: true },
    ]);
    assert.deepEqual(model.outputs, [
      { name: 'y', kind: 'TENSOR', elementType: 7, dims: [], hasShape: true },
      { name: 'z', kind: 'TENSOR', elementType: 1, dims: [], hasShape: false },
    ]);
    assert.deepEqual(
      [model.irVersion, model.producerName, model.graphName, model.nodeCount, model.opsets.get('')],
      [8, 'test', 'g', 1, 17],
    );
    assert.equal(model.metadata.get('author'), 'me');
  });

  test('marks values that are not tensors', () => {
    const kinds = [4, 5, 7, 8, 9];
    const model = read(onnxModel({ inputs: kinds.map((kind) => ({ name: `v${kind}`, kind })) }));
    assert.deepEqual(
      model.inputs.map((input) => input.kind),
      ['SEQUENCE', 'MAP', 'OPAQUE', 'SPARSETENSOR', 'UNKNOWN'],
    );
  });

  test('separates inputs from initializers that are listed as inputs', () => {
    const spec = {
      inputs: [
        { name: 'x', dims: [1] },
        { name: 'w', dims: [1] },
      ],
      outputs: [{ name: 'y', dims: [1] }],
      graph: [node('Add', ['x', 'w'], ['y']), initializer('w', [1], new Uint8Array(4))],
    };
    const names = (model: OnnxModel) => [model.inputs, model.overridable].map((list) => list.map(({ name }) => name));
    assert.deepEqual(names(read(onnxModel({ ...spec, irVersion: 4 }))), [['x'], ['w']]);
    assert.deepEqual(names(read(onnxModel({ ...spec, irVersion: 3 }))), [['x'], []]);
  });

  test('finds weights in other files, in nested graphs and functions too', () => {
    const outer = block(5, externalTensor('a', [4], 'a.bin', { offset: 4096, length: 16 }));
    const inner = block(5, externalTensor('b', [4], 'sub/b.bin'));
    const branch = block(5, block(1, 'then_branch'), block(6, inner));
    const constant = block(5, block(1, 'value'), block(5, externalTensor('', [1], 'c.bin')));
    const model = Buffer.concat([
      onnxModel({ graph: [outer, node('If', ['c'], ['y'], branch)] }),
      block(25, block(7, block(4, 'Constant'), constant)),
    ]);
    assert.deepEqual(read(model).externalData, [
      { tensor: 'a', location: 'a.bin', offset: 4096, length: 16 },
      { tensor: 'b', location: 'sub/b.bin', offset: 0, length: undefined },
      { tensor: '', location: 'c.bin', offset: 0, length: undefined },
    ]);
  });

  test('steps over weights beyond 2 GB without reading them', () => {
    const length = 3 * 2 ** 30;
    const raw = Buffer.concat([block(8, 'w'), varint((9 << 3) | 2), varint(length)]);
    const tensor = Buffer.concat([varint((5 << 3) | 2), varint(raw.length + length), raw]);
    const tail = block(11, value({ name: 'x', dims: [2] }));
    const head = Buffer.concat([
      integer(1, 8),
      varint((7 << 3) | 2),
      varint(tensor.length + length + tail.length),
      tensor,
    ]);
    const big = join(folder, 'big.onnx');
    const fd = openSync(big, 'w');
    writeSync(fd, head);
    ftruncateSync(fd, head.length + length); // a hole, which takes no room on the disk
    writeSync(fd, tail, 0, tail.length, head.length + length);
    closeSync(fd);
    const model = readOnnxFile(big);
    assert.deepEqual([...model.initializerNames], ['w']);
    assert.deepEqual(
      model.inputs.map(({ name }) => name),
      ['x'],
    );
  });

  test('reads names longer than its window and ignores unknown fields of every wire type', () => {
    const name = 'n'.repeat(200_000);
    const group = Buffer.concat([varint((30 << 3) | 3), integer(1, 5), block(2, 'x'), varint((30 << 3) | 4)]);
    const fixed = Buffer.concat([varint((31 << 3) | 1), Buffer.alloc(8), varint((32 << 3) | 5), Buffer.alloc(4)]);
    const model = read(Buffer.concat([group, fixed, onnxModel({ inputs: [{ name, dims: [1] }] })]));
    assert.equal(model.inputs[0]?.name, name);
  });

  test('refuses what is not a model with the message of the runtime', () => {
    const parsing = `onnx runtime error 7: Load model from ${path} failed:Protobuf parsing failed.`;
    const noGraph = `onnx runtime error 1: Load model from ${path} failed:ModelProto does not have a graph.`;
    for (const [bytes, message] of [
      [Buffer.from('this is not a model'), parsing],
      [Buffer.from([0x80]), parsing],
      [Buffer.from([0x3a, 0x05, 0x01]), parsing],
      [Buffer.from([0x08, ...Array(11).fill(0xff)]), parsing],
      [Buffer.from([0x00, 0x00]), parsing],
      [new Uint8Array(0), noGraph],
      [integer(1, 8), noGraph],
    ] as const) {
      assert.throws(() => read(bytes), new TritonError('INTERNAL', message));
    }
    const missing = join(folder, 'none', 'model.onnx');
    assert.throws(() => readOnnxFile(missing), new TritonError('INTERNAL', `failed to stat file ${missing}`));
  });

  test('answers every cut and every garbled file with a model or a TritonError', () => {
    const whole = onnxModel({
      inputs: [{ name: 'x', dims: ['n', 16] }],
      outputs: [{ name: 'y', dims: ['n', 16] }],
      graph: [node('Identity', ['x'], ['y']), initializer('w', [4], new Uint8Array(16))],
    });
    const survives = (bytes: Uint8Array) => {
      try {
        read(bytes);
      } catch (reason) {
        assert.ok(reason instanceof TritonError, String(reason));
      }
    };
    for (let length = 0; length < whole.length; length++) survives(whole.subarray(0, length));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.uint8Array({ maxLength: 64 }), (at, byte, noise) => {
        const garbled = Uint8Array.from(whole);
        garbled[at] = byte;
        survives(garbled);
        survives(noise);
      }),
      { numRuns: 200 },
    );
  });
});

describe('locateOnnxFile', () => {
  test('takes a file, the file inside a directory, and says what is missing', () => {
    read(onnxModel({}));
    assert.equal(locateOnnxFile(path, 'm'), path);
    assert.equal(locateOnnxFile(folder, 'm'), `${folder}/model.onnx`);
    const empty = mkdtempSync(join(folder, 'empty-'));
    const unable = `unable to find '${empty}/model.onnx' for model instance 'm'`;
    assert.throws(() => locateOnnxFile(empty, 'm'), new TritonError('UNAVAILABLE', unable));
    const missing = `${empty}/x`;
    assert.throws(() => locateOnnxFile(missing, 'm'), new TritonError('INTERNAL', `failed to stat file ${missing}`));
  });
});
