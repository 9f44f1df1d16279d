import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PerfError } from './perf-error.js';
import { searchLevels } from './search-levels.js';

async function levelsOf(
  search: 'linear' | 'binary',
  range: [number, number, number],
  metUpTo: number,
): Promise<number[]> {
  const [start, end, step] = range;
  const seen: number[] = [];
  await searchLevels(search, { start, end, step }, true, async (level) => {
    seen.push(level);
    return { met: level <= metUpTo, stable: true };
  });
  return seen;
}

test('a sweep goes from start to end, or until a level does not hold', async () => {
  assert.deepEqual(await levelsOf('linear', [1, 7, 3], 99), [1, 4, 7]);
  assert.deepEqual(await levelsOf('linear', [4, 1, 1], 99), [4]);
  assert.deepEqual(await levelsOf('linear', [1, 0, 2], 4), [1, 3, 5]);
});

test('halving ends at the step', async () => {
  assert.deepEqual(await levelsOf('binary', [1, 8, 1], 5), [1, 8, 4, 6, 5]);
  assert.deepEqual(await levelsOf('binary', [1, 8, 1], 9), [1, 8]);
  assert.deepEqual(await levelsOf('binary', [1, 8, 1], 0), [1]);
});

test('a sweep whose only level is unstable fails with status 2', async () => {
  const profile = async () => ({ met: false, stable: false });
  await assert.rejects(
    searchLevels('linear', { start: 1, end: 4, step: 1 }, true, profile),
    (reason) => reason instanceof PerfError && reason.exit === 2,
  );
  await searchLevels('binary', { start: 1, end: 4, step: 1 }, true, profile);
});
