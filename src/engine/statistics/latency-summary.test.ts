import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LatencySummary } from './latency-summary.js';

test('quantiles are within 0.1 % of those of all values', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { minLength: 1, maxLength: 300 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, quantile) => {
        const summary = new LatencySummary([quantile]);
        for (const value of values) summary.observe(value);
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(quantile * values.length) - 1)]!;
        const { count, sum, quantiles } = summary.values();
        assert.equal(count, values.length);
        assert.equal(
          sum,
          values.reduce((a, b) => a + b, 0),
        );
        const found = quantiles[0]![1];
        assert.ok(found <= exact && exact - found <= exact / 1000, `${found} for ${exact}`);
      },
    ),
  );
});

test('what is older than a minute no longer counts, but for count and sum', () => {
  let now = 0;
  const summary = new LatencySummary([0.5], () => now);
  assert.deepEqual(summary.values(), { count: 0, sum: 0, quantiles: [[0.5, Number.NaN]] });
  summary.observe(10);
  now = 30_000;
  summary.observe(20);
  summary.observe(30);
  assert.deepEqual(summary.values().quantiles, [[0.5, 20]]);
  now = 70_000;
  assert.deepEqual(summary.values(), { count: 3, sum: 60, quantiles: [[0.5, 20]] });
  now = 95_000;
  assert.deepEqual(summary.values(), { count: 3, sum: 60, quantiles: [[0.5, Number.NaN]] });
  now = 1_000_000;
  summary.observe(7);
  assert.deepEqual(summary.values(), { count: 4, sum: 67, quantiles: [[0.5, 7]] });
});
