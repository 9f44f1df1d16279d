import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PerfOptions } from '../options/perf-options.js';
import { parseArgs } from '../prepare/parse-args.js';
import { sweepEndLine } from './sweep-end.js';

function optionsOf(...args: string[]): PerfOptions {
  const parsed = parseArgs(['-m', 'm', ...args], () => {});
  if (parsed.kind !== 'measure') throw new Error(parsed.kind);
  return parsed.options;
}

const unstable = { met: false, stable: false, overLimit: false };
const spread = { throughput: 0.142, latency: 0.3 };

test('a sweep that stops early says where, why, by how much, and what to change', () => {
  const options = optionsOf('--concurrency-range', '1:20');
  assert.equal(
    sweepEndLine({ measured: 9, planned: 20, level: 9, last: unstable }, spread, options),
    'stopped at level 9 of 20: concurrency 9 is not stable: in the last windows throughput varied by 14.2 % and latency ' +
      'by 30 %, the bound is 10 % (-s). Raise --measurement-interval or -s, or measure all levels with --keep-going.',
  );
  const counted = optionsOf('--request-rate-range', '10:30:10', '--measurement-mode', 'count_windows', '-s', '5');
  const failed = { throughput: Number.POSITIVE_INFINITY, latency: Number.NaN };
  assert.equal(
    sweepEndLine({ measured: 2, planned: 3, level: 20, last: unstable }, failed, counted),
    'stopped at level 2 of 3: request rate 20 is not stable: a measurement window held no request, the bound is 5 % (-s). ' +
      'Raise --measurement-request-count or -s, or measure all levels with --keep-going.',
  );
  const limited = optionsOf('--concurrency-range', '1:3', '-l', '10');
  const over = { met: false, stable: true, overLimit: true };
  assert.equal(
    sweepEndLine({ measured: 1, planned: 3, level: 1, last: over }, spread, limited),
    'stopped at level 1 of 3: concurrency 1 is over the latency threshold of 10 msec. Raise -l, or measure all levels with --keep-going.',
  );
});

test('a sweep that reached its end, or had none, has nothing to say', () => {
  const options = optionsOf('--concurrency-range', '1:2');
  const good = { met: true, stable: true, overLimit: false };
  assert.equal(sweepEndLine({ measured: 2, planned: 2, level: 2, last: good }, spread, options), undefined);
  assert.equal(sweepEndLine({ measured: 1, planned: 1, level: 1, last: unstable }, spread, options), undefined);
  assert.equal(sweepEndLine({ measured: 3, planned: undefined, level: 3, last: unstable }, spread, options), undefined);
});

test('options that contradict --keep-going are refused', () => {
  const wrong =
    (...args: string[]) =>
    () =>
      optionsOf('--keep-going', ...args);
  assert.throws(wrong('--binary-search', '--concurrency-range', '1:8', '-l', '9'), /no meaning with --binary-search/);
  assert.throws(wrong('--concurrency-range', '1:0', '-l', '9'), /--keep-going needs a range with an end/);
});
