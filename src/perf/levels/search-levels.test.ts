import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SearchRange } from '../options/load-options.js';
import { searchLevels } from './search-levels.js';

async function levelsOf(
  search: 'linear' | 'binary',
  range: [number, number, number],
  metUpTo: number,
  keepGoing = false,
): Promise<number[]> {
  const [start, end, step] = range;
  const seen: number[] = [];
  await searchLevels({ search, keepGoing }, { start, end, step }, true, async (level) => {
    seen.push(level);
    return { met: level <= metUpTo, stable: true, overLimit: level > metUpTo };
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

test('a sweep that keeps going is measured to its end', async () => {
  assert.deepEqual(await levelsOf('linear', [1, 4, 1], 1, true), [1, 2, 3, 4]);
});

test('the end of a sweep says how many levels of how many were measured, and what became of the last', async () => {
  const unstable = { met: false, stable: false, overLimit: false };
  const good = { met: true, stable: true, overLimit: false };
  const sweep = (range: SearchRange, last: number) =>
    searchLevels({ search: 'linear', keepGoing: false }, range, false, async (level) =>
      level < last ? good : unstable,
    );
  assert.deepEqual(await sweep({ start: 1, end: 20, step: 1 }, 9), {
    measured: 9,
    planned: 20,
    level: 9,
    last: unstable,
  });
  assert.deepEqual(await sweep({ start: 1, end: 4, step: 1 }, 1), {
    measured: 1,
    planned: 4,
    level: 1,
    last: unstable,
  });
  assert.deepEqual(await sweep({ start: 1, end: 0, step: 2 }, 4), {
    measured: 3,
    planned: undefined,
    level: 5,
    last: unstable,
  });
  assert.equal((await sweep({ start: 0.1, end: 0.5, step: 0.1 }, 9))?.planned, 5);
  assert.equal((await sweep({ start: 4, end: 1, step: 1 }, 9))?.planned, 1);
  const binary = { search: 'binary', keepGoing: false } as const;
  assert.equal(await searchLevels(binary, { start: 1, end: 4, step: 1 }, true, async () => unstable), undefined);
});
