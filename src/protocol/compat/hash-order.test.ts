import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashOrder } from './hash-order.js';

// Expected: what a C++ program on libstdc++ printed for the same insertions.
const CASES: [string[], string][] = [
  [[], ''],
  [['A'], 'A'],
  [['INPUT0', 'INPUT1'], 'INPUT1|INPUT0'],
  [['A', 'B', 'C'], 'B|C|A'],
  [
    [...Array.from({ length: 15 }, (_, i) => `a${i}`), 'longer name of 20 chars'],
    'a14|a13|a7|a1|a10|a12|a2|longer name of 20 chars|a3|a0|a8|a6|a4|a11|a5|a9',
  ],
];

for (const [names, expected] of CASES) {
  test(`${names.length} names stand in the order of an unordered_map`, () => {
    assert.equal(hashOrder(names).join('|'), expected);
  });
}
