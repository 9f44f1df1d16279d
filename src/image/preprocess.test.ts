import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typedView } from '../protocol/typed-view.js';
import type { Image } from './image.js';
import { IMAGE_DATATYPES, type ImageDatatype, preprocess, type Scaling, toGrey } from './preprocess.js';

/** One pixel of red, green and blue, as the values of a model's input. */
function pixel(rgb: readonly number[], datatype: ImageDatatype, scaling: Scaling): number[] {
  const image: Image = { width: 1, height: 1, channels: 3, data: Uint8Array.from(rgb) };
  const shape = { width: 1, height: 1, channels: 3, layout: 'NHWC', datatype } as const;
  return Array.from(typedView(datatype, preprocess(image, shape, scaling)));
}

test('without scaling samples keep their value; INT8 saturates', () => {
  for (const datatype of IMAGE_DATATYPES) {
    assert.deepEqual(pixel([0, 127, 255], datatype, 'NONE'), datatype === 'INT8' ? [0, 127, 127] : [0, 127, 255]);
  }
});

test('VGG subtracts the mean of each channel; integers saturate', () => {
  assert.deepEqual(pixel([100, 200, 255], 'FP32', 'VGG'), [-23, 83, 151]);
  assert.deepEqual(pixel([100, 200, 255], 'INT32', 'VGG'), [-23, 83, 151]);
  assert.deepEqual(pixel([100, 200, 255], 'UINT8', 'VGG'), [0, 83, 151]);
  assert.deepEqual(pixel([100, 200, 255], 'UINT16', 'VGG'), [0, 83, 151]);
  assert.deepEqual(pixel([200, 100, 0], 'INT8', 'VGG'), [4, -17, -104]);
});

test('INCEPTION maps to [-1, 1]; 255 is exactly 1', () => {
  assert.deepEqual(pixel([0, 255, 73], 'FP32', 'INCEPTION'), [-1, 1, Math.fround(Math.fround(73 / 127.5) - 1)]);
  assert.deepEqual(pixel([0, 255, 255], 'FP64', 'INCEPTION'), [-1, 255 * (1 / 127.5) - 1, 255 * (1 / 127.5) - 1]);
  assert.deepEqual(pixel([63, 64, 191], 'INT32', 'INCEPTION'), [-1, 0, 0]);
  assert.deepEqual(pixel([192, 255, 0], 'INT32', 'INCEPTION'), [1, 1, -1]);
  assert.deepEqual(pixel([63, 191, 192], 'UINT8', 'INCEPTION'), [0, 0, 1]);
  assert.deepEqual(pixel([63, 64, 255], 'INT8', 'INCEPTION'), [-1, 0, 0]);
});

test('both layouts hold the same samples', () => {
  const image: Image = { width: 2, height: 1, channels: 3, data: Uint8Array.of(1, 2, 3, 4, 5, 6) };
  const shape = { width: 2, height: 1, channels: 3, datatype: 'UINT8' } as const;
  assert.deepEqual([...preprocess(image, { ...shape, layout: 'NHWC' }, 'NONE')], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...preprocess(image, { ...shape, layout: 'NCHW' }, 'NONE')], [1, 4, 2, 5, 3, 6]);
});

test('a model with one channel gets grey, and the mean of grey', () => {
  const image: Image = { width: 1, height: 1, channels: 3, data: Uint8Array.of(255, 0, 0) };
  assert.deepEqual([...toGrey(image).data], [76]);
  const shape = { width: 1, height: 1, channels: 1, layout: 'NHWC', datatype: 'INT16' } as const;
  assert.deepEqual([...typedView('INT16', preprocess(image, shape, 'VGG'))], [76 - 128]);
});
