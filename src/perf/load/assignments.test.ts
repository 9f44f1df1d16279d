import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { draftOf } from '../options/perf-options.js';
import { concurrencyPlan, dealIntervals, poissonIntervals, ratePlan, shares } from './assignments.js';
import { sequenceLength } from './sequence-slot.js';

test('shares add up to the whole and differ by one at most', () => {
  fc.assert(
    fc.property(fc.nat(500), fc.integer({ min: 1, max: 50 }), (total, parts) => {
      const list = shares(total, parts);
      assert.equal(
        list.reduce((sum, share) => sum + share, 0),
        total,
      );
      assert.ok(Math.max(...list) - Math.min(...list) <= 1);
    }),
  );
});

test('synchronous load has a worker for each request, asynchronous load at most as many as threads', () => {
  const options = { ...draftOf(), load: { ...draftOf().load, maxThreads: 3 } };
  assert.equal(concurrencyPlan(5, options).length, 5);
  const plan = concurrencyPlan(5, { ...options, load: { ...options.load, async: true } }, 11);
  assert.deepEqual(
    plan.map((worker) => worker.slots),
    [2, 2, 1],
  );
  assert.deepEqual(
    plan.map((worker) => worker.limit),
    [4, 4, 3],
  );
});

test('all workers together send at the given times, over and over', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 8 }),
      (intervals, workers) => {
        const plan = dealIntervals(intervals, workers, shares(workers, workers));
        const dealt = plan.flatMap(({ schedule }) =>
          [0, 1].flatMap((round) =>
            Array.from(schedule?.offsetsNs ?? [], (offset) => offset + round * (schedule?.roundNs ?? 0)),
          ),
        );
        let time = 0;
        const expected = dealt.map((_, i) => {
          time += intervals[i % intervals.length] as number;
          return time;
        });
        assert.deepEqual(
          dealt.sort((a, b) => a - b),
          expected,
        );
      },
    ),
  );
});

test('a rate is dealt to the workers in turn', () => {
  const plan = ratePlan(100, { ...draftOf(), load: { ...draftOf().load, maxThreads: 4 } }, false);
  assert.deepEqual(
    plan.map(({ schedule }) => schedule?.offsetsNs[0]),
    [1e7, 2e7, 3e7, 4e7],
  );
  assert.equal(plan[0]?.schedule?.roundNs, 4e7);
});

test('poisson gaps have the mean of the rate and repeat from run to run', () => {
  const gaps = poissonIntervals(1000, 20);
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  assert.ok(Math.abs(mean - 1e6) < 3e4, String(mean));
  assert.deepEqual(gaps.slice(0, 5), poissonIntervals(1000, 20).slice(0, 5));
});

test('sequence lengths stay within the variation and are never 0', () => {
  assert.equal(sequenceLength(20, 20, 0), 16);
  assert.equal(sequenceLength(20, 20, 0.999), 23);
  assert.equal(sequenceLength(1, 100, 0), 1);
});
