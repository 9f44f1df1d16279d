import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { block, initializer, integer, node, onnxModel } from '../../test/support/repositories/onnx-builder.js';
import { OpenSession } from '../backends/onnxruntime/session/open-session.js';
import type { Tensor } from '../protocol/tensor.js';
import { takeStoredValues } from './stored-values.js';

const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
const tensor = (name: string, ...values: number[]): Tensor => ({
  name,
  datatype: 'FP32',
  shape: [values.length],
  data: floats(...values),
});
const valuesOf = ({ data }: Tensor): number[] => [...new Float32Array(new Uint8Array(data).buffer)];

test('a stored value is fed when a request leaves it out, and replaced when it does not', () => {
  const model = onnxModel({
    irVersion: 8,
    inputs: [
      { name: 'IN', dims: [2] },
      { name: 'BIAS', dims: [2] },
    ],
    outputs: [{ name: 'OUT', dims: [2] }],
    graph: [node('Add', ['IN', 'BIAS'], ['OUT']), initializer('BIAS', [2], floats(10, 20))],
  });
  const folder = mkdtempSync(path.join(tmpdir(), 'stored-'));
  const file = path.join(folder, 'model.onnx');
  writeFileSync(file, model);
  const session = new OpenSession({ path: file, options: {}, runOptions: {}, replaceable: ['BIAS'] });
  try {
    assert.deepEqual(valuesOf(session.run([tensor('IN', 1, 2)], ['OUT']).outputs[0]!), [11, 22]);
    const both = [tensor('IN', 1, 2), tensor('BIAS', 5, 6)];
    assert.deepEqual(valuesOf(session.run(both, ['OUT']).outputs[0]!), [6, 8]);
    assert.deepEqual(valuesOf(session.run([tensor('IN', 1, 2)], ['OUT']).outputs[0]!), [11, 22]);
  } finally {
    session.dispose();
    rmSync(folder, { recursive: true });
  }
});

test('stored values are read in every form in which files have them', () => {
  const packed = (field: number, ...values: number[]): Uint8Array =>
    block(field, ...values.map((value) => Uint8Array.of(value)));
  const tensorOf = (name: string, type: number, ...data: Uint8Array[]): Uint8Array =>
    block(5, integer(1, 2), integer(2, type), block(8, name), ...data);
  const model = onnxModel({
    graph: [
      tensorOf('raw', 1, block(9, floats(1.5, -2))),
      tensorOf('float', 1, block(4, floats(1.5, -2))),
      tensorOf('int64', 7, packed(7, 3, 4)),
      tensorOf('single', 7, integer(7, -1), integer(7, 5)),
      tensorOf('bool', 9, packed(5, 1, 0)),
      tensorOf('int16', 5, integer(5, -2), integer(5, 7)),
      tensorOf('text', 8, block(6, 'a'), block(6, '')),
      tensorOf('kept', 1, block(9, floats(0, 0))),
    ],
  });
  const names = ['raw', 'float', 'int64', 'single', 'bool', 'int16', 'text'];
  const { model: rest, values } = takeStoredValues(Buffer.from(model), new Set(names));
  assert.deepEqual(
    values.map(({ name, datatype, shape }) => [name, datatype, shape]),
    names.map((name, i) => [name, ['FP32', 'FP32', 'INT64', 'INT64', 'BOOL', 'INT16', 'BYTES'][i], [2]]),
  );
  assert.deepEqual(values.slice(0, 2).map(valuesOf), [
    [1.5, -2],
    [1.5, -2],
  ]);
  const longs = values.slice(2, 4).map(({ data }) => [...new BigInt64Array(new Uint8Array(data).buffer)]);
  assert.deepEqual(longs, [
    [3n, 4n],
    [-1n, 5n],
  ]);
  assert.deepEqual([...values[4]!.data], [1, 0]);
  assert.deepEqual([...new Int16Array(new Uint8Array(values[5]!.data).buffer)], [-2, 7]);
  assert.deepEqual([...values[6]!.data], [1, 0, 0, 0, 97, 0, 0, 0, 0]);
  const left = takeStoredValues(Buffer.from(rest), new Set([...names, 'kept'])).values;
  assert.deepEqual(
    left.map(({ name }) => name),
    ['kept'],
  );
});
