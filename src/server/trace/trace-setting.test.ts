import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { silentLog } from '../../base/log.js';
import { TraceFile } from './trace-file.js';
import { TraceSetting } from './trace-setting.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trace-setting-'));
after(() => rmSync(folder, { recursive: true }));

const NOTHING = { level: false, rate: false, count: false, logFrequency: false };
const values = (rate: number, count: number, logFrequency = 0) => ({
  level: ['TIMESTAMPS'] as const,
  rate,
  count,
  logFrequency,
});

test('every rate-th request, count times; requests with a context always', () => {
  const setting = new TraceSetting(values(3, 2), NOTHING, undefined);
  const sampled = Array.from({ length: 12 }, () => setting.sample(false));
  assert.deepEqual(
    sampled.flatMap((hit, i) => (hit ? [i] : [])),
    [2, 5],
  );
  assert.equal(setting.count, 0);
  assert.equal(setting.sample(true), true);
  const forced = new TraceSetting(values(0, -1), NOTHING, undefined);
  assert.deepEqual([forced.sample(false), forced.sample(true)], [false, true]);
  const off = new TraceSetting({ ...values(1, -1), level: [] }, NOTHING, undefined);
  assert.deepEqual([off.sample(false), off.sample(true)], [false, false]);
});

test('a retired setting writes when its last trace is complete; nothing is written behind the end of the file', () => {
  const file = new TraceFile(path.join(folder, 'a'), silentLog);
  const setting = new TraceSetting(values(1, -1), NOTHING, file);
  setting.sample(false);
  setting.sample(false);
  setting.collect('1');
  setting.retire();
  assert.equal(existsSync(file.path), false);
  setting.collect('2');
  const late = new TraceSetting(values(1, -1), NOTHING, file);
  late.sample(false);
  late.retire(true);
  file.close();
  late.collect('3');
  assert.equal(readFileSync(file.path, 'utf8'), '[1,2]');
});
