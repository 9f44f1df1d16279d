import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviationText, latencyFigures, reportedPercentiles, stabilizingNs } from './latency.js';

test('percentiles take the nearest rank, the average is cut to whole nanoseconds', () => {
  const sorted = Float64Array.from([1000, 2000, 3000, 4000, 10001]);
  const figures = latencyFigures(sorted, 85);
  assert.equal(figures.averageNs, 4000);
  assert.deepEqual(
    [...figures.percentilesNs],
    [
      [50, 3000],
      [85, 4000],
      [90, 10001],
      [95, 10001],
      [99, 10001],
    ],
  );
  // sqrt((3000^2 + 2000^2 + 1000^2 + 0 + 6001^2) / 4) = 3535.8 ns
  assert.equal(figures.deviationUs, 3);
  assert.equal(stabilizingNs(figures, 85), 4000);
  assert.equal(stabilizingNs(figures, -1), 4000);
});

test('a single request has no deviation', () => {
  const { deviationUs } = latencyFigures(Float64Array.from([5]), -1);
  assert.equal(deviationUs, undefined);
  assert.equal(deviationText(deviationUs), '18446744073709551615');
});

test('the chosen percentile is reported among the usual ones, once', () => {
  assert.deepEqual(reportedPercentiles(-1), [50, 90, 95, 99]);
  assert.deepEqual(reportedPercentiles(10), [10, 50, 90, 95, 99]);
  assert.deepEqual(reportedPercentiles(95), [50, 90, 95, 99]);
});
