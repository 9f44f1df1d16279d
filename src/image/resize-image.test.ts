import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Image } from './image.js';
import { resizeImage } from './resize-image.js';

const image = fc
  .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), fc.constantFrom(1 as const, 3 as const))
  .chain(([width, height, channels]) =>
    fc
      .uint8Array({ minLength: width * height * channels, maxLength: width * height * channels })
      .map((data): Image => ({ width, height, channels, data })),
  );
const size = fc.integer({ min: 1, max: 20 });

test('a image of the wanted size stays the same object', () => {
  const one: Image = { width: 2, height: 1, channels: 1, data: Uint8Array.of(1, 2) };
  assert.equal(resizeImage(one, 2, 1), one);
});

test('a single colour stays that colour', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 255 }), size, size, size, (level, n, width, height) => {
      const flat: Image = { width: n, height: n, channels: 1, data: new Uint8Array(n * n).fill(level) };
      assert.ok(resizeImage(flat, width, height).data.every((v) => v === level));
    }),
    { numRuns: 50 },
  );
});

test('results lie between the lowest and the highest sample, in the wanted size', () => {
  fc.assert(
    fc.property(image, size, size, (source, width, height) => {
      const result = resizeImage(source, width, height);
      assert.equal(result.data.length, width * height * source.channels);
      const low = Math.min(...source.data);
      const high = Math.max(...source.data);
      assert.ok(result.data.every((v) => v >= low && v <= high));
    }),
    { numRuns: 100 },
  );
});

test('half the size is the average of two by two samples, rounded', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (data) => {
      const { data: half } = resizeImage({ width: 4, height: 4, channels: 1, data }, 2, 2);
      for (const [i, at] of [0, 2, 8, 10].entries()) {
        const sum = data[at]! + data[at + 1]! + data[at + 4]! + data[at + 5]!;
        assert.equal(half[i], (sum + 2) >> 2);
      }
    }),
    { numRuns: 50 },
  );
});

test('channels do not mix', () => {
  fc.assert(
    fc.property(image, size, size, (source, width, height) => {
      if (source.channels !== 3) return;
      const all = resizeImage(source, width, height).data;
      for (let c = 0; c < 3; c++) {
        const plane = source.data.filter((_, i) => i % 3 === c);
        const alone = resizeImage({ ...source, channels: 1, data: plane }, width, height).data;
        assert.deepEqual(
          all.filter((_, i) => i % 3 === c),
          alone,
        );
      }
    }),
    { numRuns: 50 },
  );
});

test('enlarging a step follows the weights of the rule', () => {
  const { data } = resizeImage({ width: 2, height: 1, channels: 1, data: Uint8Array.of(0, 200) }, 4, 1);
  assert.deepEqual([...data], [0, 50, 150, 200]);
});
