import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isModified, unchangedVersions } from './modification-times.js';

const times = (entries: Readonly<Record<string, number>>) =>
  new Map(Object.entries(entries).map(([name, time]) => [name, BigInt(time)]));

test('modified means that anything differs, newer or older', () => {
  const before = times({ '': 5, 'config.pbtxt': 3, 1: 9 });
  assert.equal(isModified(before, times({ '': 5, 'config.pbtxt': 3, 1: 9 })), false);
  assert.equal(isModified(before, times({ '': 5, 'config.pbtxt': 2, 1: 9 })), true);
  assert.equal(isModified(before, times({ '': 10, 1: 9 })), true);
  assert.equal(isModified(before, times({ '': 5, 'config.pbtxt': 3, 2: 9 })), true);
  assert.equal(isModified(new Map(), before), true);
});

test('versions stay as they are when only the configuration and other versions changed', () => {
  const before = times({ '': 1, 'config.pbtxt': 1, configs: 1, 'labels.txt': 1, 1: 1, 2: 1 });
  const change = (entries: Readonly<Record<string, number>>) => new Map([...before, ...times(entries)]);
  const kept = (after: ReadonlyMap<string, bigint>) => ['1', '2', '3'].filter(unchangedVersions(before, after));
  assert.deepEqual(kept(change({ '': 7, 'config.pbtxt': 7, configs: 8 })), ['1', '2']);
  assert.deepEqual(kept(change({ 2: 7, 3: 7 })), ['1']);
  assert.deepEqual(kept(change({ 'labels.txt': 7 })), []);
  assert.deepEqual(kept(change({ note: 7 })), []);
  const without = new Map(before);
  without.delete('labels.txt');
  assert.deepEqual(kept(without), []);
});
