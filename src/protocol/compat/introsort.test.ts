import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { introsort } from './introsort.js';

function sorted(values: readonly number[]): number[] {
  const order = Uint32Array.from(values, (_, i) => i);
  introsort(order, (a, b) => values[a]! > values[b]!);
  return [...order];
}

test('sorts', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 300 }), (values) => {
      const order = sorted(values);
      assert.deepEqual(
        order.map((i) => values[i]),
        values.toSorted((a, b) => b - a),
      );
      assert.deepEqual(
        order.toSorted((a, b) => a - b),
        values.map((_, i) => i),
      );
    }),
    { numRuns: 100 },
  );
});

// Results of std::sort of GNU's C++ library.
test('leaves equal elements as std::sort leaves them', () => {
  const one = new Array<number>(1001).fill(0);
  one[304] = 1;
  assert.deepEqual(sorted(one).slice(0, 5), [304, 666, 673, 672, 671]);
  assert.deepEqual(sorted([1, 2, 1, 2, 1]), [1, 3, 0, 2, 4]);
});

test('sorts what defeats the median of three', () => {
  const half = 1000;
  const values: number[] = [];
  for (let i = 1; i <= half; i++) {
    if (i % 2 === 1) {
      values[i - 1] = -i;
      values[i] = -(half + i);
    }
    values[half + i - 1] = -2 * i;
  }
  assert.deepEqual(
    sorted(values).map((i) => values[i]),
    values.toSorted((a, b) => b - a),
  );
});
