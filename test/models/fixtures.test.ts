/** The shipped models answer rightly on the bare runtime, and the shipped images are what their names say. */
import '../../src/backends/onnxruntime/session/ort-telemetry.js';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ort from 'onnxruntime-node';
import { SHIPPED_MODELS } from '../../src/base/package.js';
import { decodeImage } from '../../src/image/decode-image.js';
import { preprocess } from '../../src/image/preprocess.js';

const IMAGES = fileURLToPath(new URL('../../../fixtures/images', import.meta.url));

const PICTURES: Readonly<Record<string, string>> = {
  'airliner.jpg': 'AIRLINER',
  'banana.jpg': 'BANANA',
  'bicycle.png': 'BICYCLE',
  'car.jpg': 'PASSENGER CAR',
  'clock.png': 'ANALOG CLOCK',
  'coffeepot.jpg': 'COFFEEPOT',
  'cup.jpg': 'CUP',
  'goldfish.jpg': 'GOLDFISH',
  'house.jpg': 'HOUSE',
  'mug.jpg': 'COFFEE MUG',
  'sailboat.jpg': 'SAILBOAT',
  'teapot.png': 'TEAPOT',
  'truck.jpg': 'TRUCK',
  'wine-glass.jpg': 'WINE GLASS',
};

const sessions = new Map<string, ort.InferenceSession>();
after(() => Promise.all([...sessions.values()].map((session) => session.release())));

async function run(model: string, feeds: Record<string, ort.Tensor>): Promise<Record<string, unknown[]>> {
  let session = sessions.get(model);
  if (session === undefined) {
    session = await ort.InferenceSession.create(join(SHIPPED_MODELS, model, '1', 'model.onnx'), {
      intraOpNumThreads: 1,
    });
    sessions.set(model, session);
  }
  const results = await session.run(feeds);
  return Object.fromEntries(
    Object.entries(results).map(([name, { data }]) => [name, Array.from(data as ArrayLike<unknown>)]),
  );
}

const numbers = (f: (i: number) => number): number[] => Array.from({ length: 16 }, (_, i) => f(i));

describe('shipped models', () => {
  test('simple, simple_int8 and simple_string add and subtract', async () => {
    const a = numbers((i) => i - 4);
    const b = numbers((i) => 3 * i);
    const sum = numbers((i) => 4 * i - 4);
    const difference = numbers((i) => -2 * i - 4);
    const feed = (make: (values: number[]) => ort.Tensor) => ({ INPUT0: make(a), INPUT1: make(b) });
    const int32 = (values: number[]) => new ort.Tensor('int32', Int32Array.from(values), [1, 16]);
    const int8 = (values: number[]) => new ort.Tensor('int8', Int8Array.from(values), [1, 16]);
    const text = (values: number[]) => new ort.Tensor('string', values.map(String), [1, 16]);
    assert.deepEqual(await run('simple', feed(int32)), { OUTPUT0: sum, OUTPUT1: difference });
    assert.deepEqual(await run('simple_int8', feed(int8)), { OUTPUT0: sum, OUTPUT1: difference });
    const asText = { OUTPUT0: sum.map(String), OUTPUT1: difference.map(String) };
    assert.deepEqual(await run('simple_string', feed(text)), asText);
  });

  test('the sequence models show the control tensors in their output', async () => {
    const column = (...values: number[]) => new ort.Tensor('int32', Int32Array.from(values), [values.length, 1]);
    const INPUT = column(10, 20, 30);
    const START = column(1, 0, 0);
    const READY = column(1, 1, 0);
    assert.deepEqual(await run('simple_sequence', { INPUT, START, READY }), { OUTPUT: [11, 20, 0] });
    const END = column(0, 1, 1);
    const CORRID = new ort.Tensor('uint64', BigUint64Array.from([7n, 1002n, 3n]), [3, 1]);
    assert.deepEqual(await run('simple_dyna_sequence', { INPUT, START, END, READY, CORRID }), {
      OUTPUT: [11, 1022, 0],
    });
  });
});

describe('shipped images', () => {
  const labels = readFileSync(join(SHIPPED_MODELS, 'densenet_onnx', 'densenet_labels.txt'), 'utf8').split('\n');

  test('are all listed here', () => {
    assert.deepEqual(readdirSync(IMAGES).sort(), Object.keys(PICTURES));
  });

  for (const [file, label] of Object.entries(PICTURES)) {
    test(`${file} is a ${label}`, async () => {
      const image = await decodeImage(readFileSync(join(IMAGES, file)));
      assert.ok(image !== undefined);
      const shape = { width: 224, height: 224, channels: 3, layout: 'NCHW', datatype: 'FP32' } as const;
      const bytes = preprocess(image, shape, 'INCEPTION');
      const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
      const { fc6_1 } = await run('densenet_onnx', { data_0: new ort.Tensor('float32', data, [1, 3, 224, 224]) });
      const scores = fc6_1 as number[];
      assert.equal(labels[scores.indexOf(Math.max(...scores))], label);
    });
  }
});
